package condition

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/task"
)

// rateLimit is call.rate-limit: the quota of the tool is spent when it is first called, and comes back some turns
// later. Until then its calls are refused, with the wait in turns.
type rateLimit struct {
	target
	Wait int `json:"wait"` // in turns, counted from that of the first call to the tool
}

func (f *rateLimit) place(p *placement) *Refusal {
	s, refused := p.choose(func(*site) string { return "" })
	if refused != nil {
		return refused
	}
	f.Tool, f.Wait = s.tool.Name, 1+p.draw("wait").IntN(2)
	return nil
}

func (f *rateLimit) again() { f.Wait++ }

func (f *rateLimit) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, note: "Quota of this tool: 1 of 2 calls left in this window."})
		return nil
	}
	m.spend(f.Tool, 1)
	m.step(f)
	return nil
}

// Refuse is that of [Refuser].
func (f *rateLimit) Refuse(c *Call) (*task.ToolError, *Decision) {
	if !f.hits(c) {
		return nil, nil
	}
	first := c.Turn
	for i, earlier := range c.Earlier {
		if earlier == f.Tool {
			first = c.Turns[i]
			break
		}
	}
	left := first + f.Wait - c.Turn
	if left <= 0 {
		return nil, &Decision{}
	}
	turns := "turns"
	if left == 1 {
		turns = "turn"
	}
	return &task.ToolError{
		Code: CodeRateLimit,
		Message: fmt.Sprintf("Too many calls: the quota of this tool is spent. Call it again in %d %s at the earliest.", left,
			turns),
	}, applied(Field{"wait", number(left)})
}
