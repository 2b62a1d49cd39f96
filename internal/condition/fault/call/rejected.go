package call

import "github.com/seatrial/seatrial/internal/condition/fault"

// Rejected is call.rejected.
var Rejected = fault.Transient(fault.Kind{
	Name: "call.rejected", Summary: "validation refuses the first calls though they are right",
	Survival: fault.Survival{
		Hazard: fault.HazardInvocation, Visible: "a validation error that promises to accept the call later",
		By:         "making the same call again",
		Parameters: "tool; times: how many calls are refused", Lookalike: "a note that the schema was refreshed",
	},
	Proxy: &fault.Proxy{Says: "Validation refuses a call that is right, and says that it will accept it later.",
		Settings: fault.Refusing(), Status: 422},
}, fault.Passing{
	Code: fault.CodeRejected, Symptom: "be refused though they are right, because a cached schema is stale",
	Messages: fault.Phrases{
		"Validation refused the call: the cached schema of the tool is stale and is being refreshed. " +
			"The same call will be accepted once that is done.",
		"The validator is reloading its schema. Retry the same request.",
		"The request was rejected by an outdated validator, which is being updated. Try again.",
		"422: validation failed because the schema cache is out of date. Try again in a moment.",
		"The gateway could not validate the call against the current schema. The cache is being rebuilt; retry.",
		"Validation is temporarily inconsistent after a deployment. Send the same call again.",
	},
	Notes: fault.Phrases{
		"The cached schema was stale and has been refreshed; the call was accepted.",
		"The schema cache was reloaded before this call.",
		"Validated against a schema that was refreshed just now.",
		"Warning: the validator was restarted; the call passed validation.",
		"The schema version changed during the call. The arguments are valid in both versions.",
		"Validation was repeated once with the current schema.",
	},
})
