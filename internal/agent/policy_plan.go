package agent

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/universe"
)

// planPlayer plays a plan level by level: the calls that refer to no unseen result go side by side in one turn, the
// answer in a turn after the last of them.
type planPlayer struct {
	plan   *universe.Plan
	absent string // why there is no plan, where there is none
	heed   bool   // stop at the first error that comes back
	levels [][]int
	next   int // the level to play
}

func newGold(in PolicyInput) script       { return newPlanPlayer(primary(in), "no plan", true) }
func newGoldDirect(in PolicyInput) script { return newPlanKind(in, universe.PlanDirect) }

// newGoldComposed plays the composed plan, and the direct one where a task has no other: it succeeds on every task.
func newGoldComposed(in PolicyInput) script {
	if in.Task.Plan(universe.PlanComposed) == nil {
		return newGoldDirect(in)
	}
	return newPlanKind(in, universe.PlanComposed)
}

// newBlind makes the policy that lands every fault: the same turns as gold's, whatever comes back.
func newBlind(in PolicyInput) script { return newPlanPlayer(primary(in), "no plan", false) }

func newPlanKind(in PolicyInput, kind string) script {
	return newPlanPlayer(in.Task.Plan(kind), "no "+kind+" plan", true)
}

// primary gives the plan that the instance plays; nil where the task has none of that kind, or none at all.
func primary(in PolicyInput) *universe.Plan {
	if in.Primary != "" {
		return in.Task.Plan(in.Primary)
	}
	if len(in.Task.Plans) == 0 {
		return nil
	}
	return &in.Task.Plans[0]
}

func newPlanPlayer(plan *universe.Plan, absent string, heed bool) *planPlayer {
	p := &planPlayer{plan: plan, absent: absent, heed: heed}
	if plan != nil {
		p.levels = planLevels(plan.Calls)
	}
	return p
}

// planLevels groups calls by the longest chain of references that leads to them. A reference to a call that stands
// later, or nowhere, waits for nothing.
func planLevels(calls []universe.Call) [][]int {
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

func (p *planPlayer) turn(_ *universe.View, seen []universe.Observation) (universe.Turn, error) {
	if p.plan == nil {
		return stop("the task has " + p.absent), nil
	}
	if p.heed {
		for i := range seen {
			if seen[i].Error != nil {
				return stop(fmt.Sprintf("call %s failed, and the plan knows no other way: %v", seen[i].Label, seen[i].Error)), nil
			}
		}
	}
	if p.next == len(p.levels) {
		return universe.Turn{Actions: []universe.Action{answerReference(p.plan.Answer)}}, nil
	}
	var turn universe.Turn
	for _, i := range p.levels[p.next] {
		action, err := callAction(&p.plan.Calls[i])
		if err != nil {
			return universe.Turn{}, fmt.Errorf("%s plan: %w", p.plan.Kind, err)
		}
		turn.Actions = append(turn.Actions, action)
	}
	p.next++
	return turn, nil
}
