package recipe

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/report/table"
)

var units = []string{UnitPercent, UnitShare, UnitNumber, UnitCount}

// cell is a cell of a paper's table: where it is read.
type cell struct {
	name  string
	table string
	where map[string]any
	value string
	unit  string
}

func (t *Table) cell(row, column Part) cell {
	c := cell{table: t.Name, unit: t.Unit, where: map[string]any{}}
	var names []string
	for _, part := range []Part{row, column} {
		if part.Name != "" {
			names = append(names, part.Name)
		}
		if part.Table != "" {
			c.table = part.Table
		}
		if part.Value != "" {
			c.value = part.Value
		}
		if part.Unit != "" {
			c.unit = part.Unit
		}
		for key, v := range part.Where {
			c.where[key] = v
		}
	}
	c.name = strings.Join(names, ", ")
	return c
}

// Needs lists the tables of `seatrial report` that the cells are read from.
func (t *Table) Needs() []string {
	list := []string{t.Name}
	for _, part := range slices.Concat(t.Rows, t.Columns) {
		if part.Table != "" && !slices.Contains(list, part.Table) {
			list = append(list, part.Table)
		}
	}
	return list
}

// matches reports whether a cell is read from a record. Policies have no protocol, so they meet any condition on it.
func (c *cell) matches(record map[string]any) bool {
	for key, want := range c.where {
		got, ok := record[key]
		if key == keyProtocol && got == "" {
			continue
		}
		list, isList := want.([]any)
		if !isList {
			list = []any{want}
		}
		if !ok || !slices.ContainsFunc(list, func(v any) bool { return fmt.Sprint(v) == fmt.Sprint(got) }) {
			return false
		}
	}
	return true
}

// Keys of the records of tables.
const (
	keyAgent    = "agent"
	keyProtocol = "protocol"
	keyRun      = "run"
)

// who names the agent of a record; figures of suites have none.
func who(record map[string]any) string {
	name, _ := record[keyAgent].(string)
	if name == "" {
		return "here"
	}
	return name
}

// line is a line of a table beside the published one: a cell, each agent's value, and what the paper has.
type line struct {
	cell      cell
	row, name string
	values    map[string]*float64
	why       string // why no agent has a value
	published map[string]any
}

// Beside puts the figures of built tables beside the published ones. Built are tables of `seatrial report` by name.
func (t *Table) Beside(built map[string]*table.Table) *table.Table {
	var agents []string
	var lines []*line
	doubled := false
	for r, row := range t.Rows {
		for k, column := range t.Columns {
			l := &line{cell: t.cell(row, column), row: row.Name, name: column.Name, values: map[string]*float64{},
				published: map[string]any{}}
			for _, p := range t.Published {
				l.published[p.Who] = p.Cells[r][k]
			}
			taken := map[string]bool{}
			for _, record := range built[l.cell.table].Records {
				if !l.cell.matches(record) {
					continue
				}
				agent := who(record)
				if taken[agent] {
					doubled, l.values[agent] = true, nil
					continue
				}
				taken[agent] = true
				if !slices.Contains(agents, agent) {
					agents = append(agents, agent)
				}
				l.values[agent] = number(record[l.cell.value])
				if missing, _ := record[table.Missing].(map[string]string); missing[l.cell.value] != "" {
					l.why = missing[l.cell.value]
				}
			}
			lines = append(lines, l)
		}
	}
	return t.lay(lines, agents, doubled)
}

