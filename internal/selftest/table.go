package selftest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/report/table"
)

// Verdicts on a check.
const (
	VerdictMet     = "met"
	VerdictMissed  = "missed"
	VerdictInforms = "no target"
	VerdictNone    = "not measured" // the suite has nothing of the kind
)

// Verdict says how the figure compares with the target.
func (r Result) Verdict() string {
	switch {
	case r.Figure.Of == 0:
		return VerdictNone
	case r.Check.Target.Bound == Informs:
		return VerdictInforms
	case r.Check.Target.met(r.Figure.Value):
		return VerdictMet
	}
	return VerdictMissed
}

// write writes a value in the unit of a check.
func (c *Check) write(v float64) string {
	if c.Unit == UnitShare {
		return table.Percent(v)
	}
	return strings.TrimSuffix(strings.TrimRight(table.Decimal(v), "0"), ".") + " " + c.Unit
}

// target writes the target of a check; "" if it has none.
func (c *Check) target() string {
	switch c.Target.Bound {
	case AtLeast:
		return "at least " + c.write(c.Target.Value)
	case AtMost:
		return "at most " + c.write(c.Target.Value)
	}
	return ""
}

// columns are the columns of the page and the values of JSON.
var columns = []table.Column[Result]{
	table.Text("check", "check", func(r Result) string { return r.Check.Name }),
	table.Text("claim", "claim", func(r Result) string { return r.Check.Claim }),
	table.Text("measured by", "method", func(r Result) string { return r.Check.Method }),
	table.Text("target", "target", func(r Result) string { return r.Check.target() }),
	{
		Head: table.Head{Name: "figure", Right: true, Keys: []string{"figure", "of", "unit"}},
		Cell: func(r Result) table.Cell {
			if r.Figure.Of == 0 {
				return table.Cell{Text: table.None, Values: []any{nil, 0, r.Check.Unit}, Why: "the suite has nothing of the kind"}
			}
			return table.Cell{
				Text:   fmt.Sprintf("%s of %d", r.Check.write(r.Figure.Value), r.Figure.Of),
				Values: []any{r.Figure.Value, r.Figure.Of, r.Check.Unit},
			}
		},
	},
	table.Text("", "note", func(r Result) string { return r.Figure.Note }),
	table.Text("", "verdict", Result.Verdict),
}

// Table lays out results.
func Table(results []Result) *table.Table { return table.Make("Threats to validity", results, columns) }

// Text writes results for a terminal: two lines for each check.
func Text(results []Result) string {
	var b strings.Builder
	for _, r := range results {
		line := r.Verdict()
		if r.Figure.Of > 0 {
			line = fmt.Sprintf("%s of %d", r.Check.write(r.Figure.Value), r.Figure.Of)
			if target := r.Check.target(); target != "" {
				line += fmt.Sprintf(", %s: %s", target, r.Verdict())
			}
		}
		fmt.Fprintf(&b, "%-13s %s\n%14s%s\n", r.Check.Name, line, "", r.Check.Claim)
		if r.Figure.Note != "" && r.Figure.Of > 0 {
			fmt.Fprintf(&b, "%14s(%s)\n", "", r.Figure.Note)
		}
	}
	return b.String()
}

// Missed lists the names of the checks whose target was missed.
func Missed(results []Result) (names []string) {
	for _, r := range results {
		if r.Verdict() == VerdictMissed {
			names = append(names, r.Check.Name)
		}
	}
	return names
}

// choose returns the checks of these names.
func choose(checks []Check, names []string) ([]Check, error) {
	var known []string
	for i := range checks {
		known = append(known, checks[i].Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			hint := strings.Join(known, ", ")
			if near := diag.Nearest(name, known); near != "" {
				hint = near
			}
			return nil, diag.Usagef("there is no check %q", name).WithHint("%s", hint)
		}
	}
	return slices.DeleteFunc(checks, func(c Check) bool { return !slices.Contains(names, c.Name) }), nil
}
