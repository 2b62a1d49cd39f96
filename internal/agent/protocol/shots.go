package protocol

import (
	"fmt"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/task"
)

// Example is a correctly judged request: what the model is shown of it, and the reason of the judgement. Its maker
// knows the task; the model under test never gets that task.
type Example struct {
	View     *task.View
	Feasible bool
	Plan     *task.Plan   // of a feasible one, under the names that the view shows
	Tools    []*task.Tool // that an infeasible one lacks
	Details  []string     // that its request leaves out, as they can be asked for
}

// goal returns the request in its own words.
func (e *Example) goal() string {
	for i := len(e.View.Messages) - 1; i >= 0; i-- {
		if m := e.View.Messages[i]; m.Role == "user" {
			return strings.Join(strings.Fields(m.Content), " ")
		}
	}
	return ""
}

// calls describes the calls that meet a feasible request, a phrase each.
func (e *Example) calls() []string {
	if e.Plan == nil {
		return nil
	}
	var list []string
	for i := range e.Plan.Calls {
		c := &e.Plan.Calls[i]
		text := c.Tool
		if act, err := action.Call(c); err == nil && string(act.Arguments) != "{}" {
			text += " with " + string(act.Arguments)
		}
		list = append(list, text)
	}
	return list
}

// lacks says what an infeasible request is missing.
func (e *Example) lacks() string {
	var parts []string
	for _, t := range e.Tools {
		parts = append(parts, "no tool that would "+lowered(firstSentence(t.Description)))
	}
	for _, d := range e.Details {
		parts = append(parts, "no value for the "+d)
	}
	if len(parts) == 0 {
		return "no way to what is asked for"
	}
	return strings.Join(parts, ", and ")
}

// thought is the brief reasoning of an example, to follow a colon.
func (e *Example) thought() string {
	if !e.Feasible {
		return " What is asked for takes something that is not there: the request leaves me with " + e.lacks() + "."
	}
	return " The listed tools provide what is asked for, and all their arguments are given: I can call " +
		strings.Join(e.calls(), ", then ") + "."
}

// steps is the reasoning of an example in the five steps of Structured Verification, to follow a colon.
func (e *Example) steps() string {
	needs, tools, details, verdict := "", "", "", "Yes, nothing is left open."
	switch {
	case e.Feasible:
		needs = "what one of the tools provides."
		if n := len(e.calls()); n > 1 {
			needs = fmt.Sprintf("what comes of %d calls together.", n)
		}
		tools = "I would call " + strings.Join(e.calls(), ", then ") + "."
		details = "every argument stands in the conversation or comes from an earlier result."
	case len(e.Details) > 0 && len(e.Tools) == 0:
		needs = "rows that depend on the " + strings.Join(e.Details, " and the ") + "."
		tools = "there are tools for that."
		details = "the conversation gives " + e.lacks() + ", and no tool can find it out."
		verdict = "No, a detail is missing."
	default:
		needs = "an operation on the data that leads to what is asked for."
		tools = "there is " + e.lacks() + "."
		details = "that cannot be made up for by any detail."
		verdict = "No, a tool is missing."
	}
	return strings.Join([]string{
		"", "1. Goal: " + e.goal(), "2. Needs: " + needs, "3. Tools: " + tools, "4. Details: " + details, "5. Verdict: " +
			verdict,
	}, "\n")
}

// firstSentence cuts a description after its first sentence, without the stop.
func firstSentence(text string) string {
	text = strings.TrimSpace(text)
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSuffix(text, ".")
}

// lowered writes the first letter small.
func lowered(text string) string {
	if text == "" {
		return text
	}
	return strings.ToLower(text[:1]) + text[1:]
}
