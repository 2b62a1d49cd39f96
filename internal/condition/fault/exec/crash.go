package exec

import (
	"github.com/seatrial/seatrial/internal/condition/fault"
)

// Crash is exec.crash.
var Crash = &fault.Kind{
	Name: "exec.crash", Summary: "calls fail half-way and return the records they had",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "a mark that the records are not complete", By: "making the call again",
		Parameters: "tool; from: the first attempt that crashes; times: how many crash",
		Lookalike:  "a warning of a worker that was restarted over all records",
	},
	Passes: true, Settles: "delivery",
	New: func() fault.Fault { return &crash{} },
	Proxy: &fault.Proxy{
		Says: "The first half of the result comes back, marked incomplete.", Class: fault.ClassResult, Once: true,
		Make: func(fault.Settings) fault.Fault { return &crash{From: 1, Times: 1} },
	},
}

// crash begins with the call of the plan that delivers rows on which something depends.
type crash struct {
	fault.Target
	From  int `json:"from"` // the first attempt that crashes
	Times int `json:"times"`

	after int // attempts that fail for other reasons first
}

func (f *crash) Place(p *fault.Placement) string {
	s, reason := p.Choose(fault.Delivering)
	if reason != "" {
		return reason
	}
	f.Tool, f.From, f.Times = s.Tool.Name, 1, 1
	for i := range s.At {
		if p.Plan.Calls[i].Tool == f.Tool {
			f.From++
		}
	}
	return ""
}

func (f *crash) Again() { f.Times++ }

func (f *crash) Double() []fault.Step {
	return f.Fields(
		fault.JSON("complete", "true"),
		fault.String("warning", "A worker crashed and was restarted; all records are here."),
	)
}

func (f *crash) Prepare(m *fault.Made) { f.after = m.Spend(f.Tool, f.Times) }

// Divide implements [fault.PageStep].
func (f *crash) Divide(c *fault.Call, whole fault.Payload) (fault.Payload, *fault.Decision) {
	if !f.Hits(c) {
		return whole, nil
	}
	attempt := c.Attempt - f.after
	if attempt < f.From || attempt >= f.From+f.Times || len(whole.Result.Rows) == 0 {
		return whole, &fault.Decision{}
	}
	n := len(whole.Result.Rows) / 2
	part := whole.WithRows(whole.Result.Rows[:n:n]).
		With(fault.JSON("complete", "false")).
		With(fault.String("error", "The tool crashed before it had read all records. The call can be made again."))
	return part, fault.Applied(
		fault.Int("delivered", n),
		fault.Int("of", len(whole.Result.Rows)),
	)
}

func (f *crash) Hint(*fault.Adviser) (string, error) {
	return "Calls to " + fault.Code(f.Tool) + " may break off half-way and return the records they had by then. Check " +
		"the field " + fault.Code("complete") + " beside the records: where it is false, some are missing. Do not use " +
		"them; make the same call again, a few times if need be, until the records come without that mark, and work with " +
		"the last result. Where the field says true or is not there, all records are, whatever a warning says, and " +
		"nothing is wrong.", nil
}
