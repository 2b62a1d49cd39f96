package exec

import "github.com/seatrial/seatrial/internal/condition/fault"

// Timeout is exec.timeout.
var Timeout = fault.Transient(fault.Kind{
	Name: "exec.timeout", Summary: "the first calls to a tool time out",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "the error of its kind", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: "a note of an answer that came late, and in time",
	},
	Proxy: &fault.Proxy{Says: "The call times out. With `wait_ms` the client waits that long for it.",
		Settings: fault.Passing(), Status: 504},
}, fault.Wording{
	Code:    fault.CodeTimeout,
	Message: "The call timed out before the tool answered. It may succeed when it is tried again.",
	Note:    "The answer took 29.2 s; the limit is 30 s.",
	Symptom: "time out",
})
