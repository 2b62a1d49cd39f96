package conflict

import (
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// rowCountNames are the names of the count.
var rowCountNames = fault.Phrases{
	"row_count",
	"total_rows",
	"num_rows",
	"expected_row_count",
	"source_row_count",
	"total_rows_sent",
}

// sumNames are the names of the sum.
var sumNames = fault.Phrases{
	"control_sum",
	"checksum",
	"control_sums",
	"checksums",
	"sent_control_sum",
	"column_checksum",
}

// damageNotes are those of the look-alike.
var damageNotes = fault.Phrases{
	"An earlier transmission was damaged; this one has been checked.",
	"The first transfer was incomplete and was repeated.",
	"Warning: one block was sent twice.",
	"Integrity check repeated after a failed transfer.",
	"A replica was rebuilt before this response.",
	"The transfer was resumed once.",
}

// Corrupted is conflict.corrupted. The source's count of rows and sum of a column were made before it changed a value
// or lost a row. In the look-alike they fit, and a warning speaks of an earlier damage. A result of one row has no sum,
// which would be its value, and the source loses that row. Otherwise no sum reveals which value was changed.
var Corrupted = conflicting(fault.Kind{
	Name: "conflict.corrupted", Summary: "a source returns changed values",
	Survival: fault.Survival{
		Visible:    "a count of rows or a sum of a column (row_count, control_sum) that does not fit the records",
		By:         "counting and adding up, then taking the other source",
		Parameters: "tool; mine and others: the tools of the sources; change",
		Lookalike:  "a warning over counts and sums that fit",
	},
	New: func() fault.Fault { return &corrupted{} },
})

type corrupted struct{ conflict }

func (f *corrupted) Place(p *fault.Placement) string {
	_, reason := f.place(p, 0, nil)
	return reason
}

// ChangeResult implements [fault.ResultStep].
func (f *corrupted) ChangeResult(c *fault.Call, p fault.Payload) (fault.Payload, *fault.Decision) {
	mine, other, wrong := f.side(c)
	if !mine && !other {
		return p, nil
	}
	before, changed := p.Result, 0
	if wrong {
		p, changed = f.corrupt(p)
	}
	p = p.With(fault.Int(f.Word(rowCountNames), len(before.Rows)))
	name := c.Tool.Name
	if at := f.Change.Column; at >= 0 && at < len(before.Columns) && len(before.Rows) > 1 &&
		(name == f.Tool || f.Replicated || name == f.Others[len(f.Others)-1]) {
		if total := sum(before, at); total != nil {
			p = p.With(
				fault.Nested(f.Word(sumNames), fault.Field{Name: before.Columns[at], Value: task.AppendValue(nil, total)}),
			)
		}
	}
	if f.Variant == fault.VariantLookalike && name == f.Tool {
		p = p.With(fault.String("warning", f.Say(damageNotes, fault.TerseNotes)))
	}
	return p.With(f.othersOf(name)), f.decision(wrong, changed)
}

// corrupt changes one value, or omits a row: the only one, which no sum could check.
func (f *corrupted) corrupt(p fault.Payload) (fault.Payload, int) {
	if len(p.Result.Rows) < 2 {
		return omitLast(p)
	}
	return f.changeOne(p, 0)
}

// sum adds the numbers of a column in the order of the rows. The sum is a whole number if all are, nil without numbers.
func sum(r *task.Result, column int) task.Value {
	whole, real, wholes, reals := int64(0), 0.0, false, false
	for _, row := range r.Rows {
		switch v := row[column].(type) {
		case task.Integer:
			whole, wholes = whole+int64(v), true
			real += float64(v)
		case task.Real:
			real, reals = real+float64(v), true
		}
	}
	switch {
	case reals:
		return task.Real(real)
	case wholes:
		return task.Integer(whole)
	default:
		return nil
	}
}

func (f *corrupted) Hint(*fault.Adviser) (string, error) {
	return "There are two sources for the same: " + f.sources() + hintSources + fault.Code(
		f.Word(othersNames),
	) + ". One may " +
		"have lost a record or changed numbers on the way. Check before you use a result: count its records against " +
		fault.Code(
			f.Word(rowCountNames),
		) + ", and add up the field that " + fault.Code(
		f.Word(sumNames),
	) + " names, where it is there. " +
		"Where either does not fit, switch to the other source and check it in the same way. Where both fit, the records " +
		"are right, whatever a warning says, and nothing is wrong.", nil
}
