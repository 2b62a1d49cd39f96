package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// The prompts are Seatrial's own. Every protocol says the same: what a result is, how to refer to it, what counts as an
// answer, and that declining is an act of its own.
const (
	promptResults = `Every tool returns a list of records (JSON objects), even when there is only one value to return.`

	promptReferences = "" +
		`Each call has a label. Where a call needs what an earlier call returned, do not copy the values: ` +
		`write "$label$" for its whole result, or "$label.column$" for one column of it, as the value of ` +
		`the argument. A text of your own that starts with a dollar sign is written with two of them ` +
		`("$$5" means $5).`

	// promptTables and promptTableReferences replace promptResults and promptReferences in episodes with starting
	// tables: most calls of the slot and sel styles make a data handle (NL2API §3.1).
	promptTables = `Tools work on tables, whose columns are called keys. A tool that filters, sorts, groups or ` +
		`changes a ` +
		`table makes a new one, whose rows are not returned: it is known by the label of the call. A tool that returns ` +
		`values gives a list of records (JSON objects), even when there is only one value.`

	promptTableReferences = "" +
		`Each call has a label. Where a call needs a table, or values that an earlier call found, write "$label$", or ` +
		`"$label.key$" for one key of it, as the value of the argument. A text of your own that starts with a dollar ` +
		`sign is written with two of them ("$$5" means $5).`

	// promptStatic replaces both if no tool can be run: nothing returns a result to refer to.
	promptStatic = `The tools are only described here, and nothing runs: the first calls that you make are what counts, ` +
		`each by its tool, its arguments and their values. Write every value out, and leave out what the request does ` +
		`not ask for.`

	promptAnswer = `The answer is data: the value, the list of values, or the records that were asked for, and ` +
		`nothing around them. If the answer is exactly what one call returned, you may give the reference ` +
		`"$label$" in its place.`

	promptDecline = `If these tools cannot settle the request, or it leaves out something you would need, say so by ` +
		`declining. Declining ends the task; saying nothing does not count as declining.`

	promptErrors = `A call may come back with an error in place of a result. Decide for yourself what to do then.`
)

// promptOf explains results, references and starting tables.
func promptOf(view *task.View) (results, references string) {
	switch {
	case onlyDescribed(view):
		return promptStatic, ""
	case len(view.Starts) == 0:
		return promptResults, promptReferences
	default:
		return paragraphs(promptTables, startsOf(view)), promptTableReferences
	}
}

// onlyDescribed reports whether none of the tools in view can be run.
func onlyDescribed(view *task.View) bool {
	return len(view.Tools) > 0 && !slices.ContainsFunc(view.Tools, func(t *task.Tool) bool { return t.Body != nil })
}

// startsOf lists the starting tables. The tools' specifications list their keys.
func startsOf(view *task.View) string {
	var b strings.Builder
	b.WriteString("You begin with this table, which is ready under its label:")
	if len(view.Starts) > 1 {
		b.Reset()
		b.WriteString("You begin with these tables, which are ready under their labels:")
	}
	for i := range view.Starts {
		s := &view.Starts[i]
		fmt.Fprintf(&b, "\n- \"%s\" is %s", task.Reference{Label: s.Label}, joined(s.Joins))
	}
	return b.String()
}

// joined says from which tables of the database a starting table is made.
func joined(tables []string) string {
	quoted := make([]string, len(tables))
	for i, t := range tables {
		quoted[i] = string(literal.Quote(t))
	}
	switch last := len(quoted) - 1; {
	case last < 0:
		return "a single row without keys"
	case last == 0:
		return "made of the database's table " + quoted[0]
	default:
		return "made of the database's tables " + strings.Join(quoted[:last], ", ") + " and " + quoted[last] + ", joined"
	}
}

func answerTool(name string) *task.Tool {
	return &task.Tool{
		Name:        name,
		Description: "Hands in the final answer and ends the task.",
		Parameters: &task.Schema{
			Types: []string{"object"},
			Properties: []task.Property{{Name: "answer", Schema: &task.Schema{
				Description: `The value, list of values or records that answer the request, or a reference "$label$" to the ` +
					`result of one call.`,
			}}},
			Required: []string{"answer"},
			Closed:   true,
		},
	}
}

func declineTool(name string) *task.Tool {
	return &task.Tool{
		Name:        name,
		Description: "States that the request cannot be met with these tools and ends the task.",
		Parameters: &task.Schema{
			Types: []string{"object"},
			Properties: []task.Property{{Name: "reason", Schema: &task.Schema{
				Types: []string{"string"}, Description: "What is missing, or why no tool serves.",
			}}},
			Required: []string{"reason"},
			Closed:   true,
		},
	}
}

// freeName returns name, or name_2, name_3, … if a tool of the toolkit has that name.
func freeName(name string, tools []*task.Tool) string {
	free := name
	for k := 2; ; k++ {
		taken := false
		for _, t := range tools {
			taken = taken || t.Name == free
		}
		if !taken {
			return free
		}
		free = fmt.Sprintf("%s_%d", name, k)
	}
}

// conversationOf writes the request as chat messages. System messages of the request join the system prompt. The
// evidence, and then any advice, follow the last user message.
func conversationOf(view *task.View, system string) (string, []model.Message) {
	var messages []model.Message
	last := -1
	for _, m := range view.Messages {
		if m.Role == "system" {
			system += "\n\n" + m.Content
			continue
		}
		if m.Role == model.RoleUser {
			last = len(messages)
		}
		messages = append(messages, model.Message{Role: m.Role, Content: m.Content})
	}
	if last < 0 {
		last = len(messages)
		messages = append(messages, model.Message{Role: model.RoleUser})
	}
	if view.Evidence != "" {
		messages[last].Content = strings.TrimLeft(messages[last].Content+"\n\nGood to know: "+view.Evidence, "\n")
	}
	if view.Hint != "" {
		messages[last].Content = paragraphs(messages[last].Content, action.Advice+view.Hint)
	}
	return system, messages
}

// repliesLeft says in words how many replies the model has; "" without a limit.
func repliesLeft(view *task.View, loops int) string {
	if turns := view.Budget.Turns; turns > 0 && (loops == 0 || turns < loops) {
		loops = turns
	}
	switch loops {
	case 0:
		return ""
	case 1:
		return "You have one reply."
	default:
		return fmt.Sprintf("You have %d replies in all, the one with your answer included.", loops)
	}
}

// paragraphs joins texts by empty lines, leaving empty ones out.
func paragraphs(texts ...string) string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return strings.Join(kept, "\n\n")
}

// shown is an observation as a model sees it.
type shown struct {
	Label  string          `json:"label,omitempty"`
	Tool   string          `json:"tool,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Note   string          `json:"note,omitempty"`
	Error  *task.ToolError `json:"error,omitempty"`
}

// render writes an observation as one line of JSON: label and tool, and the result or the error's code and message. Its
// advice follows on the next lines.
func render(o *task.Observation) (string, error) {
	text, err := task.Marshal(shown{Label: o.Label, Tool: o.Tool, Result: o.Content, Note: o.Note, Error: o.Error})
	if err != nil {
		return "", fmt.Errorf("observation of %s: %w", o.Label, err)
	}
	if o.Hint != "" {
		return string(text) + "\n" + action.Advice + o.Hint, nil
	}
	return string(text), nil
}
