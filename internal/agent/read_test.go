package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// toolkitOf reads lines of the form `name(parameter: type, …)`. A tool with a parameter of the type label works on data
// handles.
func toolkitOf(t testing.TB, lines string) []*task.Tool {
	t.Helper()
	var tools []*task.Tool
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		name, rest, ok := strings.Cut(strings.TrimSuffix(line, ")"), "(")
		if !ok {
			t.Fatalf("not a tool: %q", line)
		}
		s, engine := &task.Schema{Types: []string{"object"}, Closed: true}, task.EngineSQLite
		for _, parameter := range strings.Split(rest, ",") {
			parameter, kind, ok := strings.Cut(strings.TrimSpace(parameter), ": ")
			if !ok {
				continue
			}
			p := &task.Schema{Types: []string{kind}}
			switch kind {
			case "any":
				p.Types = nil
			case "label":
				p.Types, engine = []string{"string"}, task.EngineRelation
			case "key":
				p.Types, p.Enum = []string{"string"}, []any{"key_1", "key_2"}
			}
			s.Properties = append(s.Properties, task.Property{Name: parameter, Schema: p})
			s.Required = append(s.Required, parameter)
		}
		tools = append(tools, &task.Tool{
			Name: name, Description: "Does " + name + ".", Parameters: s, Style: task.StyleFunc,
			Returns: &task.Schema{Types: []string{"array"}, Description: "hidden returns"},
			Body:    &task.Body{Engine: engine, Statement: "SELECT 'hidden body'"},
		})
	}
	return tools
}

// inLine makes a text one line of a golden.
func inLine(text string) string { return fmt.Sprintf("%q", text) }

func showCall(c *Call) string {
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
		fmt.Fprintf(&b, "%s: %s\n", r.Calls[i].Stage, showCall(&r.Calls[i]))
	}
	if r.Thought != "" {
		fmt.Fprintf(&b, "thought: %s\n", inLine(r.Thought))
	}
	if r.Prose != r.Thought {
		fmt.Fprintf(&b, "prose: %s\n", inLine(r.Prose))
	}
	for _, u := range r.Unparsed {
		fmt.Fprintf(&b, "unparsed %s: %s\n", u.Reason, inLine(u.Text))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// TestReadGoldens reads replies as models write them. Commands: `tools` sets the toolkit of the file, `read` reads
// its input as the text of a reply (labels=(…) names earlier results), `native` reads `id name arguments` lines as
// native calls, with the text of the reply behind an empty line.
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
				tools = toolkitOf(t, d.Input)
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

// TestStagesAllRead sees to it that the goldens exercise every stage: a stage that none of them reaches is not
// tested.
func TestStagesAllRead(t *testing.T) {
	seen := map[string]bool{}
	datadriven.Walk(t, "testdata/read", func(t *testing.T, path string) {
		var tools []*task.Tool
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "tools" {
				tools = toolkitOf(t, d.Input)
				return d.Expected
			}
			if d.Cmd == "read" {
				r := NewReader(tools).Read(&model.Message{Content: d.Input}, nil)
				for i := range r.Calls {
					seen[r.Calls[i].Stage] = true
				}
				seen["reasoning"] = seen["reasoning"] || r.Prose != r.Thought
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

// checkReading demands what must hold of every reading: reasons are of the closed list, arguments are JSON, and no
// word of the reply has vanished.
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
		fmt.Fprintf(&kept, "\n%s\n%s\n%s\n%s", c.Label, c.Tool, c.Arguments, flatten(decoded))
	}
	for _, u := range r.Unparsed {
		if !slices.Contains(Reasons(), u.Reason) {
			t.Errorf("%q is not in the closed list of reasons", u.Reason)
		}
		kept.WriteString("\n" + u.Text)
	}
	for _, word := range lostWords(m.Content, kept.String()) {
		t.Errorf("the word %q has vanished from the reply %q\nread as:\n%s", word, m.Content, showReading(r))
	}
}

// flatten writes all texts in a decoded value.
func flatten(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		var b strings.Builder
		for _, e := range v {
			b.WriteString(flatten(e) + "\n")
		}
		return b.String()
	case map[string]any:
		var b strings.Builder
		for k, e := range v {
			b.WriteString(k + "\n" + flatten(e) + "\n")
		}
		return b.String()
	default:
		return fmt.Sprint(v)
	}
}

// grammar are the words by which replies say that they hold a call; they may vanish when the call is read.
var grammar = func() map[string]bool {
	words := map[string]bool{}
	for _, list := range [][]string{nameFields, argumentFields, labelFields, listFields, {
		"true", "false", "null", "none", "undefined", "print", "type", "parameter", "python", "json", "jsonl", "json5",
		"py", "xml", "tool_calls", "tool_call", "function_call", "call", "calls", "tool_use", "tool_code", "invoke", "think",
		"thinking", "thought", "reasoning", "scratchpad", "eom_id", "eot_id", "im_end", "python_tag", "list", "dict", "any",
		"functions", "function_calls", "use", "code", "end", "tag", "eot", "eom", "id", "api", "default",
	}} {
		for _, word := range list {
			for _, part := range strings.Split(word, "_") {
				words[part] = true
			}
		}
	}
	return words
}()

// lostWords lists the words of at least three letters of a text that are not in what was kept. Words behind a
// backslash are passed over: what they stand for is kept.
func lostWords(text, kept string) []string {
	kept = strings.ToLower(kept)
	var lost []string
	isWordByte := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
	for i := 0; i < len(text); {
		if !isWordByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isWordByte(text[i]) {
			i++
		}
		word := strings.ToLower(text[start:i])
		escaped := start > 0 && text[start-1] == '\\'
		// A number in base 16, or with an exponent, is written anew.
		digits := start > 0 && text[start-1] >= '0' && text[start-1] <= '9'
		if len(word) >= 3 && !escaped && !digits && !grammar[word] && !strings.Contains(kept, word) {
			lost = append(lost, word)
		}
	}
	return lost
}
