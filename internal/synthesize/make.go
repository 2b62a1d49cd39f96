package synthesize

import (
	"context"
	"slices"

	"github.com/seatrial/seatrial/internal/database"
	"github.com/seatrial/seatrial/internal/universe"
	"github.com/seatrial/seatrial/internal/witness"
)

// Numbers of rows that a table has before queries ask for more.
const (
	fewestRows = 24
	usualRows  = 36
)

// found fills the tables with rows that nobody asked for.
func (m *maker) found(context.Context) error {
	for _, i := range m.sketch.Tables() {
		t := &m.sch.Tables[i]
		if t.View {
			continue
		}
		n := usualRows
		for j := range t.Columns {
			if p := t.Columns[j].Profile; p != nil && p.Rows > 0 && p.Rows < n {
				n = max(p.Rows, 2)
			}
		}
		for len(m.sketch.Rows(i)) < n {
			before := len(m.sketch.Rows(i))
			m.sketch.Begin()
			ok := m.sketch.Add(i, nil)
			if err := m.sketch.Keep(); err != nil {
				return err
			}
			if !ok || len(m.sketch.Rows(i)) == before {
				break
			}
		}
	}
	return nil
}

// literals adds a row for each literal that no row holds.
func (m *maker) literals(ctx context.Context) error {
	for i := range m.sch.Tables {
		if m.sch.Tables[i].View {
			continue
		}
		for j, c := range m.values.columns[i] {
			for _, v := range c.literals {
				if m.occurs(i, j, v, -1) {
					continue
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				m.sketch.Begin()
				m.sketch.Add(i, map[int]universe.Value{j: v})
				if err := m.sketch.Keep(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// occurs says whether a row other than the one at a place holds a value.
func (m *maker) occurs(table, column int, v universe.Value, except int) bool {
	for at, row := range m.sketch.Rows(table) {
		if at != except && row != nil && equal(row[column], v) {
			return true
		}
	}
	return false
}

// equal compares stored values: a whole real equals its integer.
func equal(a, b universe.Value) bool {
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return x == y
	}
	return okX == okY && a == b
}

// needed says whether the row at a place is the last one with a literal in one of some columns.
func (m *maker) needed(table, at int, columns []int) bool {
	row := m.sketch.Rows(table)[at]
	for _, j := range columns {
		holds := func(v universe.Value) bool { return equal(v, row[j]) }
		if slices.ContainsFunc(m.values.columns[table][j].literals, holds) && !m.occurs(table, j, row[j], at) {
			return true
		}
	}
	return false
}

// speak goes through the queries once and plants rows for those that have no good answer yet.
func (m *maker) speak(ctx context.Context) error {
	for n, it := range m.items {
		o, err := m.look(ctx, it)
		if err != nil {
			return err
		}
		it.outcome = o
		if o != empty && o != trivial {
			continue
		}
		for _, w := range m.witnesses(it, n) {
			m.sketch.Begin()
			m.sketch.Plant(&w)
			o, err := m.look(ctx, it)
			if err != nil {
				return err
			}
			if worth[o] <= worth[it.outcome] {
				if err := m.sketch.Undo(); err != nil {
					return err
				}
				continue
			}
			if err := m.sketch.Keep(); err != nil {
				return err
			}
			if it.outcome = o; o == good {
				break
			}
		}
	}
	return nil
}

// maxWitnesses bounds the witnesses that are tried for a query.
const maxWitnesses = 12

// witnesses lists rows that may make a query speak: each witness with plausible values, then as it is.
func (m *maker) witnesses(it *item, n int) []database.Witness {
	var list []database.Witness
	for _, w := range witness.Speak(it.q, n) {
		if len(list) >= maxWitnesses {
			break
		}
		list = append(list, m.plausible(w), w)
	}
	return list
}
