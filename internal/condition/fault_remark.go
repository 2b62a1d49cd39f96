package condition

import "github.com/seatrial/seatrial/internal/task"

// remark is a look-alike that says something with a result and changes nothing of it: in a note, or in fields beside
// the rows or the data handle.
type remark struct {
	*target
	note   string
	fields []Field
}

var (
	_ BesideStep   = (*remark)(nil)
	_ DeliveryStep = (*remark)(nil)
)

func (r *remark) Beside(c *Call, _ map[string]any) ([]Field, *Decision) {
	if !r.hits(c) || r.fields == nil {
		return nil, nil
	}
	return r.fields, r.decision(detail(r.fields...))
}

func (r *remark) ChangeDelivery(c *Call, d Delivery) (Delivery, *Decision) {
	if !r.hits(c) || r.note == "" || d.Error != nil {
		return d, nil
	}
	d.Note = joinNotes(d.Note, r.note)
	return d, r.decision(jsonText(r.note))
}

func (r *remark) decision(said []byte) *Decision {
	return applied(Field{"variant", jsonText(VariantLookalike)}, Field{"said", said})
}

// joinNotes puts one note behind another.
func joinNotes(first, second string) string {
	if first == "" {
		return second
	}
	return first + " " + second
}

// companionArguments checks the arguments of a companion that takes these texts and no others.
func companionArguments(c *Call, names ...string) ([]string, *task.ToolError) {
	values := make([]string, len(names))
	found := 0
	for i, name := range names {
		v, ok := c.Arguments[name]
		if !ok {
			return nil, &task.ToolError{
				Code: task.CodeMissingArgument, Message: "Missing argument `" + name + "`. This tool accepts " + quoted(names) +
					".",
			}
		}
		text, isText := v.(string)
		if !isText {
			return nil, &task.ToolError{
				Code:    task.CodeWrongType,
				Message: "Expected string but got " + task.JSONType(v) + " for `" + name + "`.",
			}
		}
		values[i] = text
		found++
	}
	if found < len(c.Arguments) {
		accepts := "This tool takes no arguments."
		if len(names) > 0 {
			accepts = "This tool accepts " + quoted(names) + "."
		}
		return nil, &task.ToolError{Code: task.CodeUnknownArgument, Message: "There are unknown arguments. " + accepts}
	}
	return values, nil
}

// companionTool makes the specification of a companion that takes texts, each with its description.
func companionTool(in FaultInput, name, description string, arguments ...[2]string) *task.Tool {
	t := &task.Tool{
		Name: name, Description: description, Style: in.Task.Style, Database: in.Task.Database,
		Parameters: &task.Schema{Types: []string{"object"}, Closed: true},
		Body:       &task.Body{Engine: task.EngineCompanion},
	}
	if in.Task.Style == task.StyleRest {
		t.Path = "/v1/" + in.Task.Database + "/" + name
	}
	for _, a := range arguments {
		t.Parameters.Properties = append(t.Parameters.Properties, task.Property{
			Name: a[0], Schema: &task.Schema{Types: []string{"string"}, Description: a[1]},
		})
		t.Parameters.Required = append(t.Parameters.Required, a[0])
	}
	return t
}

// replica makes a tool that does what another one does, under another name.
func replica(t *task.Tool, name, description string) *task.Tool {
	r := *t
	r.Name, r.Description = name, description
	if r.Path != "" {
		r.Path += "/" + name
	}
	return &r
}
