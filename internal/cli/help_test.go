package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/report/table"
)

// TestHelpFitsATerminal prints the help of every command at several widths: no line is too long unless it is one word,
// and no word is lost or added.
func TestHelpFitsATerminal(t *testing.T) {
	print := func(name string, width int) string {
		var out bytes.Buffer
		p := quiet(nil, &out)
		p.Out = &out
		p.Width = func(io.Writer) (int, bool) { return width, width > 0 }
		if code := Do(append(strings.Fields(name), "--help"), p); code != 0 {
			t.Fatalf("%s --help: exit code %d", name, code)
		}
		return out.String()
	}
	root := (&app{Process: quiet(nil, io.Discard), raw: quiet(nil, io.Discard)}).root()
	names := []string{""}
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	for _, name := range names {
		whole := print(name, 0)
		for _, width := range []int{80, 120} {
			got := print(name, width)
			if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(whole), " ") {
				t.Errorf("%s --help at %d columns has other words", name, width)
			}
			for line := range strings.Lines(got) {
				line = strings.TrimRight(line, "\n")
				if table.Width(line) > width && len(strings.Fields(line)) > 1 {
					t.Errorf("%s --help at %d columns: %q", name, width, line)
				}
			}
		}
	}
}
