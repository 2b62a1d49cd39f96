package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/task"
)

// planPlayer plays a plan level by level: the calls that refer to no unseen result go side by side in one turn, the
// answer in a turn after the last of them.
type planPlayer struct {
	plan   *task.Plan
	absent string // why there is no plan, if plan is nil
	heed   bool   // stop at the first error that comes back
	byName bool   // refer to the only field of a result by its name, as people write it
	levels [][]int
	next   int // the level to play
	// without is the act of a player without a plan, for tasks whose right act is not a call.
	without *task.Action
}

// newGold makes the policy that does what is right. A static task that no tool serves has no right plan.
func newGold(in Input) script {
	if in.Task.Proof == task.ProofStatic && in.Task.Gold.Kind == task.GoldDecline {
		return newPlanPlayer(nil, "no plan", true).orAct(in.Task)
	}
	return newPlanPlayer(primary(in), "no plan", true).orAct(in.Task)
}

func newGoldDirect(in Input) script { return newPlanKind(in, task.PlanDirect) }

// orAct sets the act for a static task without a plan: the player declines if no tool serves the request, and judges
// that a request can be met if its right calls are not known.
func (p *planPlayer) orAct(t *task.Task) *planPlayer {
	if p.plan != nil || t.Proof != task.ProofStatic {
		return p
	}
	switch t.Gold.Kind {
	case task.GoldDecline:
		p.without = &task.Action{Kind: task.ActionDecline, Text: "No tool serves the request."}
	case task.GoldCalls:
		act := task.Judge(true, "Some tool serves the request.")
		p.without = &act
	}
	return p
}

// newGoldComposed plays the composed plan, or the direct one if a task has no other: it succeeds on every task.
func newGoldComposed(in Input) script {
	if in.Task.Plan(task.PlanComposed) == nil {
		return newGoldDirect(in)
	}
	return newPlanKind(in, task.PlanComposed)
}

// newBlind makes the policy that ignores every fault: it takes the same turns as gold, whatever comes back. It refers
// to fields by name, so that a renamed field makes it fail.
func newBlind(in Input) script { return newBlindPlayer(primary(in)).orAct(in.Task) }

func newBlindPlayer(plan *task.Plan) *planPlayer {
	p := newPlanPlayer(plan, "no plan", false)
	p.byName = true
	return p
}

func newPlanKind(in Input, kind string) script {
	return newPlanPlayer(in.Task.Plan(kind), "no "+kind+" plan", true)
}

// primary returns the plan that the instance plays, or nil.
func primary(in Input) *task.Plan {
	if in.Primary != "" {
		return in.Task.Plan(in.Primary)
	}
	if len(in.Task.Plans) == 0 {
		return nil
	}
	return &in.Task.Plans[0]
}

func newPlanPlayer(plan *task.Plan, absent string, heed bool) *planPlayer {
	p := &planPlayer{plan: plan, absent: absent, heed: heed}
	if plan != nil {
		p.levels = planLevels(plan.Calls)
	}
	return p
}

// planLevels groups calls by the longest chain of references that leads to them. References to later or unknown calls
// do not count.
func planLevels(calls []task.Call) [][]int {
	level := make(map[string]int, len(calls))
	var levels [][]int
	for i := range calls {
		mine := 0
		for _, r := range calls[i].References() {
			if l, ok := level[r.Label]; ok {
				mine = max(mine, l+1)
			}
		}
		level[calls[i].Label] = mine
		if mine == len(levels) {
			levels = append(levels, nil)
		}
		levels[mine] = append(levels[mine], i)
	}
	return levels
}

func (p *planPlayer) Turn(view *task.View, seen []task.Observation) (task.Turn, error) {
	if p.plan == nil && p.without != nil {
		return task.Turn{Actions: []task.Action{*p.without}}, nil
	}
	if p.plan == nil {
		return action.Stop("the task has " + p.absent), nil
	}
	if p.byName {
		p.plan, p.byName = named(p.plan, view), false
	}
	if p.heed {
		for i := range seen {
			if seen[i].Error != nil {
				return action.Stop(fmt.Sprintf("call %s failed, and the plan knows no other way: %v", seen[i].Label,
					seen[i].Error)), nil
			}
		}
	}
	if p.next == len(p.levels) {
		return task.Turn{Actions: []task.Action{action.AnswerReference(p.plan.Answer)}}, nil
	}
	var turn task.Turn
	for _, i := range p.levels[p.next] {
		act, err := action.Call(&p.plan.Calls[i])
		if err != nil {
			return task.Turn{}, fmt.Errorf("%s plan: %w", p.plan.Kind, err)
		}
		turn.Actions = append(turn.Actions, act)
	}
	p.next++
	return turn, nil
}

// named returns a plan with the same meaning that names the field wherever it refers to the only field of a result:
// `$call_1$` becomes `$call_1.name$`. Arguments that take records, and operations on data handles, keep references to
// whole results. The given plan stays as it is.
func named(plan *task.Plan, view *task.View) *task.Plan {
	tools := make(map[string]*task.Tool, len(plan.Calls))
	for i := range plan.Calls {
		tools[plan.Calls[i].Tool] = nil
	}
	for _, t := range view.Tools {
		if _, called := tools[t.Name]; called {
			tools[t.Name] = t
		}
	}
	only := map[string]string{} // the field, by label
	spelt := *plan
	spelt.Calls = slices.Clone(plan.Calls)
	for i := range spelt.Calls {
		c := &spelt.Calls[i]
		t := tools[c.Tool]
		if name := onlyField(t); name != "" {
			only[c.Label] = name
		}
		c.Arguments = make(map[string]any, len(c.Arguments))
		for name, v := range plan.Calls[i].Arguments {
			if t != nil && t.Parameters != nil && takesValues(t.Parameters.Property(name)) {
				v = nameField(v, only)
			}
			c.Arguments[name] = v
		}
	}
	return &spelt
}

// onlyField returns the name of the only field of a tool's records; "" if there are more or if a reference cannot name
// it.
func onlyField(t *task.Tool) string {
	if t == nil || t.Returns == nil || t.Returns.Items == nil || len(t.Returns.Items.Properties) != 1 {
		return ""
	}
	if name := t.Returns.Items.Properties[0].Name; !strings.Contains(name, "$") {
		return name
	}
	return ""
}

// takesValues reports whether an argument takes a value or a list of values, and not records.
func takesValues(s *task.Schema) bool {
	return s != nil && (s.Items == nil || !slices.Contains(s.Items.Types, "object"))
}

// nameField names the field in a reference, and in each of a list.
func nameField(v any, only map[string]string) any {
	switch v := v.(type) {
	case string:
		if ref, ok := task.ParseReference(v); ok && ref.Column == "" && only[ref.Label] != "" {
			return task.Reference{Label: ref.Label, Column: only[ref.Label]}.String()
		}
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = nameField(v[i], only)
		}
		return list
	}
	return v
}
