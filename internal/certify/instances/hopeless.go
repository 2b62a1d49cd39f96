package instances

import (
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// WrongTools is a toolkit in which a task is hopeless, chosen with an eye on the database.
type WrongTools struct {
	Wrong []string // that cannot give the answer
	Gold  []string // of the task's plans: with them the task can be done
}

// HopelessInstances puts a task under a kind that nothing survives, in all its variants. Distractors-only shows the
// wrong tools alone; everything else shows the plans' tools among them, so that the clean and the harmless instance
// have the toolkit of the hopeless one and the tools that do the job. Tools are those that the task's agents are shown
// without conditions; toolkits keep their order. A refusal is the kind's own: see [condition.Place].
func HopelessInstances(
	base *suite.Instance, task *task.Task, tools []*task.Tool, kind string, chosen WrongTools,
) ([]*suite.Instance, *suite.Rejection, error) {
	wrong, whole := []string{}, []string{}
	for _, t := range tools {
		if slices.Contains(chosen.Wrong, t.Name) {
			wrong, whole = append(wrong, t.Name), append(whole, t.Name)
		} else if slices.Contains(chosen.Gold, t.Name) {
			whole = append(whole, t.Name)
		}
	}
	placed, err := placeFault(base, task, known{tools: tools}, struckWithin{faults: []condition.Fault{{Kind: kind}}})
	if err != nil {
		return nil, nil, err
	}
	if len(placed.refused) > 0 {
		return nil, placed.refused[0], nil
	}
	for _, in := range placed.instances {
		in.Toolkit = whole
		if in.Conditions[0].Role() == condition.RoleHopeless {
			in.Role, in.ID = condition.RoleHopeless, HopelessID(task, kind)
			if missing(kind) {
				in.Toolkit = wrong
			}
		}
	}
	return placed.instances, nil, nil
}

// HopelessID is the id of a task's instance under a kind that nothing survives.
func HopelessID(task *task.Task, kind string) string {
	return task.ID + "/" + condition.RoleHopeless + ":" + kind
}

// missing says whether the right tools are not there under a kind.
func missing(kind string) bool {
	return slices.ContainsFunc(condition.Catalogue(), func(info condition.Info) bool {
		return info.Name == kind && info.Survival.Hazard == fault.HazardMissing
	})
}
