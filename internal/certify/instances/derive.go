// Package instances makes the instances of tasks under conditions: from a suite's tasks and clean instances, and from
// nothing else, so that whoever has the suite can derive them again. It must never know how agents meet conditions, and
// it decides nothing that the conditions themselves do not say.
package instances

import (
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/toolkit"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// whatInstance is what a rejection of an instance is called.
const whatInstance = "instance"

// Derived is what was made of tasks under conditions. For each combination, made and refused add up to the tasks.
type Derived struct {
	Instances []*suite.Instance  // by task, and within a task by combination
	Rejected  []*suite.Rejection // in the same order
	// Counts accounts for them by the specification of the combination; nothing is certified yet.
	Counts map[string]suite.InstanceCounts
}

// Instances puts every task of a suite under each of the combinations, but for those of the request alone, whose
// wording depends on the SQL and the database, and those whose toolkits are chosen by looking into it: see
// [RequestInstance] and [ReplacedInstances]. Where a condition of the request stands with others, the wording is that
// of the task's instance under it alone, and without such an instance there is none. It reads the suite's tasks, tools,
// starting tables, clean instances, which hold the seed and the primary plan, and those; other instances are passed
// over. The order is that of the tasks, and within a task that of the combinations. The error is Seatrial's own
// failure: a task without a clean instance, or one whose plans call what its universe lacks.
func Instances(s *suite.Suite, combinations [][]condition.Condition) (*Derived, error) {
	clean := make(map[string]*suite.Instance, len(s.Tasks))
	for _, in := range s.Instances {
		if in.Role == condition.RoleClean && len(in.Conditions) == 0 {
			clean[in.Task] = in
		}
	}
	derived := &Derived{Counts: map[string]suite.InstanceCounts{}}
	combinations = ofPlace(combinations)
	worded := wordings(s)
	for _, task := range s.Tasks {
		base := clean[task.ID]
		if base == nil {
			return nil, fmt.Errorf("derive: task %s has no clean instance", task.ID)
		}
		known := knownTo(s, task, combinations, worded)
		for _, combination := range combinations {
			in, refusal, err := instance(base, task, known, combination)
			if err != nil {
				return nil, fmt.Errorf("derive: %w", err)
			}
			specification := condition.Specification(combination)
			count := derived.Counts[specification]
			if refusal != nil {
				derived.Rejected = append(derived.Rejected, refusal)
				count.Refuse(refusal.Reason)
			} else {
				derived.Instances = append(derived.Instances, in)
				count.Made++
			}
			derived.Counts[specification] = count
		}
	}
	return derived, nil
}

// known is what a task's instances are made of.
type known struct {
	tools     []*task.Tool                   // what the agent is shown without conditions
	elsewhere []string                       // those of other databases, where some condition may show them
	wordings  map[string]condition.Condition // see [wordings]
}

func knownTo(
	s *suite.Suite, task *task.Task, combinations [][]condition.Condition, worded map[string]condition.Condition,
) known {
	k := known{tools: s.Toolkit(&suite.Instance{}, task), wordings: worded}
	if slices.ContainsFunc(combinations, condition.ReachesElsewhere) {
		k.elsewhere = s.Elsewhere(task)
	}
	return k
}

// instance puts one task under conditions of the toolkit, and of the request where one stands with them. Such an
// instance keeps the role of the clean one: nothing in it goes wrong, and it is as feasible.
func instance(
	base *suite.Instance, task *task.Task, known known, combination []condition.Condition,
) (*suite.Instance, *suite.Rejection, error) {
	id := task.ID + "/" + condition.Specification(combination)
	refuse := func(reason, message string) (*suite.Instance, *suite.Rejection, error) {
		return nil, &suite.Rejection{
			What: whatInstance, ID: id, Corpus: task.Corpus, Database: task.Database, Style: task.Style, Reason: reason,
			Message: message,
		}, nil
	}
	conditions := slices.Clone(combination)
	for i, c := range conditions {
		if !c.OfRequest() {
			continue
		}
		made, worded := known.wordings[AskedID(task, c)]
		if !worded {
			return refuse(condition.ReasonNoWording, c.String()+": "+condition.Refusals()[condition.ReasonNoWording])
		}
		conditions[i] = made
	}
	input := toolkit.Input{Task: task, Universe: known.tools, Seed: base.Seed}
	if condition.ReachesElsewhere(combination) {
		input.Elsewhere = known.elsewhere
	}
	kit, refusal, err := condition.ChangeToolkit(combination, input)
	if err != nil {
		return nil, nil, err
	}
	if refusal != nil {
		return refuse(refusal.Reason, refusal.Condition.String()+": "+refusal.Message)
	}
	in := *base
	in.ID, in.Conditions = id, conditions
	if len(kit.Names) != len(known.tools) {
		in.Toolkit = kit.Names
	}
	return &in, nil, nil
}
