package call

import "github.com/seatrial/seatrial/internal/condition/fault"

// Rejected is call.rejected.
var Rejected = fault.Transient(fault.Kind{
	Name: "call.rejected", Summary: "validation refuses the first calls though they are right",
	Survival: fault.Survival{
		Hazard: fault.HazardInvocation, Visible: "an error that says so", By: "making the same call again",
		Parameters: "tool; times: how many calls are refused", Lookalike: "a note that the schema was refreshed",
	},
	Proxy: &fault.Proxy{Says: "Validation refuses a call that is right, and says that it will accept it later.",
		Settings: fault.Refusing(), Status: 422},
}, fault.Wording{
	Code: fault.CodeRejected,
	Message: "Validation refused the call: the cached schema of the tool is stale and is being refreshed. " +
		"The same call will be accepted once that is done.",
	Note:    "The cached schema was stale and has been refreshed; the call was accepted.",
	Symptom: "be refused though they are right, because a cached schema is stale",
})
