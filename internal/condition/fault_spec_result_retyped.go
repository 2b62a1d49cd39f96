package condition

import (
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// resultRetyped is spec.result-retyped: numbers come as text. Its look-alike does so where the answer alone depends on
// them, which may hold a number either way, and the specification says so from the start.
type resultRetyped struct {
	target
	Column int    `json:"column"`
	Field  string `json:"field"`
}

func (f *resultRetyped) place(p *placement) *Refusal {
	s, column, refused := p.chooseColumn(reasonNoReference, func(s *site, c task.Column, values []task.Value) bool {
		if !isNumeric(c, values) {
			return false
		}
		if p.variant != VariantFault {
			return s.answer && len(s.uses) == 0
		}
		return slices.ContainsFunc(s.uses, func(u use) bool {
			reads := u.column == c.Name || u.column == "" && len(p.columns(s)) == 1
			return reads && u.binding != nil && u.binding.Kind != task.BindTable &&
				(u.binding.Type == task.TypeInteger || u.binding.Type == task.TypeNumber)
		})
	})
	if refused != nil {
		return refused
	}
	f.Tool, f.Column, f.Field = s.tool.Name, column, p.columns(s)[column].Name
	return nil
}

func (f *resultRetyped) inBounds() bool { return f.Column >= 0 }

func (f *resultRetyped) make(_ FaultInput, m *made) error {
	m.asked = true
	if f.Variant != VariantControl {
		m.step(f)
	}
	return nil
}

// ChangeResult is that of [ResultStep].
func (f *resultRetyped) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	p, changed := p.mapColumn(f.Column, func(v task.Value) (task.Value, bool) {
		switch v.(type) {
		case int64, float64:
			return string(task.AppendValue(nil, v)), true
		default:
			return v, false
		}
	})
	if changed == 0 {
		return p, &Decision{}
	}
	p.Columns = slices.Clone(p.Columns)
	p.Columns[f.Column].Type = task.TypeText
	return p, f.applied(Field{"field", jsonText(f.Field)}, Field{"values", number(changed)})
}

// Specify is that of [SpecificationStep].
func (f *resultRetyped) Specify(t *task.Tool) *task.Tool {
	return f.returning(t, func(p *task.Property) {
		if p.Name == f.Field {
			p.Schema = &task.Schema{Types: []string{"string", "null"}, Description: p.Schema.Description}
		}
	})
}

// Documented is that of [SpecificationStep]: that of the look-alike is.
func (f *resultRetyped) Documented() bool { return f.Variant == VariantLookalike }
