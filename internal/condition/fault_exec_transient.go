package condition

import "github.com/seatrial/seatrial/internal/task"

// Codes of failures that are no mistakes of the agent.
const (
	CodeTimeout     = task.CodeTimeout
	CodeConnection  = "connection_error"
	CodeServer      = "server_error"
	CodeIO          = "io_error"
	CodeUnavailable = "unavailable"
	CodeRejected    = "rejected"
	CodeSession     = "session_expired"
	CodeRateLimit   = "rate_limited"
)

// transient is a failure that passes: exec.timeout, exec.connection, exec.server-error, exec.io and call.rejected. The
// first calls to the tool fail, whatever their arguments; a retry is a later call. Where several of these kinds hit one
// tool, their failures come one after the other.
type transient struct {
	target
	Times int `json:"times"` // how many calls fail

	wording transientWording
	after   int // attempts that fail for other reasons first
}

// transientWording is what tells the kinds apart.
type transientWording struct{ code, message, note string }

var transientWordings = map[string]transientWording{
	"exec.timeout": {
		CodeTimeout, "The call timed out before the tool answered. It may succeed when it is tried again.",
		"The answer took 29.2 s; the limit is 30 s.",
	},
	"exec.connection": {
		CodeConnection, "The connection was closed before the tool answered. It may succeed when it is tried again.",
		"The connection was lost once and restored; the answer is complete.",
	},
	"exec.server-error": {
		CodeServer, "500 Internal Server Error: the server failed while it handled the call. It may succeed when it is tried again.",
		"A gateway answered 502 once; the request was passed on again and is answered here.",
	},
	"exec.io": {
		CodeIO, "The tool could not read its data: input/output error. It may succeed when it is tried again.",
		"One read error was corrected by a second read; the answer is complete.",
	},
	"call.rejected": {
		CodeRejected, "Validation refused the call: the cached schema of the tool is stale and is being refreshed. " +
			"The same call will be accepted once that is done.",
		"The cached schema was stale and has been refreshed; the call was accepted.",
	},
}

func (f *transient) place(p *placement) *Refusal {
	s, refused := p.choose(func(*site) string { return "" })
	if refused != nil {
		return refused
	}
	f.Tool, f.Times = s.tool.Name, 1
	return nil
}

func (f *transient) again() { f.Times++ }

func (f *transient) make(_ FaultInput, m *made) error {
	f.wording = transientWordings[f.name]
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, note: f.wording.note})
		return nil
	}
	f.after = m.spend(f.Tool, f.Times)
	m.step(f)
	return nil
}

// Refuse is that of [Refuser].
func (f *transient) Refuse(c *Call) (*task.ToolError, *Decision) {
	if !f.hits(c) {
		return nil, nil
	}
	failure := c.Attempt - f.after
	if failure < 1 || failure > f.Times {
		return nil, &Decision{}
	}
	return &task.ToolError{Code: f.wording.code, Message: f.wording.message},
		applied(Field{"failure", number(failure)}, Field{"of", number(f.Times)})
}
