package condition

import (
	"maps"

	"github.com/seatrial/seatrial/internal/task"
)

// paramRenamed is spec.param-renamed: an argument has a new name, and the old one is refused.
type paramRenamed struct {
	target
	Argument string `json:"argument"`
	NewName  string `json:"new_name"`
}

func (f *paramRenamed) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		if names := p.given(s); len(names) == 0 {
			return reasonNoArgument
		}
		return ""
	})
	if refused != nil {
		return refused
	}
	names := p.given(s)
	f.Tool, f.Argument = s.tool.Name, names[p.draw("argument").IntN(len(names))]
	f.NewName = freeName(s.tool, f.Argument+p.pick("name", "_value", "_input", "_given", "_choice"), f.Argument+"_v2")
	return nil
}

// given lists the arguments that a call of the plan gives and the tool's specification names.
func (p *placement) given(s *site) []string {
	var names []string
	for _, name := range sortedNames(s.call.Arguments) {
		if s.tool.Parameters != nil && s.tool.Parameters.Property(name) != nil {
			names = append(names, name)
		}
	}
	return names
}

func (f *paramRenamed) make(_ FaultInput, m *made) error {
	m.asked = true
	switch f.Variant {
	case VariantLookalike:
		m.step(&remark{target: &f.target, note: "In the next version the argument `" + f.Argument + "` will be called `" +
			f.NewName +
			"`. Until then it bears its old name."})
	case VariantFault:
		m.step(f)
	}
	return nil
}

// ChangeArguments is that of [ArgumentStep].
func (f *paramRenamed) ChangeArguments(
	c *Call, arguments map[string]any,
) (map[string]any, *task.ToolError, *Decision) {
	if !f.hits(c) {
		return arguments, nil, nil
	}
	if _, old := arguments[f.Argument]; old {
		return nil, &task.ToolError{
			Code:    task.CodeUnknownArgument,
			Message: "Unknown argument `" + f.Argument + "`. This tool accepts " + quoted(accepted(f.Specify(c.Tool))) + ".",
		}, applied(Field{"refused", jsonText(f.Argument)})
	}
	value, ok := arguments[f.NewName]
	if !ok {
		return arguments, nil, &Decision{}
	}
	changed := maps.Clone(arguments)
	delete(changed, f.NewName)
	changed[f.Argument] = value
	return changed, nil, &Decision{}
}

// Specify is that of [SpecificationStep].
func (f *paramRenamed) Specify(t *task.Tool) *task.Tool {
	if t.Name != f.Tool {
		return t
	}
	return respecify(t, func(s *task.Schema) {
		for i := range s.Properties {
			if s.Properties[i].Name == f.Argument {
				s.Properties[i].Name = f.NewName
			}
		}
		for i := range s.Required {
			if s.Required[i] == f.Argument {
				s.Required[i] = f.NewName
			}
		}
	})
}

// Documented is that of [SpecificationStep].
func (*paramRenamed) Documented() bool { return false }
