package exec

import "github.com/seatrial/seatrial/internal/condition/fault"

// IO is exec.io.
var IO = fault.Transient(fault.Kind{
	Name: "exec.io", Summary: "the first calls to a tool fail to read its data",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "the error of its kind", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: "a note of a read error that was corrected",
	},
	Proxy: &fault.Proxy{Says: "The tool cannot read its data.", Settings: fault.Refusing(fault.SetExecuted, fault.SetWait),
		Status: 500},
}, fault.Wording{
	Code:    fault.CodeIO,
	Message: "The tool could not read its data: input/output error. It may succeed when it is tried again.",
	Note:    "One read error was corrected by a second read; the answer is complete.",
	Symptom: "fail because the tool cannot read its data",
})
