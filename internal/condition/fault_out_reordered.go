package condition

import (
	"slices"
	"strconv"

	"github.com/seatrial/seatrial/internal/task"
)

// reordered is out.reordered: the rows of an ordered answer come in another order, with the place of each in the right
// order beside them, from 1.
type reordered struct {
	target
}

const fieldSortKeys = "sort_keys"

func (f *reordered) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		switch {
		case !s.delivers() || !s.answer || p.gold == nil:
			return reasonNoRows
		case len(p.gold.Blocks) < 2 || sameReversed(p.gold.Rows):
			return reasonOrderFree
		default:
			return ""
		}
	})
	if refused != nil {
		return refused
	}
	f.Tool = s.tool.Name
	return nil
}

func sameReversed(rows []task.Row) bool {
	for i := range rows {
		for j, v := range rows[i] {
			if string(task.AppendValue(nil, v)) != string(task.AppendValue(nil, rows[len(rows)-1-i][j])) {
				return false
			}
		}
	}
	return true
}

func (f *reordered) make(_ FaultInput, m *made) error {
	m.step(f)
	return nil
}

// ChangeResult is that of [ResultStep]. The look-alike says the places of rows that are in order.
func (f *reordered) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	if len(p.Result.Rows) < 2 && f.Variant == VariantFault {
		return p, &Decision{}
	}
	n := len(p.Result.Rows)
	keys := []byte{'['}
	for i := range n {
		if i > 0 {
			keys = append(keys, ',')
		}
		place := i + 1
		if f.Variant == VariantFault {
			place = n - i
		}
		keys = strconv.AppendInt(keys, int64(place), 10)
	}
	keys = append(keys, ']')
	if f.Variant == VariantLookalike {
		return p.with(fieldSortKeys, keys), applied(Field{"variant", jsonText(VariantLookalike)})
	}
	rows := slices.Clone(p.Result.Rows)
	slices.Reverse(rows)
	return p.withRows(rows).with(fieldSortKeys, keys), applied(Field{"rows", number(n)})
}
