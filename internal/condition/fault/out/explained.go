package out

import (
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// Explained is out.explained.
var Explained = writes(fault.Kind{
	Name: "out.explained", Summary: "values come inside a sentence",
	Survival: fault.Survival{
		Visible: "the payload", By: "extracting the value", Parameters: "tool; column; field; with: empty",
		Lookalike: "an explanation beside plain values",
	},
}, "Values come inside a sentence.", writing{
	missing: fault.ReasonNoColumn,
	write: func(_, field string, v task.Value) (task.Value, bool) {
		_, ok := fault.PlainText(v)
		return "The value of " + field + " in this record is " + string(task.AppendValue(nil, v)) + ".", ok
	},
	double: func(*form) fault.Field {
		return fault.String("explanation", "Each record is one finding; the values are given as they are.")
	},
	happens: "The values of ",
	comes:   " may come inside a sentence that says whose value it is.",
	undo:    "Take the value out of it, without the quotes and the full stop that are the sentence's own.",
})
