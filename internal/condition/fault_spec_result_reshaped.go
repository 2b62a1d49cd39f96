package condition

import "encoding/json"

// resultReshaped is spec.result-reshaped: records are nested in an envelope or turned column-wise, and are then no list
// of records that a later call could refer to.
type resultReshaped struct {
	target
	Shape string `json:"shape"`
}

func (f *resultReshaped) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		if !s.delivers() {
			return reasonNoRows
		}
		return ""
	})
	if refused != nil {
		return refused
	}
	f.Tool, f.Shape = s.tool.Name, p.pick("shape", ShapeEnvelope, ShapeColumns)
	return nil
}

func (f *resultReshaped) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, fields: []Field{{"format_version", json.RawMessage("2")}}})
		return nil
	}
	m.step(f)
	return nil
}

// ChangeResult is that of [ResultStep].
func (f *resultReshaped) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	p.Shape = f.Shape
	return p, applied(Field{"shape", jsonText(f.Shape)})
}
