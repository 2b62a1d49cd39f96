// Package action writes the actions that every kind of agent shares: the call of a plan, the answer that refers to a
// result, and the end of a conversation. It must never know who acts.
package action

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// AnswerReference returns the answer that refers to the result of the call with that label.
func AnswerReference(label string) task.Action {
	return task.Action{
		Kind:   task.ActionAnswer,
		Answer: literal.Quote(task.Reference{Label: label}.String()),
	}
}

// Call makes the action of a plan's call.
func Call(c *task.Call) (task.Action, error) {
	arguments := c.Arguments
	if arguments == nil {
		arguments = map[string]any{}
	}
	text, err := literal.Append(nil, arguments)
	if err != nil {
		return task.Action{}, fmt.Errorf("call %s of %s: %w", c.Label, c.Tool, err)
	}
	return task.Action{Kind: task.ActionCall, Label: c.Label, Tool: c.Tool, Arguments: text}, nil
}

// Stop returns the turn that ends an episode without an act. It says why.
func Stop(why string) task.Turn {
	return task.Turn{Stop: true, Thought: why}
}

// Advice marks advice as no part of the request and of no tool's result.
const Advice = `Advice about problems with the tools, from the person who set this task: `
