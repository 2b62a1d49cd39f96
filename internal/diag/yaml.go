package diag

import (
	"bytes"
	"strings"
)

// Bounds on YAML files. The parser needs memory and time that grow with the square of the depth.
const (
	maxYAML      = 1 << 20 // bytes
	maxYAMLDepth = 64
)

// CheckYAML refuses a YAML file that is too large or nested too deep to be parsed.
func CheckYAML(file string, data []byte) error {
	if len(data) > maxYAML {
		return Usagef("the file has %d bytes, more than %d", len(data), maxYAML).At(file, 0, 0)
	}
	open := 0 // brackets; those in texts count too, where they are rarely without their counterparts
	var indents []int
	number := 0
	for line := range bytes.Lines(data) {
		number++
		text := strings.TrimLeft(string(line), " ")
		indent := len(line) - len(text)
		for len(indents) > 0 && indents[len(indents)-1] >= indent {
			indents = indents[:len(indents)-1]
		}
		if text != "\n" && text != "" {
			indents = append(indents, indent)
		}
		items := strings.Count(text, "- ") + strings.Count(text, "? ") // lists in lists on one line
		deepest := open
		for _, c := range []byte(text) {
			switch c {
			case '[', '{':
				open++
			case ']', '}':
				open = max(open-1, 0)
			}
			deepest = max(deepest, open)
		}
		if len(indents)+deepest > maxYAMLDepth || items > maxYAMLDepth {
			return Usagef("it is nested more than %d deep", maxYAMLDepth).At(file, number, 0)
		}
	}
	return nil
}
