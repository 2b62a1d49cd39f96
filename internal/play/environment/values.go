package environment

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/task"
)

// Earlier is a call that was made before another, and what it gave.
type Earlier struct {
	Tool   string
	Result *task.Result
}

// Values gives what a call binds to the placeholders of its tool's statement after the given earlier calls, by label:
// the same that an environment binds, for searches that make more calls than episodes can hold. The tool's body has to
// be a statement. A mistake is the agent's; the error says that the toolkit lacks a tool.
func (k *Toolkit) Values(c *task.Call, earlier map[string]Earlier) ([]task.Value, *task.ToolError, error) {
	t := k.find(c.Tool)
	if t == nil || t.specification.Body == nil || t.specification.Body.Engine != task.EngineSQLite {
		return nil, nil, fmt.Errorf("%q is no tool that runs a statement of its own", c.Tool)
	}
	s := scope{number: 1}
	if len(earlier) > 0 {
		s.outcomes = make(map[string]*outcome, len(earlier))
		for label, e := range earlier {
			from := k.find(e.Tool)
			if from == nil {
				return nil, nil, fmt.Errorf("there is no tool %q", e.Tool)
			}
			o := &outcome{tool: e.Tool, names: from.names, columns: from.specification.Body.Columns}
			o.results = []*task.Result{e.Result}
			s.outcomes[label] = o
		}
	}
	b, mistake := t.bind(c.Arguments, s)
	return b.values, mistake, nil
}
