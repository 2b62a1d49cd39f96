// Package agent holds what acts in an environment: scripted policies that calibrate a suite, and protocols under
// which a chat model acts. An agent is a value with one method,
//
//	Next(ctx, view, seen) (task.Turn, error)
//
// that is called with nothing seen at first and then with the observations of the actions of its last turn, in order.
// One value lives for one episode and is used by one goroutine at a time. An error of Next is the model provider's or
// Seatrial's own failure and makes the episode invalid; a mistake of the agent is never an error, it stands in the
// turn.
//
// The package must never know which conditions or faults it meets, how tools are run, or what is right: policies that
// play a plan are handed the plan, protocols see only what is in the view.
package agent

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// answerReference makes the answer that stands for the result of the call with that label.
func answerReference(label string) task.Action {
	return task.Action{
		Kind:   task.ActionAnswer,
		Answer: quote(task.Reference{Label: label}.String()),
	}
}

// quote writes text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func quote(text string) json.RawMessage {
	return task.AppendValue(nil, text)
}

// appendArgument appends the JSON of an argument of a plan. SQLite values are written as [task.AppendValue]
// writes them, so that 1.0 stays a real and infinities have a form.
func appendArgument(dst []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil, int64, float64, string, task.Blob:
		return task.AppendValue(dst, v), nil
	case bool:
		return fmt.Appendf(dst, "%t", v), nil
	case int:
		return fmt.Appendf(dst, "%d", v), nil
	case []any:
		dst = append(dst, '[')
		for i, element := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = appendArgument(dst, element); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case object:
		dst = append(dst, '{')
		for i := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, quote(v[i].name)...), ':')
			if dst, err = appendArgument(dst, v[i].value); err != nil {
				return nil, fmt.Errorf("%q: %w", v[i].name, err)
			}
		}
		return append(dst, '}'), nil
	case map[string]any:
		dst = append(dst, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, quote(name)...), ':')
			if dst, err = appendArgument(dst, v[name]); err != nil {
				return nil, fmt.Errorf("%q: %w", name, err)
			}
		}
		return append(dst, '}'), nil
	default:
		return nil, fmt.Errorf("%T is not a JSON value", v)
	}
}

// callAction makes the action of a plan's call.
func callAction(c *task.Call) (task.Action, error) {
	arguments := c.Arguments
	if arguments == nil {
		arguments = map[string]any{}
	}
	text, err := appendArgument(nil, arguments)
	if err != nil {
		return task.Action{}, fmt.Errorf("call %s of %s: %w", c.Label, c.Tool, err)
	}
	return task.Action{Kind: task.ActionCall, Label: c.Label, Tool: c.Tool, Arguments: text}, nil
}
