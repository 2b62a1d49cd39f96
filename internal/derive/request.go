package derive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/universe"
)

// RequestConditions lists the conditions of the request among combinations, in their order: each is a combination by
// itself.
func RequestConditions(combinations [][]condition.Condition) []condition.Condition {
	var list []condition.Condition
	for _, combination := range combinations {
		if combination[0].OfRequest() {
			list = append(list, combination[0])
		}
	}
	return list
}

// toolkitCombinations lists the other combinations.
func toolkitCombinations(combinations [][]condition.Condition) [][]condition.Condition {
	return slices.DeleteFunc(slices.Clone(combinations), func(c []condition.Condition) bool { return c[0].OfRequest() })
}

// OfRequest says whether an instance is under a condition of the request.
func OfRequest(in *suite.Instance) bool {
	return len(in.Conditions) > 0 && in.Conditions[0].OfRequest()
}

// ofRequest says the same of the id of an instance that was refused.
func ofRequest(id string) bool {
	name, _, _ := strings.Cut(id[strings.LastIndexByte(id, '/')+1:], ":")
	return condition.Condition{Name: name}.OfRequest()
}

// RequestID is the id of a task's instance under a condition of the request, as it was asked for.
func RequestID(task *universe.Task, asked condition.Condition) string {
	return task.ID + "/" + asked.String()
}

// RequestInstance puts a task under a condition of the request, with the wording that somebody made who knows its SQL.
// What is rephrased keeps the role of the clean instance; a request without one of its values is hopeless, and a fault that
// can be survived where somebody can be asked.
func RequestInstance(
	base *suite.Instance, task *universe.Task, asked condition.Condition, made *condition.Request,
) (*suite.Instance, error) {
	in := *base
	c, err := asked.WithRequest(made)
	if err != nil {
		return nil, fmt.Errorf("derive: task %s: %w", task.ID, err)
	}
	in.ID, in.Conditions = RequestID(task, asked), []condition.Condition{c}
	in.Role = c.Role()
	return &in, nil
}
