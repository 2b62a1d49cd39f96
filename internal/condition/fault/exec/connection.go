package exec

import "github.com/seatrial/seatrial/internal/condition/fault"

// Connection is exec.connection.
var Connection = fault.Transient(fault.Kind{
	Name: "exec.connection", Summary: "the first calls to a tool lose their connection",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "the error of its kind", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: "a note of a connection that was restored",
	},
	Proxy: &fault.Proxy{Says: "The connection breaks.", Settings: fault.Passing(), Status: 502},
}, fault.Wording{
	Code:    fault.CodeConnection,
	Message: "The connection was closed before the tool answered. It may succeed when it is tried again.",
	Note:    "The connection was lost once and restored; the answer is complete.",
	Symptom: "lose their connection",
})
