package recovery

import (
	"github.com/seatrial/seatrial/internal/task"
)

// resolve returns the arguments of a call with its references replaced: by a label of this episode, or by the values
// themselves if a result had to be read back.
func (p *Policy) resolve(j *job) map[string]any {
	if len(j.call.Arguments) == 0 {
		return j.call.Arguments
	}
	resolved := make(map[string]any, len(j.call.Arguments))
	t := p.tool(j.call.Tool)
	for name, v := range j.call.Arguments {
		var wants *task.Schema
		if t != nil && t.Parameters != nil {
			wants = t.Parameters.Property(name)
		}
		resolved[name] = p.resolveValue(j, v, wants, j.literal[name])
	}
	return resolved
}

func (p *Policy) resolveValue(j *job, v any, wants *task.Schema, literal bool) any {
	switch v := v.(type) {
	case string:
		ref, refers := task.ParseReference(v)
		if !refers {
			return v
		}
		used := j.run.job(ref.Label)
		if used == nil || used.finding == nil {
			return v
		}
		f := used.finding
		if f.table && len(p.view.Starts) == 0 && (f.rewritten || literal) {
			if written, ok := f.written(ref.Column, wants); ok {
				return written
			}
		}
		return task.Reference{Label: f.label, Column: f.delivered(ref.Column)}.String()
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var element *task.Schema
			if wants != nil {
				element = wants.Items
			}
			list[i] = p.resolveValue(j, v[i], element, literal)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name := range v {
			fields[name] = p.resolveValue(j, v[name], nil, literal)
		}
		return fields
	default:
		return v
	}
}

// writeOut makes sure that an argument that refers to a result is written out from now on. It returns false if the
// argument already is, or refers to nothing.
func (p *Policy) writeOut(j *job, argument string) bool {
	text, _ := j.given[argument].(string)
	if _, refers := task.ParseReference(text); !refers || j.literal[argument] {
		return false
	}
	if j.literal == nil {
		j.literal = map[string]bool{}
	}
	j.literal[argument] = true
	return true
}
