package agent

import (
	"context"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/universe"
)

// PolicyInput is what a policy is made of: the task that it plays, and what its draws depend on.
type PolicyInput struct {
	Task    *universe.Task
	Primary string // the kind of the plan that the instance plays; "" means the task's first plan
	Seed    uint64 // of the run
	Trial   int
	// Without lists tactics that the recovery policy must do without.
	Without []string
}

// PolicyInfo describes a policy to a person.
type PolicyInfo struct {
	Name        string
	Description string // one line
}

// script is a policy's mind: it is called turn by turn with what was seen of the last one. The first call sees
// nothing.
type script interface {
	turn(view *universe.View, seen []universe.Observation) (universe.Turn, error)
}

// policies is the table of all policies, in the order in which they are listed.
var policies = []struct {
	PolicyInfo
	make func(PolicyInput) script
}{
	{PolicyInfo{"gold", "plays the instance's primary plan, calls that wait for nothing side by side"}, newGold},
	{PolicyInfo{"gold-direct", "plays the direct plan; stops at once where a task has none"}, newGoldDirect},
	{PolicyInfo{"gold-composed", "plays the composed plan, the direct one where a task has no other"}, newGoldComposed},
	{PolicyInfo{"blind", "plays the primary plan whatever comes back, and answers with its last result"}, newBlind},
	{PolicyInfo{"random", "makes one call, drawn among those that the literals allow, and answers its result"}, newRandom},
	{PolicyInfo{"mute", "stops at once without an act"}, newMute},
}

// Policies lists the scripted reference agents.
func Policies() []PolicyInfo {
	list := make([]PolicyInfo, len(policies))
	for i := range policies {
		list[i] = policies[i].PolicyInfo
	}
	return list
}

// Policy is a scripted agent. It needs no model and no key; it calibrates a suite.
type Policy struct {
	name   string
	script script
	over   bool
}

// NewPolicy makes the policy of that name for one episode. An unknown name is an error of exit code 2 that names the
// nearest known one.
func NewPolicy(name string, in PolicyInput) (*Policy, error) {
	for i := range policies {
		if policies[i].Name == name {
			return &Policy{name: name, script: policies[i].make(in)}, nil
		}
	}
	known := make([]string, len(policies))
	for i := range policies {
		known[i] = policies[i].Name
	}
	return nil, diag.Unknown("policy", name, known)
}

// Next gives the policy's next turn. A policy that has answered or stopped goes on stopping: an environment that
// refuses its answer is not asked twice.
func (p *Policy) Next(ctx context.Context, view *universe.View, seen []universe.Observation) (universe.Turn, error) {
	if err := ctx.Err(); err != nil {
		return universe.Turn{}, err
	}
	if p.over {
		return stop(p.name + " has no more to say"), nil
	}
	turn, err := p.script.turn(view, seen)
	if err != nil {
		return universe.Turn{}, err
	}
	p.over = turn.Stop
	for i := range turn.Actions {
		if turn.Actions[i].Kind != universe.ActionCall {
			p.over = true
		}
	}
	return turn, nil
}

// stop is the turn that ends an episode without an act, and says why.
func stop(why string) universe.Turn {
	return universe.Turn{Stop: true, Thought: why}
}
