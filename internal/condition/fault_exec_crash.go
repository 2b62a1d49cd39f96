package condition

import "encoding/json"

// crash is exec.crash: some calls fail half-way and return the records that they had by then, marked incomplete. They
// begin with the call of the plan that hands over rows on which something depends: From counts the calls to its tool.
type crash struct {
	target
	From  int `json:"from"` // the first attempt that crashes
	Times int `json:"times"`

	after int // attempts that fail for other reasons first
}

func (f *crash) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		switch {
		case !s.delivers():
			return reasonNoRows
		case s.rows == 0:
			return reasonFewRows
		default:
			return ""
		}
	})
	if refused != nil {
		return refused
	}
	f.Tool, f.From, f.Times = s.tool.Name, 1, 1
	for i := range s.at {
		if p.Plan.Calls[i].Tool == f.Tool {
			f.From++
		}
	}
	return nil
}

func (f *crash) again() { f.Times++ }

func (f *crash) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, fields: []Field{
			{"complete", json.RawMessage("true")},
			{"warning", jsonText("A worker crashed and was restarted; all records are here.")},
		}})
		return nil
	}
	f.after = m.spend(f.Tool, f.Times)
	m.step(f)
	return nil
}

// Divide is that of [PageStep].
func (f *crash) Divide(c *Call, whole Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return whole, nil
	}
	attempt := c.Attempt - f.after
	if attempt < f.From || attempt >= f.From+f.Times || len(whole.Result.Rows) == 0 {
		return whole, &Decision{}
	}
	n := len(whole.Result.Rows) / 2
	part := whole.withRows(whole.Result.Rows[:n:n]).
		with("complete", json.RawMessage("false")).
		with("error", jsonText("The tool crashed before it had read all records. The call can be made again."))
	return part, applied(Field{"delivered", number(n)}, Field{"of", number(len(whole.Result.Rows))})
}
