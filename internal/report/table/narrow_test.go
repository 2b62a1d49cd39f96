package table

import (
	"strings"
	"testing"
)

// TestNamesStayWhole prints a table on narrower and narrower terminals: names in the first column are never cut where
// the figures beside them fit, rows of one name share its line, and no line is too long.
func TestNamesStayWhole(t *testing.T) {
	type row struct {
		name string
		n    float64
	}
	rows := []row{{"conflict.minority-report", 1234567}, {"conflict.minority-report", 7654321}, {"exec.io", 1}}
	value := func(r row) *float64 { return &r.n }
	tab := Make("Rows", rows, []Column[row]{
		Text("kind", "kind", func(r row) string { return r.name }),
		Number("first", "first", 0, Fixed(0), "", value), Number("second", "second", 0, Fixed(0), "", value),
	})
	for width := 60; width >= 30; width-- {
		text := tab.Text(Terminal{Width: width})
		want := 2
		if width < len("conflict.minority-report")+2*len("  1234567") {
			want = 1 // on a line of its own
		}
		if strings.Count(text, rows[0].name) != want || strings.Contains(text, "…") {
			t.Errorf("%d columns:\n%s", width, text)
		}
		for line := range strings.Lines(text) {
			if Width(strings.TrimRight(line, "\n")) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
}
