package instances

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// Sort is a sort of conditions whose instances, where they stand alone in their combination, are made by looking into
// the database: [condition.Condition.OfRequest] or [condition.Condition.OfChoice].
type Sort func(condition.Condition) bool

// Alone lists the conditions of a sort among combinations, in their order.
func (s Sort) Alone(combinations [][]condition.Condition) []condition.Condition {
	var list []condition.Condition
	for _, combination := range combinations {
		if len(combination) == 1 && s(combination[0]) {
			list = append(list, combination[0])
		}
	}
	return list
}

// Holds says whether an instance is under a condition of the sort, and under no other.
func (s Sort) Holds(in *suite.Instance) bool {
	return len(in.Conditions) == 1 && s(in.Conditions[0])
}

// HoldsID says the same of the id of an instance that was refused.
func (s Sort) HoldsID(id string) bool {
	specification := specificationOf(id)
	name, _, _ := strings.Cut(specification, ":")
	return !strings.Contains(specification, "+") && s(condition.Condition{Name: name})
}

// The two sorts.
var (
	OfRequest Sort = condition.Condition.OfRequest
	OfChoice  Sort = condition.Condition.OfChoice
)

// ofPlace lists the combinations of neither sort: where their instances stand follows from the plans.
func ofPlace(combinations [][]condition.Condition) [][]condition.Condition {
	return slices.DeleteFunc(slices.Clone(combinations), func(c []condition.Condition) bool {
		return len(c) == 1 && (OfRequest(c[0]) || OfChoice(c[0]))
	})
}

// Worded lists the combinations in which a condition of the request stands with others: [Instances] can make theirs
// once there are those under the condition of the request alone.
func Worded(combinations [][]condition.Condition) [][]condition.Condition {
	return slices.DeleteFunc(slices.Clone(combinations), func(c []condition.Condition) bool {
		return len(c) == 1 ||
			!OfRequest(c[0])
	})
}

// Unworded lists the others.
func Unworded(combinations [][]condition.Condition) [][]condition.Condition {
	return slices.DeleteFunc(slices.Clone(combinations), func(c []condition.Condition) bool {
		return len(c) > 1 &&
			OfRequest(c[0])
	})
}

// wordings gives the conditions of the request that the instances of a suite are under, with what was made of each, by
// the ids of the instances that are under nothing else.
func wordings(s *suite.Suite) map[string]condition.Condition {
	made := map[string]condition.Condition{}
	for _, in := range s.Instances {
		if OfRequest.Holds(in) {
			made[in.ID] = in.Conditions[0]
		}
	}
	return made
}

// AskedID is the id of a task's instance under a condition that stands alone, as it was asked for.
func AskedID(task *task.Task, asked condition.Condition) string {
	return task.ID + "/" + asked.String()
}
