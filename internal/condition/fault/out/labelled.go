package out

import (
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// labels precede values.
var labels = fault.Phrases{"Answer", "Result", "Value", "Output", "Finding", "Response"}

// Labelled is out.labelled.
var Labelled = writes(fault.Kind{
	Name: "out.labelled", Summary: "values come after a label",
	Survival: fault.Survival{
		Visible: "the payload: Answer: Tuesday", By: "extracting the value",
		Parameters: "tool; column; field; with: the label",
		Lookalike:  "a label beside plain values",
	},
}, "Values come after a label.", writing{
	draw:    func(p *fault.Placement, _ string) string { return p.Word("label", labels) },
	setting: fault.Setting{Name: "with", Form: fault.FormText, Says: "The label, Answer by default."},
	without: "Answer",
	missing: fault.ReasonNoColumn,
	write: func(f *form, _ string, v task.Value) (task.Value, bool) {
		s, ok := fault.PlainText(v)
		return f.With + ": " + s, ok
	},
	double:  func(f *form) fault.Field { return fault.String("label", f.With) },
	happens: "The values of ",
	comes:   " may come as text with a label and a colon before them.",
	undo:    "Take what stands behind the label alone.",
})
