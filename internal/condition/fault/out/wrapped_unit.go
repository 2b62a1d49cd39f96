package out

import (
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// WrappedUnit is out.wrapped-unit.
var WrappedUnit = writes(fault.Kind{
	Name: "out.wrapped-unit", Summary: "numbers are written with a unit",
	Survival: fault.Survival{
		Visible: "the payload: USD 42.18", By: "extracting the number", Parameters: "tool; column; field; with: the unit",
		Lookalike: "a unit beside plain numbers",
	},
}, "Numbers come with a unit before them, as text.", writing{
	draw:    func(p *fault.Placement) string { return p.Pick("unit", "USD", "EUR", "kg", "km", "h") },
	setting: fault.Setting{Name: "with", Form: fault.FormText, Says: "The unit, USD by default."},
	without: "USD",
	missing: fault.ReasonNoNumber,
	write: func(unit, _ string, v task.Value) (task.Value, bool) {
		return unit + " " + string(task.AppendValue(nil, v)), fault.IsNumber(v)
	},
	double:  func(f *form) fault.Field { return fault.Nested("unit", fault.String(f.Field, f.With)) },
	happens: "The numbers of ",
	comes:   " may come as text with a unit before them.",
	undo:    "Take the number alone, as it is, and leave the unit away.",
})
