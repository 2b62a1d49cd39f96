package environment

import (
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/transcript"
	"github.com/seatrial/seatrial/internal/universe"
)

// stages are the steps of the conditions, sorted by what they do. With no steps every stage is empty and a call passes
// through unchanged.
type stages struct {
	refusers   []staged[condition.Refuser]
	arguments  []staged[condition.ArgumentStep]
	values     []staged[condition.ValueStep]
	results    []staged[condition.ResultStep]
	deliveries []staged[condition.DeliveryStep]
}

// staged is a step in one of its powers.
type staged[S any] struct {
	name string
	step S
}

func newStages(steps []condition.Step) stages {
	return stages{
		refusers:   able[condition.Refuser](steps),
		arguments:  able[condition.ArgumentStep](steps),
		values:     able[condition.ValueStep](steps),
		results:    able[condition.ResultStep](steps),
		deliveries: able[condition.DeliveryStep](steps),
	}
}

// able lists the steps that have the power S, in their order.
func able[S any](steps []condition.Step) []staged[S] {
	var list []staged[S]
	for _, s := range steps {
		if power, ok := s.(S); ok {
			list = append(list, staged[S]{name: s.Name(), step: power})
		}
	}
	return list
}

func (c *call) decided(name string, d *condition.Decision) {
	if d == nil {
		return
	}
	c.decisions = append(c.decisions, transcript.Event{
		Kind: transcript.EventDecision, Label: c.about.Label, Tool: c.action.Tool, Attempt: c.about.Attempt,
		Condition: name, Applied: d.Applied, Detail: d.Detail,
	})
}

// refuse asks the refusers in turn and gives the first refusal.
func (s *stages) refuse(c *call) *universe.ToolError {
	for _, r := range s.refusers {
		refusal, decision := r.step.Refuse(&c.about)
		c.decided(r.name, decision)
		if refusal != nil {
			return refusal
		}
	}
	return nil
}

func (s *stages) changeArguments(c *call) *universe.ToolError {
	for _, a := range s.arguments {
		changed, refusal, decision := a.step.ChangeArguments(&c.about, c.arguments)
		c.decided(a.name, decision)
		if refusal != nil {
			return refusal
		}
		c.arguments = changed
	}
	return nil
}

// changeValues gives the values to bind. Decisions are recorded for the episode's world alone: on a neighbour the same
// change is made, and said once.
func (s *stages) changeValues(c *call, values []universe.Value, world int) []universe.Value {
	for _, v := range s.values {
		changed, decision := v.step.ChangeValues(&c.about, values)
		if world == 0 {
			c.decided(v.name, decision)
		}
		values = changed
	}
	return values
}

func (s *stages) changeResult(c *call, r *universe.Result, world int) *universe.Result {
	for _, step := range s.results {
		changed, decision := step.step.ChangeResult(&c.about, r)
		if world == 0 {
			c.decided(step.name, decision)
		}
		r = changed
	}
	return r
}

func (s *stages) changeDelivery(c *call) {
	for _, step := range s.deliveries {
		changed, decision := step.step.ChangeDelivery(&c.about, c.delivery)
		c.decided(step.name, decision)
		c.delivery = changed
	}
}
