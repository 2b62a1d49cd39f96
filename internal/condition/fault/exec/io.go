package exec

import "github.com/seatrial/seatrial/internal/condition/fault"

// IO is exec.io.
var IO = fault.Transient(fault.Kind{
	Name: "exec.io", Summary: "the first calls to a tool fail to read its data",
	Survival: fault.Survival{
		Hazard: fault.HazardExecution, Visible: "an error: the data could not be read", By: "making the call again",
		Parameters: "tool; times: how many calls fail", Lookalike: "a note that a read error was corrected",
	},
	Proxy: &fault.Proxy{Says: "The tool cannot read its data.", Settings: fault.Refusing(fault.SetExecuted, fault.SetWait),
		Status: 500},
}, fault.Passing{
	Code: fault.CodeIO, Symptom: "fail because the tool cannot read its data",
	Messages: fault.Phrases{
		"The tool could not read its data: input/output error. It may succeed when it is tried again.",
		"I/O error while reading the data file. Please retry.",
		"A disk read failed. Try again.",
		"The storage did not respond to a read request; retry the call.",
		"Read error on the data volume. Try again in a moment.",
		"The data could not be loaded from storage. A retry may succeed.",
	},
	Notes: fault.Phrases{
		"One read error was corrected by a second read; the answer is complete.",
		"A disk read was repeated once.",
		"Storage warning: one block was read twice.",
		"Recovered from a transient read error.",
		"The data was read from a replica after one failed read.",
		"A read retry was needed. The result passed its checksum.",
	},
})
