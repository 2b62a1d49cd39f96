package exec

import "github.com/seatrial/seatrial/internal/condition/fault"

// Connection is exec.connection.
var Connection = fault.Transient(fault.Kind{
	Name: "exec.connection", Summary: "the first calls to a tool lose their connection",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "an error: the connection was lost", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: "a note that a connection was restored",
	},
	Proxy: &fault.Proxy{Says: "The connection breaks.", Settings: fault.SetPassing(), Status: 502},
}, fault.Passing{
	Code: fault.CodeConnection, Symptom: "lose their connection",
	Messages: fault.Phrases{
		"The connection was closed before the tool answered. It may succeed when it is tried again.",
		"Connection reset by peer. Please retry.",
		"Lost the connection to the tool. Try again.",
		"The upstream connection was interrupted; retry the request.",
		"502 Bad Gateway: the tool closed the connection. Try again in a moment.",
		"Network error: the socket was closed unexpectedly. A retry may succeed.",
	},
	Notes: fault.Phrases{
		"The connection was lost once and restored; the answer is complete.",
		"Reconnected after one dropped connection.",
		"The first attempt lost its connection; this is the response to the second.",
		"Network warning: one connection was reset before this response.",
		"The client library reconnected once while it sent this request.",
		"Recovered from a connection reset. No data was lost.",
	},
})
