package cli_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/model/modeltest"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/universe"
)

// rule judges a request by the tools that it is shown with, under every judging protocol, and assesses explanations.
func rule(s *suite.Suite, c modeltest.Chat) modeltest.Response {
	asked := c.Messages[len(c.Messages)-1].Content
	if _, explanation, judging := strings.Cut(asked, "The explanation:\n"); judging {
		if strings.Contains(explanation, "tool") {
			return modeltest.Say("Correct")
		}
		return modeltest.Say("Wrong")
	}
	var task *universe.Task
	for _, t := range s.Tasks {
		if strings.Contains(asked, t.Question()) && (task == nil || len(t.Question()) > len(task.Question())) {
			task = t
		}
	}
	if task == nil {
		return modeltest.Fail(400, "invalid_request_error", "that is no question of the suite")
	}
	var call *universe.Call
	for i := range task.Plans {
		if shown(c.System+asked, &task.Plans[i]) && call == nil {
			call = &task.Plans[i].Calls[0]
		}
	}
	verdict := "Yes"
	if call == nil {
		verdict = "No"
	}
	switch {
	case strings.Contains(c.System, "Decision:") && call == nil:
		return modeltest.Say("Decision: No\nExplanation: There is no tool for this: " + lacking(s, task))
	case strings.Contains(c.System, "Decision:"):
		return modeltest.Say("Decision: Yes\nExplanation: All is there.")
	case strings.Contains(c.System, "Thought:"):
		return modeltest.Say("Thought: I looked at the tools.\nAnswer: " + verdict)
	case strings.Contains(c.System, `Say "Yes"`):
		return modeltest.Say(verdict)
	case call != nil:
		return modeltest.Say(fmt.Sprintf(`[{"name": %q, "arguments": {}}]`, call.Tool))
	default:
		return modeltest.Say("I am sorry. Nothing that I have would tell me that.")
	}
}

// shown says whether all tools of a plan stand in a text, as specifications.
func shown(text string, plan *universe.Plan) bool {
	for i := range plan.Calls {
		if !strings.Contains(text, fmt.Sprintf(`"name":%q`, plan.Calls[i].Tool)) {
			return false
		}
	}
	return true
}

// lacking describes the first tool of a task's first plan.
func lacking(s *suite.Suite, task *universe.Task) string {
	tools := s.Toolkit(&suite.Instance{}, task)
	at := slices.IndexFunc(tools, func(t *universe.Tool) bool { return t.Name == task.Plans[0].Calls[0].Tool })
	return tools[at].Description
}
