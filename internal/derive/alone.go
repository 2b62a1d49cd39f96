package derive

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/universe"
)

// Sort is a sort of conditions that stand alone in their combination, and whose instances are made by looking into the
// database: [condition.Condition.OfRequest] or [condition.Condition.OfChoice].
type Sort func(condition.Condition) bool

// Alone lists the conditions of a sort among combinations, in their order.
func (s Sort) Alone(combinations [][]condition.Condition) []condition.Condition {
	var list []condition.Condition
	for _, combination := range combinations {
		if s(combination[0]) {
			list = append(list, combination[0])
		}
	}
	return list
}

// Holds says whether an instance is under a condition of the sort.
func (s Sort) Holds(in *suite.Instance) bool {
	return len(in.Conditions) > 0 && s(in.Conditions[0])
}

// HoldsID says the same of the id of an instance that was refused.
func (s Sort) HoldsID(id string) bool {
	name, _, _ := strings.Cut(id[strings.LastIndexByte(id, '/')+1:], ":")
	return s(condition.Condition{Name: name})
}

// The two sorts.
var (
	OfRequest Sort = condition.Condition.OfRequest
	OfChoice  Sort = condition.Condition.OfChoice
)

// ofPlace lists the combinations of neither sort: where their instances stand follows from the plans.
func ofPlace(combinations [][]condition.Condition) [][]condition.Condition {
	return slices.DeleteFunc(slices.Clone(combinations), func(c []condition.Condition) bool {
		return OfRequest(c[0]) || OfChoice(c[0])
	})
}

// AskedID is the id of a task's instance under a condition that stands alone, as it was asked for.
func AskedID(task *universe.Task, asked condition.Condition) string {
	return task.ID + "/" + asked.String()
}