// lay makes the table of the lines.
func (t *Table) lay(lines []*line, agents []string, doubled bool) *table.Table {
	columns := []table.Column[*line]{
		table.Text("", "of", func(*line) string { return t.Of }),
		table.Text("row", "row", func(l *line) string { return l.row }),
		table.Text("figure", "figure", func(l *line) string { return l.name }),
		table.Text("", "unit", func(l *line) string { return l.cell.unit }),
	}
	for i, agent := range agents {
		columns = append(columns, table.Column[*line]{
			Head: table.Head{Name: agent, Right: true, Rank: i, Keys: []string{keyHere + agent}},
			Cell: func(l *line) table.Cell { return ours(l, agent) },
		})
	}
	if len(t.Published) > 0 {
		columns = append(columns, table.Column[*line]{
			Head: table.Head{Name: "paper", Right: true}, // the values follow, model by model
			Cell: func(l *line) table.Cell { return table.Cell{Text: t.span(l)} },
		})
	}
	for i, p := range t.Published {
		columns = append(columns, table.Column[*line]{
			Head: table.Head{Name: t.heading(p), Right: true, Rank: 100 + i, Keys: []string{keyPaper + p.Who}},
			Cell: func(l *line) table.Cell { return theirs(l.published[p.Who], l.cell.unit) },
		})
	}
	if len(agents)+len(t.Published) == 0 {
		lines = nil
	}
	out := table.Make("", lines, columns).WithNotes(t.Note)
	out.Name, out.Title = t.Name, t.Of+": "+t.Title
	if len(agents) == 0 {
		out = out.WithNotes("No figure of this table was measured: " + t.why(lines))
	}
	if doubled {
		out = out.WithNotes("Where several rows of `seatrial report --table " + t.Name + "` match a cell, it is empty.")
	}
	if len(t.Published) == 1 {
		out = out.WithNotes("paper: " + t.Published[0].Who + ".")
	} else if len(t.Published) > 1 {
		out = out.WithNotes(fmt.Sprintf("paper: the least and the greatest of %d.",
			len(t.Published)))
	}
	return out
}

// Prefixes of the keys of values.
const (
	keyHere  = "here: "
	keyPaper = "paper: "
)

// heading is the column of one of several published models; a single one needs none besides `paper`.
func (t *Table) heading(p Published) string {
	if len(t.Published) == 1 {
		return ""
	}
	return p.Who
}

func (t *Table) why(lines []*line) string {
	for _, l := range lines {
		if l.why != "" {
			return l.why + "."
		}
	}
	return "the runs have no episode that it is made from."
}

// ours is the cell of an agent.
func ours(l *line, agent string) table.Cell {
	v := l.values[agent]
	if v == nil {
		return table.Cell{Text: table.None, Values: []any{nil}, Why: l.why}
	}
	return table.Cell{Text: write(*v, l.cell.unit), Values: []any{*v}}
}

// theirs is a published cell. Its value has the unit of ours.
func theirs(v any, unit string) table.Cell {
	switch n := number(v); {
	case v == nil:
		return table.Cell{Text: table.None, Values: []any{nil}, Why: "the paper does not print it"}
	case n == nil:
		text := fmt.Sprint(v)
		return table.Cell{Text: table.Clean(text), Values: []any{text}}
	default:
		scaled := *n
		if unit == UnitPercent {
			scaled = math.Round(scaled*1e4) / 1e6 // 71.4 is 0.714, whatever the division makes of it
		}
		return table.Cell{Text: write(scaled, unit), Values: []any{scaled}}
	}
}

// span writes what the paper has in one cell: the only value, or the least and the greatest.
func (t *Table) span(l *line) string {
	var low, high *float64
	text := table.None
	for _, p := range t.Published {
		v := l.published[p.Who]
		if n := number(v); n != nil {
			if low == nil || *n < *low {
				low = n
			}
			if high == nil || *n > *high {
				high = n
			}
		} else if v != nil {
			text = table.Clean(fmt.Sprint(v))
		}
	}
	if low == nil {
		return text
	}
	scale := 1.0
	if l.cell.unit == UnitPercent {
		scale = 100
	}
	if *low == *high {
		return write(*low/scale, l.cell.unit)
	}
	return write(*low/scale, l.cell.unit) + " – " + write(*high/scale, l.cell.unit)
}

func write(v float64, unit string) string {
	switch unit {
	case UnitPercent:
		return table.Plain(v)
	case UnitCount:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case UnitNumber, UnitShare:
		return table.Decimal(v)
	}
	return table.Brief(v)
}

// number reads a value as a number; nil for others.
func number(v any) *float64 {
	var n float64
	switch v := v.(type) {
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case uint64:
		n = float64(v)
	case float64:
		n = v
	default:
		return nil
	}
	return &n
}
