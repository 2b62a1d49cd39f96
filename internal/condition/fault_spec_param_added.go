package condition

import (
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// paramAdded is spec.param-added: the tool wants one more argument, with a closed set of values, one of which means
// that it answers as before. Nothing is kept under the others.
type paramAdded struct {
	target
	Argument string   `json:"argument"`
	Values   []string `json:"values"`
	AsBefore string   `json:"as_before"`
}

// additions are arguments that may be added: a name, and values of which the first answers as before.
var additions = [][]string{
	{"scope", "all", "current", "archived"},
	{"edition", "standard", "draft", "legacy"},
	{"view", "full", "masked", "none"},
}

func (f *paramAdded) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		if s.tool.Parameters == nil {
			return reasonNoArgument
		}
		return ""
	})
	if refused != nil {
		return refused
	}
	r := p.draw("addition")
	chosen := additions[r.IntN(len(additions))]
	f.Tool, f.Argument = s.tool.Name, freeName(s.tool, chosen[0], "requested_"+chosen[0])
	f.Values, f.AsBefore = slices.Clone(chosen[1:]), chosen[1]
	r.Shuffle(len(f.Values), func(i, j int) { f.Values[i], f.Values[j] = f.Values[j], f.Values[i] })
	return nil
}

func (f *paramAdded) make(_ FaultInput, m *made) error {
	m.asked = true
	switch f.Variant {
	case VariantLookalike:
		m.step(&remark{target: &f.target, note: "In the next version this tool will take one more argument, `" + f.Argument +
			"`. Until then it answers without it."})
	case VariantFault:
		m.step(f)
	}
	return nil
}

func (f *paramAdded) describe() string {
	return "`" + f.Argument + "` is one of " + string(jsonList(f.Values)) + "; \"" + f.AsBefore +
		"\" answers as the tool did before."
}

// ChangeArguments is that of [ArgumentStep].
func (f *paramAdded) ChangeArguments(
	c *Call, arguments map[string]any,
) (map[string]any, *task.ToolError, *Decision) {
	if !f.hits(c) {
		return arguments, nil, nil
	}
	refuse := func(code, message string) (map[string]any, *task.ToolError, *Decision) {
		return nil, &task.ToolError{Code: code, Message: message + " " + f.describe()},
			applied(Field{"refused", jsonText(code)})
	}
	given, ok := arguments[f.Argument]
	text, isText := given.(string)
	switch {
	case !ok:
		return refuse(task.CodeMissingArgument, "Missing argument `"+f.Argument+"`.")
	case !isText || !slices.Contains(f.Values, text):
		return refuse(task.CodeWrongType, "Wrong value for `"+f.Argument+"`.")
	case text != f.AsBefore:
		return refuse(task.CodeBadArguments, "Nothing is kept under \""+text+"\".")
	}
	changed := maps.Clone(arguments)
	delete(changed, f.Argument)
	return changed, nil, &Decision{}
}

// Specify is that of [SpecificationStep].
func (f *paramAdded) Specify(t *task.Tool) *task.Tool {
	if t.Name != f.Tool {
		return t
	}
	return respecify(t, func(s *task.Schema) {
		values := make([]any, len(f.Values))
		for i, v := range f.Values {
			values[i] = v
		}
		s.Properties = append(s.Properties, task.Property{Name: f.Argument, Schema: &task.Schema{
			Types: []string{"string"}, Enum: values, Description: f.describe(),
		}})
		s.Required = append(s.Required, f.Argument)
	})
}

// Documented is that of [SpecificationStep].
func (*paramAdded) Documented() bool { return false }
