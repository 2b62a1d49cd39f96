package out

import (
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

// TestFiguresHaveNoCodes: a service has codes for kinds, and none for amounts and dates that happen to be texts.
func TestFiguresHaveNoCodes(t *testing.T) {
	for text, want := range map[string]bool{
		"71": true, "1.234,5": true, "2016-03-21": true, "12:30": true, "R4": false, "shrub": false, "": false, "3rd": false,
	} {
		if got := isFigure(task.Text(text)); got != want {
			t.Errorf("%q is a figure: %v, want %v", text, got, want)
		}
	}
}

// TestCodesAreNoValues: a prefix is doubled where a value of the field is such a code, and not for its first letter.
func TestCodesAreNoValues(t *testing.T) {
	for value, want := range map[string]string{"Continental": "C", "C1": "CC", "C": "C", "C1a": "C"} {
		f := &alias{Prefix: "C"}
		got := f.unused(&task.Result{Columns: []string{"name"}, Rows: []task.Row{{task.Text(value)}}})
		if got != want {
			t.Errorf("beside %q the prefix is %q, want %q", value, got, want)
		}
	}
}
