package condition

import (
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// nullSentinel is out.null-sentinel: missing values of a field come as a declared value that the field does not hold.
type nullSentinel struct {
	target
	Column int    `json:"column"`
	Field  string `json:"field"`
	Text   string `json:"text"` // of fields of texts; those of numbers take -1
}

const fieldMissing = "missing_values"

func (f *nullSentinel) place(p *placement) *Refusal {
	s, column, refused := p.chooseColumn(reasonNoMissing, func(_ *site, _ task.Column, values []task.Value) bool {
		return slices.Contains(values, nil)
	})
	if refused != nil {
		return refused
	}
	f.Tool, f.Column, f.Field = s.tool.Name, column, p.columns(s)[column].Name
	f.Text = p.pick("text", "N/A", "UNKNOWN", "-")
	return nil
}

func (f *nullSentinel) inBounds() bool { return f.Column >= 0 }

func (f *nullSentinel) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, fields: []Field{{fieldMissing, detail(Field{f.Field, []byte("null")})}}})
		return nil
	}
	m.step(f)
	return nil
}

// ChangeResult is that of [ResultStep].
func (f *nullSentinel) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	if f.Column >= len(p.Result.Columns) {
		return p, &Decision{}
	}
	sentinel := f.sentinel(p)
	p, changed := p.mapColumn(f.Column, func(v task.Value) (task.Value, bool) { return sentinel, v == nil })
	if changed == 0 {
		return p, &Decision{}
	}
	p = p.with(fieldMissing, detail(Field{p.Result.Columns[f.Column], task.AppendValue(nil, sentinel)}))
	return p, applied(Field{"field", jsonText(f.Field)}, Field{"values", number(changed)})
}

// sentinel gives a value of the field's type that the field does not hold, nor anything that compares equal to it.
func (f *nullSentinel) sentinel(p Payload) task.Value {
	numbers := false
	held := map[string]bool{}
	for _, row := range p.Result.Rows {
		if s, ok := plainText(row[f.Column]); ok {
			held[s] = true
			numbers = numbers || isNumber(row[f.Column])
		}
	}
	if declared := p.Columns[f.Column].Type; len(held) == 0 {
		numbers = declared == task.TypeInteger || declared == task.TypeNumber
	}
	if numbers {
		n := int64(-1)
		for held[string(task.AppendValue(nil, n))] || held[string(task.AppendValue(nil, float64(n)))] {
			n = n*10 - 9
		}
		return n
	}
	s := f.Text
	for held[s] {
		s = "<" + s + ">"
	}
	return s
}
