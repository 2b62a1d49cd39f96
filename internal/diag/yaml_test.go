package diag

import (
	"strings"
	"testing"
)

// TestYAMLErrors checks the place, the message and the hint of YAML files that cannot be read.
func TestYAMLErrors(t *testing.T) {
	type target struct {
		Name string
		List []int
		Flag *bool
	}
	const syntax = "check this line and the one above: "
	for _, c := range []struct{ text, message, hint string }{
		{"name: a\nlist: [1, 2", "f.yaml:2:7: not YAML: ", syntax},
		{"name: a\n\tlist: [1]", "f.yaml:2:1: not YAML: ", syntax},
		{"name: a\nname: b", "f.yaml:2:1: not YAML: ", syntax},
		{"name: " + strings.Repeat("[", maxYAMLDepth+1), "f.yaml:1: it is nested more than ", "no file "},
		{"name: " + strings.Repeat("a", maxYAML), "f.yaml: the file has ", "leave out "},
	} {
		_, parse := ParseYAML("f.yaml", []byte(c.text))
		for _, err := range []error{parse, DecodeYAML("f.yaml", []byte(c.text), &target{})} {
			if ExitCode(err) != ExitUsage || !strings.HasPrefix(err.Error(), c.message) ||
				!strings.Contains(Render(err), "\n  try: "+c.hint) {
				t.Errorf("%.40q:\n%swant %s\n%s", c.text, Render(err), c.message, c.hint)
			}
		}
	}
	for text, want := range map[string]string{
		"name: a\nnaem: b": `f.yaml:2:1: unknown field "naem"`,
		"list: a":          "f.yaml:1:7: expected a sequence, found a string",
		"list: [a]":        "f.yaml:1:8: expected a number",
		"name: [a]":        "f.yaml:1:7: expected a text",
		"flag: a":          "f.yaml:1:7: expected true or false",
		"[a]":              "f.yaml:1:1: expected a mapping, found a sequence",
	} {
		if _, err := ParseYAML("f.yaml", []byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := DecodeYAML("f.yaml", []byte(text), &target{}); err == nil || err.Hint != "" ||
			!strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for _, text := range []string{"", "name: a\nlist: [1]", "# nothing"} {
		tree, err := ParseYAML("f.yaml", []byte(text))
		if e := DecodeYAML("f.yaml", []byte(text), &target{}); e != nil || err != nil || tree == nil {
			t.Errorf("%q: %v, %v", text, err, e)
		}
	}
}
