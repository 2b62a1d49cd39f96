package instances

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// RequestInstance puts a task under a condition of the request, with the wording that somebody made who knows its SQL.
// What is rephrased keeps the role of the clean instance; a request without one of its values is hopeless, and a fault
// that can be survived where somebody can be asked.
func RequestInstance(
	base *suite.Instance, task *task.Task, asked condition.Condition, made *condition.Request,
) (*suite.Instance, error) {
	in := *base
	c, err := asked.WithRequest(made)
	if err != nil {
		return nil, fmt.Errorf("derive: task %s: %w", task.ID, err)
	}
	in.ID, in.Conditions = AskedID(task, asked), []condition.Condition{c}
	in.Role = c.Role()
	return &in, nil
}
