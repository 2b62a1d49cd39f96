package instances

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// ReplacedInstances puts a task under replace-tool: the incomplete instance, which shows the tools of that list, and
// the complete one, which shows the right tools in the places of those that replace them. The order is drawn, as a list
// in which what replaces stood first would tell.
func ReplacedInstances(
	base *suite.Instance, task *task.Task, asked condition.Condition, tools []string, replaced []condition.Replaced,
) ([]*suite.Instance, error) {
	shown := drawnOrder(base.Seed, task, tools)
	whole := slices.Clone(shown)
	for _, r := range replaced {
		at := slices.Index(shown, r.By)
		if at < 0 {
			return nil, fmt.Errorf("derive: task %s: %s replaces %s and is not shown", task.ID, r.By, r.Tool)
		}
		whole[at] = r.Tool
	}
	incomplete, complete := *base, *base
	for _, one := range []struct {
		in      *suite.Instance
		id      string
		variant string
		toolkit []string
	}{
		{&incomplete, AskedID(task, asked), "", shown},
		{&complete, task.ID + "/" + condition.VariantComplete + ":" + asked.String(), condition.VariantComplete, whole},
	} {
		c, err := asked.WithChoice(&condition.Choice{Variant: one.variant, Replaced: replaced})
		if err != nil {
			return nil, fmt.Errorf("derive: task %s: %w", task.ID, err)
		}
		one.in.ID, one.in.Conditions, one.in.Role, one.in.Toolkit = one.id, []condition.Condition{c}, c.Role(), one.toolkit
	}
	return []*suite.Instance{&incomplete, &complete}, nil
}

// ExpandedInstance puts a task under a condition that adds tools to those of its plans.
func ExpandedInstance(
	base *suite.Instance, task *task.Task, asked condition.Condition, gold []string, added []condition.Added,
) (*suite.Instance, error) {
	c, err := asked.WithChoice(&condition.Choice{Added: added})
	if err != nil {
		return nil, fmt.Errorf("derive: task %s: %w", task.ID, err)
	}
	tools := slices.Clone(gold)
	for _, a := range added {
		tools = append(tools, a.Tool)
	}
	in := *base
	in.ID, in.Conditions, in.Role = AskedID(task, asked), []condition.Condition{c}, c.Role()
	in.Toolkit = drawnOrder(base.Seed, task, tools)
	return &in, nil
}

// drawnOrder puts the tools of a task in an order that its seed decides.
func drawnOrder(seed uint64, t *task.Task, tools []string) []string {
	order := slices.Clone(tools)
	slices.Sort(order)
	rank := make(map[string]string, len(order))
	for _, name := range order {
		rank[name] = task.Hash(seed, "toolkit", t.ID, name)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank[a], rank[b]) })
	return order
}
