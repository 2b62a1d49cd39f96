package condition

import (
	"github.com/seatrial/seatrial/internal/task"
)

// toolInfo is the companion of specifications that drift: Hell or High Water, appendix A, gives agents a function of
// this name that returns the documentation of a tool.
const toolInfo = "get_info"

// info answers calls to get_info with what is said of a tool now.
type info struct {
	tools    []*task.Tool
	specific []SpecificationStep
}

// addInfo adds get_info, once, over the tools shown and those that conditions add.
func (m *made) addInfo(in FaultInput) {
	step := &info{}
	for _, s := range m.steps {
		if specific, ok := s.(SpecificationStep); ok {
			step.specific = append(step.specific, specific)
		}
	}
	m.companion(companionTool(in, toolInfo,
		"Gives the specification of a tool as it stands now: its description and its arguments.",
		[2]string{"tool", "The name of the tool."}))
	step.tools = append(append(step.tools, in.Tools...), m.tools...)
	m.step(step)
}

// Name is that of the tool: info belongs to no single condition.
func (*info) Name() string { return toolInfo }

// Serves is that of [Companion].
func (*info) Serves(tool string) bool { return tool == toolInfo }

// Answer is that of [Companion].
func (s *info) Answer(c *Call, _ func(string) (string, Payload, bool)) (Payload, *task.ToolError, *Decision) {
	names, mistake := companionArguments(c, "tool")
	if mistake != nil {
		return Payload{}, mistake, nil
	}
	in := FaultInput{Tools: s.tools}
	t := in.tool(names[0])
	if t == nil {
		return Payload{}, &task.ToolError{
			Code: task.CodeUnknownTool, Message: "There is no tool called `" + names[0] + "`.",
		}, nil
	}
	for _, step := range s.specific {
		t = step.Specify(t)
	}
	content, err := task.Marshal(struct {
		Name        string       `json:"name"`
		Description string       `json:"description"`
		Parameters  *task.Schema `json:"parameters"`
		Returns     *task.Schema `json:"returns,omitempty"`
	}{t.Name, t.Description, t.Parameters, t.Returns})
	if err != nil {
		return Payload{}, &task.ToolError{Code: CodeServer, Message: "The specification cannot be written."}, nil
	}
	return Payload{Content: content}, nil, nil
}

// respecify copies a tool with other properties and required arguments.
func respecify(t *task.Tool, change func(p *task.Schema)) *task.Tool {
	changed, parameters := *t, *t.Parameters
	parameters.Properties = append([]task.Property(nil), parameters.Properties...)
	parameters.Required = append([]string(nil), parameters.Required...)
	change(&parameters)
	changed.Parameters = &parameters
	return &changed
}

// accepted lists the arguments of a tool as they are named now.
func accepted(t *task.Tool) []string {
	names := make([]string, 0, len(t.Parameters.Properties)+1)
	for _, p := range t.Parameters.Properties {
		names = append(names, p.Name)
	}
	return names
}

// freeName gives a name that no argument of the tool bears.
func freeName(t *task.Tool, names ...string) string {
	for _, name := range names {
		if t.Parameters.Property(name) == nil {
			return name
		}
	}
	last := names[len(names)-1]
	for t.Parameters.Property(last) != nil {
		last += "_2"
	}
	return last
}
