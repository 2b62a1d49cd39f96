package recovery

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

var freshSpecificationTactic = &tactic{
	TacticInfo: TacticInfo{"fresh-specification",
		"a tool refuses its arguments: asks for its current specification, and follows what has changed"},
	heal: func(s *sign) (remedy, bool) {
		switch s.err.Code {
		case task.CodeUnknownArgument, task.CodeMissingArgument, task.CodeWrongType, task.CodeBadArguments:
		default:
			return remedy{}, false
		}
		tool, argument := s.p.informant()
		about := s.p.state(s.j.tool)
		if tool == "" || about.asked {
			return remedy{}, false
		}
		about.asked = true
		name := s.j.tool
		return remedy{ask: &question{
			tool: tool, arguments: map[string]any{argument: name}, again: true,
			heard: func(o *task.Observation) (remedy, bool) {
				fresh, ok := parametersIn(o.Content)
				if t := s.p.tool(name); ok && t != nil && t.Parameters != nil {
					return remedy{}, s.p.follow(name, t.Parameters, fresh)
				}
				return remedy{}, false
			},
		}}, true
	},
}

// parametersIn reads the arguments that a specification lists.
func parametersIn(content []byte) (*task.Schema, bool) {
	v, ok := literal.Read(content)
	whole, isObject := v.(literal.Object)
	if !ok || !isObject {
		return nil, false
	}
	for _, name := range []string{"parameters", "arguments", "input_schema", "inputSchema"} {
		if listed, isSchema := valueOf(whole, name).(literal.Object); isSchema {
			text, err := literal.Append(nil, plainJSON(listed))
			if err != nil {
				return nil, false
			}
			schema := &task.Schema{}
			if schema.UnmarshalJSON(text) != nil {
				return nil, false
			}
			// The order of arguments is part of a specification, and maps have no order.
			if properties, ok := valueOf(listed, "properties").(literal.Object); ok {
				slices.SortStableFunc(schema.Properties, func(a, b task.Property) int {
					return positionOf(properties, a.Name) - positionOf(properties, b.Name)
				})
			}
			return schema, true
		}
	}
	return nil, false
}

func positionOf(o literal.Object, name string) int {
	return slices.IndexFunc(o, func(m literal.Member) bool { return m.Name == name })
}

// follow learns how the arguments of a tool differ from those in the view, and reports whether they do.
func (p *Policy) follow(tool string, before, now *task.Schema) bool {
	learnt := false
	var gone, fresh []string
	for i := range before.Properties {
		name := before.Properties[i].Name
		if now.Property(name) == nil {
			gone = append(gone, name)
		}
	}
	for i := range now.Properties {
		name := now.Properties[i].Name
		if before.Property(name) == nil {
			fresh = append(fresh, name)
		}
	}
	for _, old := range gone {
		at := slices.IndexFunc(fresh, func(name string) bool { return strings.Contains(name, old) })
		if at < 0 && len(gone) == 1 {
			at = slices.IndexFunc(fresh, func(name string) bool { return len(now.Property(name).Enum) == 0 })
		}
		if at < 0 {
			continue
		}
		learnt = p.learn(tool, fix{argument: old, name: fresh[at]}) || learnt
		learnt = p.followType(tool, old, before.Property(old), now.Property(fresh[at])) || learnt
		fresh = slices.Delete(fresh, at, at+1)
	}
	for _, name := range fresh {
		schema := now.Property(name)
		if value, ok := amongValues(schema.Enum, schema.Description); ok && slices.Contains(now.Required, name) {
			learnt = p.learn(tool, fix{argument: name, add: value}) || learnt
		}
	}
	for i := range before.Properties {
		name := before.Properties[i].Name
		if schema := now.Property(name); schema != nil {
			learnt = p.followType(tool, name, before.Properties[i].Schema, schema) || learnt
		}
	}
	return learnt
}

// followType learns that an argument takes another type.
func (p *Policy) followType(tool, argument string, before, now *task.Schema) bool {
	if slices.Equal(before.Types, now.Types) {
		return false
	}
	wanted := strings.Join(now.Types, " ")
	if now.Pattern != "" && strings.Contains(now.Pattern, "01-01") || contains(now.Description, "iso date") {
		wanted = "date"
	}
	convert := converter(wanted)
	return convert != nil && p.learn(tool, fix{argument: argument, convert: convert})
}
