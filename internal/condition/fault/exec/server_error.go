package exec

import "github.com/seatrial/seatrial/internal/condition/fault"

// ServerError is exec.server-error.
var ServerError = fault.Transient(fault.Kind{
	Name: "exec.server-error", Summary: "the first calls to a tool fail in the server",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "the error of its kind", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: "a note of a gateway that asked again",
	},
	Proxy: &fault.Proxy{Says: "The server fails.", Settings: fault.Refusing(fault.SetExecuted, fault.SetWait),
		Status: 500},
}, fault.Wording{
	Code: fault.CodeServer,
	Message: "500 Internal Server Error: the server failed while it handled the call. It may succeed when " +
		"it is tried again.",
	Note:    "A gateway answered 502 once; the request was passed on again and is answered here.",
	Symptom: "fail in the server",
})
