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

// TestFiguresStayWhole prints a table whose columns may not be hidden: no line is too long, and every figure is printed
// once, beside the name of its row and under its heading.
func TestFiguresStayWhole(t *testing.T) {
	columns := []Column[string]{Text("agent", "agent", func(name string) string { return name })}
	for _, head := range []string{"took effect", "failed without noticing", "misreported", "failed midway"} {
		columns = append(columns, Told(head, head, 0, Fixed(0), func(name string) (*float64, string) {
			return nil, name[:1] + ":" + head[:3] + head[len(head)-3:]
		}))
	}
	tab := Make("Outcomes", []string{"blind", "recover"}, columns)
	for width := 70; width >= 24; width-- {
		text := tab.Text(Terminal{Width: width})
		for line := range strings.Lines(text) {
			if Width(strings.TrimRight(line, "\n")) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		for _, name := range []string{"blind", "recover"} {
			for _, head := range []string{"tooect", "faiing", "misted", "faiway"} {
				if strings.Count(text, name[:1]+":"+head) != 1 {
					t.Errorf("%d columns, %s %s:\n%s", width, name, head, text)
				}
			}
		}
		for line := range strings.Lines(text) {
			if strings.Contains(line, ":") && !strings.HasPrefix(line, "blind ") && !strings.HasPrefix(line, "recover ") {
				t.Errorf("%d columns, a row without its name: %q", width, line)
			}
		}
	}
	if text := tab.Text(Terminal{Width: 60}); !strings.Contains(text, "failed\n") || !strings.Contains(text, "  without") ||
		strings.Count(text, "blind") != 1 {
		t.Errorf("headings are not folded before columns move:\n%s", text)
	}
}
