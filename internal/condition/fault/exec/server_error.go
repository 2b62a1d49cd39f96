package exec

import "github.com/seatrial/seatrial/internal/condition/fault"

// ServerError is exec.server-error.
var ServerError = fault.Transient(fault.Kind{
	Name: "exec.server-error", Summary: "the first calls to a tool fail in the server",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "an error: the server failed", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: "a note that a gateway repeated a request",
	},
	Proxy: &fault.Proxy{Says: "The server fails.", Settings: fault.Refusing(fault.SetExecuted, fault.SetWait),
		Status: 500},
}, fault.Passing{
	Code: fault.CodeServer, Symptom: "fail in the server",
	Messages: fault.Phrases{
		"500 Internal Server Error: the server failed while it handled the call. It may succeed when it is tried again.",
		"Internal server error. Please try again later.",
		"The server encountered an unexpected condition; retry the request.",
		"An internal error occurred. Try the call again.",
		"500: something went wrong on our side. A retry may succeed.",
		"The server could not complete the request because of a temporary problem.",
	},
	Notes: fault.Phrases{
		"A gateway answered 502 once; the request was passed on again and is answered here.",
		"One backend failed; another one answered.",
		"This request was retried once inside the server.",
		"Warning: a worker returned an error before this response.",
		"Served by the standby after an internal error.",
		"The server recovered from an error while it handled this request.",
	},
})
