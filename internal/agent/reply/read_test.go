package reply

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/seatrial/seatrial/internal/agent/agenttest"
	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

func ShowCall(c *Call) string {
	var b strings.Builder
	if c.Label != "" {
		b.WriteString(c.Label + " = ")
	}
	fmt.Fprintf(&b, "%s %s", c.Tool, c.Arguments)
	if c.ID != "" {
		b.WriteString(" id=" + c.ID)
	}
	return b.String()
}

func showReading(r *Reading) string {
	var b strings.Builder
	for i := range r.Calls {
		fmt.Fprintf(&b, "%s: %s\n", r.Calls[i].Stage, ShowCall(&r.Calls[i]))
	}
	if r.Thought != "" {
		fmt.Fprintf(&b, "thought: %s\n", agenttest.InLine(r.Thought))
	}
	if r.Prose != r.Thought {
		fmt.Fprintf(&b, "prose: %s\n", agenttest.InLine(r.Prose))
	}
	for _, u := range r.Unparsed {
		fmt.Fprintf(&b, "unparsed %s: %s\n", u.Reason, agenttest.InLine(u.Text))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// TestReadGoldens reads replies as models write them. `tools` sets the toolkit of the file. `read` reads its input as
// the text of a reply; labels=(…) names earlier results. `native` reads `id name arguments` lines as native calls,
// followed by an empty line and the text of the reply.
func TestReadGoldens(t *testing.T) {
	datadriven.Walk(t, "testdata/read", func(t *testing.T, path string) {
		var tools []*task.Tool
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var labels []string
			if arg, ok := d.Arg("labels"); ok {
				labels = arg.Vals
			}
			m := &model.Message{Role: model.RoleAssistant, Content: d.Input}
			switch d.Cmd {
			case "tools":
				tools = agenttest.Toolkit(t, d.Input)
				return fmt.Sprintf("%d tools\n", len(tools))
			case "read":
			case "native":
				calls, text, _ := strings.Cut(d.Input, "\n\n")
				m.Content = text
				for _, line := range strings.Split(calls, "\n") {
					id, rest, _ := strings.Cut(line, " ")
					name, arguments, _ := strings.Cut(rest, " ")
					m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: id, Name: name, Arguments: arguments})
				}
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			r := NewReader(tools).Read(m, labels)
			checkReading(t, m, &r)
			return showReading(&r)
		})
	})
}

// TestStagesAllRead checks that the goldens exercise every stage.
func TestStagesAllRead(t *testing.T) {
	seen := map[string]bool{}
	datadriven.Walk(t, "testdata/read", func(t *testing.T, path string) {
		var tools []*task.Tool
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "tools" {
				tools = agenttest.Toolkit(t, d.Input)
				return d.Expected
			}
			if d.Cmd == "read" {
				r := NewReader(tools).Read(&model.Message{Content: d.Input}, nil)
				for i := range r.Calls {
					seen[r.Calls[i].Stage] = true
				}
				seen["reasoning"] = seen["reasoning"] || r.Prose != r.Thought
				seen["turns"] = seen["turns"] || slices.ContainsFunc(r.Unparsed, func(u task.Unparse) bool {
					return u.Reason == ReasonObservation
				})
			}
			seen["native"] = seen["native"] || d.Cmd == "native"
			return d.Expected
		})
	})
	for _, s := range stages {
		if !seen[s.name] {
			t.Errorf("no golden is read by stage %q", s.name)
		}
	}
}

// checkReading checks what must be true of every reading: reasons are in the closed list, arguments are JSON, and no
// word of the reply is lost.
func checkReading(t testing.TB, m *model.Message, r *Reading) {
	t.Helper()
	var kept strings.Builder
	kept.WriteString(r.Thought)
	for i := range r.Calls {
		c := &r.Calls[i]
		decoded, err := task.DecodeValue(c.Arguments)
		if err != nil {
			t.Errorf("arguments of %s are not JSON: %v: %s", c.Tool, err, c.Arguments)
		}
		if c.Label != "" && !task.IsLabel(c.Label) {
			t.Errorf("%q is not a label", c.Label)
		}
		if c.Tool == "" && len(m.ToolCalls) == 0 {
			t.Errorf("a call that was read in text names no tool")
		}
		fmt.Fprintf(&kept, "\n%s\n%s\n%s\n%s", c.Label, c.Tool, c.Arguments, agenttest.Flatten(decoded))
	}
	for _, u := range r.Unparsed {
		if !slices.Contains(Reasons(), u.Reason) {
			t.Errorf("%q is not in the closed list of reasons", u.Reason)
		}
		kept.WriteString("\n" + u.Text)
	}
	for _, word := range agenttest.LostWords(m.Content, kept.String()) {
		t.Errorf("the word %q has vanished from the reply %q\nread as:\n%s", word, m.Content, showReading(r))
	}
}
