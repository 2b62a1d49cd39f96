package environment

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// accompany answers a call to a tool that a condition added: the condition's step answers it, on every world.
func (e *Environment) accompany(c *call) (*task.ToolError, error) {
	step, name := e.stages.companion(c.tool.specification.Name)
	if step == nil {
		return nil, fmt.Errorf("no condition answers for the tool %q", c.tool.specification.Name)
	}
	to := newReturned(1 + len(e.config.Neighbours))
	var handed fault.Payload
	for world := range to.results {
		p, mistake, decision := step.Answer(&c.about, func(label string) (string, fault.Payload, bool) {
			o := e.outcomes[label]
			if o == nil || o.number >= c.about.Number || o.turn == c.about.Turn || len(o.wholes) <= world ||
				o.wholes[world] == nil {
				return "", fault.Payload{}, false
			}
			return o.tool, *o.wholes[world], true
		})
		if world > 0 {
			to.results[world] = p.Result // nil where it has no such answer
			continue
		}
		c.decided(name, decision)
		if mistake != nil {
			return mistake, nil
		}
		if p.Content != nil {
			c.delivery = fault.Delivery{Content: p.Content}
			return nil, nil
		}
		handed, to.results[0] = p, p.Result
		c.digest = p.Result.Digest(true)
	}
	c.keep(to, &handed, true)
	return nil, nil
}
