package condition

import "fmt"

// slow is exec.slow: the answer comes late and in time. It is a look-alike by itself. The environment holds no clock:
// who does may wait as long as the decision says.
type slow struct {
	target
	Milliseconds int `json:"milliseconds"`
	Deadline     int `json:"deadline_milliseconds"`
}

const slowDeadline = 30_000

func (f *slow) place(p *placement) *Refusal {
	s, refused := p.choose(func(*site) string { return "" })
	if refused != nil {
		return refused
	}
	f.Tool, f.Deadline = s.tool.Name, slowDeadline
	f.Milliseconds = slowDeadline*9/10 + 100*p.draw("latency").IntN(29)
	return nil
}

func (f *slow) make(_ FaultInput, m *made) error {
	m.step(f)
	return nil
}

// ChangeDelivery is that of [DeliveryStep].
func (f *slow) ChangeDelivery(c *Call, d Delivery) (Delivery, *Decision) {
	if !f.hits(c) {
		return d, nil
	}
	if d.Error == nil {
		d.Note = joinNotes(d.Note, fmt.Sprintf("The answer took %d.%d s; the limit is %d s.",
			f.Milliseconds/1000, f.Milliseconds%1000/100, f.Deadline/1000))
	}
	return d, applied(Field{"variant", jsonText(VariantLookalike)}, Field{"milliseconds", number(f.Milliseconds)})
}
