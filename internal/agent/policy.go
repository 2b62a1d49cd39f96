package agent

import (
	"context"
	"slices"
	"strings"

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
	make func(PolicyInput) (script, error)
}{
	{PolicyInfo{"gold", "plays the instance's primary plan, calls that wait for nothing side by side"}, searchingFirst(of(newGold))},
	{PolicyInfo{"gold-direct", "plays the direct plan; stops at once where a task has none"}, searchingFirst(of(newGoldDirect))},
	{PolicyInfo{"gold-composed", "plays the composed plan, the direct one where a task has no other"}, searchingFirst(of(newGoldComposed))},
	{PolicyInfo{"gold-unfound", "plays the primary plan without looking for its tools where they have to be found"}, of(newGold)},
	{PolicyInfo{"blind", "plays the primary plan whatever comes back, and answers with its last result"}, searchingFirst(of(newBlind))},
	{PolicyInfo{"retry", "repeats a call that came back with an error up to 3 times, and is blind otherwise"}, searchingFirst(of(newRetry))},
	{PolicyInfo{"fallback", "goes on with another plan at each error while there is one, and is blind otherwise"}, searchingFirst(of(newFallback))},
	{PolicyInfo{"recover", "diagnoses what comes back and heals it; recover-without:TACTIC does without one tactic"}, searchingFirst(newRecover)},
	{PolicyInfo{"random", "makes one call, drawn among those that the literals allow, and answers its result"}, of(newRandom)},
	{PolicyInfo{"mute", "stops at once without an act"}, of(newMute)},
	{PolicyInfo{"always-yes", "judges that every request can be met"}, of(newAlwaysYes)},
	{PolicyInfo{"always-no", "judges that no request can be met"}, of(newAlwaysNo)},
	{PolicyInfo{"schema-check", "judges by whether the request has values for what a tool that shares its words requires"}, of(newSchemaCheck)},
}

// of makes a policy that cannot fail to be made.
func of(make func(PolicyInput) script) func(PolicyInput) (script, error) {
	return func(in PolicyInput) (script, error) { return make(in), nil }
}

// recoverWithout begins the name of the recovery policy that does without the tactic that stands behind it.
const recoverWithout = "recover-without:"

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
// nearest known one; so is an unknown tactic behind recover-without.
func NewPolicy(name string, in PolicyInput) (*Policy, error) {
	known := name
	if tactic, without := strings.CutPrefix(name, recoverWithout); without {
		known, in.Without = "recover", append(slices.Clone(in.Without), tactic)
	}
	for i := range policies {
		if policies[i].Name == known {
			s, err := policies[i].make(in)
			if err != nil {
				return nil, err
			}
			return &Policy{name: name, script: s}, nil
		}
	}
	names := make([]string, len(policies))
	for i := range policies {
		names[i] = policies[i].Name
	}
	return nil, diag.Unknown("policy", name, names)
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
