package selftest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// taskChecks are about the tasks as they were published.
var taskChecks = []Check{
	{
		Name: "gold", Claim: "The stored answer is right, and the grader accepts it.",
		Method: "gold, gold-direct and gold-composed play every plan of every clean task",
		Target: Target{AtLeast, 1}, Unit: UnitShare, measure: measureGold,
	},
	{
		Name: "mutants", Claim: "The answer depends on the query.",
		Method: "mutants of the query that some neighbour of the database kills, of those not proven equivalent",
		Target: Target{AtLeast, 0.90}, Unit: UnitShare, measure: measureMutants,
	},
	{
		Name: "guessing", Claim: "A task cannot be solved by guessing.",
		Method: "clean tasks that one call with random arguments solves",
		Target: Target{AtMost, 0.10}, Unit: UnitShare, measure: measureGuessing,
	},
	{
		Name: "open", Claim: "A request says all that its answer is graded by.",
		Method: "tasks that leave a column, an order or repeated rows open; reports print a headline with and without them",
		Unit:   UnitShare, measure: measureOpen,
	},
}

func measureGold(ctx context.Context, t *Trial) (Figure, error) {
	right, all := 0, 0
	for _, kind := range []struct{ policy, plan string }{
		{"gold", ""}, {"gold-direct", task.PlanDirect}, {"gold-composed", task.PlanComposed},
	} {
		instances := t.Instances(func(in *suite.Instance, tk *task.Task) bool {
			return isClean(in) && runnable(tk) && (kind.plan == "" || tk.Plan(kind.plan) != nil)
		})
		rows, err := t.Policy(ctx, kind.policy, instances)
		if err != nil {
			return Figure{}, err
		}
		right += count(rows, succeeded)
		all += len(rows)
	}
	return ShareOf(right, all), nil
}

func measureMutants(_ context.Context, t *Trial) (Figure, error) {
	var all suite.MutantCounts
	tasks := t.Suite.Index()
	for _, in := range t.Instances(func(in *suite.Instance, tk *task.Task) bool { return isClean(in) && runnable(tk) }) {
		if c := t.certificates[in.ID]; c != nil && tasks[in.Task].Variant == "" {
			all = all.Add(c.Mutants)
		}
	}
	killed := ShareOf(all.Told, all.Made-all.Equivalent-all.Failed)
	killed.Note = fmt.Sprintf("%d equivalent", all.Equivalent)
	return killed, nil
}

func measureGuessing(ctx context.Context, t *Trial) (Figure, error) {
	instances := t.Instances(func(in *suite.Instance, tk *task.Task) bool { return isClean(in) && runnable(tk) })
	rows, err := t.Policy(ctx, "random", instances)
	if err != nil {
		return Figure{}, err
	}
	tasks := t.Suite.Index()
	published, flagged := 0.0, 0
	for _, in := range instances {
		published += tasks[in.Task].Chance.Level()
		if slices.Contains(tasks[in.Task].Flags, task.FlagGuessable) {
			flagged++
		}
	}
	f := ShareOf(count(rows, succeeded), len(rows))
	if f.Of > 0 {
		f.Note = fmt.Sprintf("published: %.1f %%, %d tasks flagged", 100*published/float64(f.Of), flagged)
	}
	return f, nil
}

func measureOpen(_ context.Context, t *Trial) (Figure, error) {
	flagged, flags := 0, map[string]int{}
	for _, tk := range t.Suite.Tasks {
		if tk.Ambiguous() {
			flagged++
		}
		for _, flag := range tk.Flags {
			flags[flag]++
		}
	}
	f := ShareOf(flagged, len(t.Suite.Tasks))
	var parts []string
	for _, flag := range task.AmbiguityFlags() {
		parts = append(parts, fmt.Sprintf("%s %d", flag, flags[flag]))
	}
	f.Note = strings.Join(parts, ", ")
	return f, nil
}
