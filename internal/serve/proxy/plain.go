package proxy

import (
	"encoding/csv"
	"encoding/json"
	"strings"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
	"github.com/seatrial/seatrial/internal/task/pattern"
)

// plainViews lists the ways to read a text that is not JSON, the most specific first: Python literals, CSV, `key:
// value` lines, lines, and for a single line its sentences and words.
func plainViews(s string) []*view {
	var views []*view
	for _, read := range []func(string) (*view, bool){readPython, readCSV, readKeys} {
		if v, ok := read(s); ok {
			views = append(views, v)
		}
	}
	views = append(views, readParts(s, "\n"))
	if !strings.Contains(strings.TrimSpace(s), "\n") {
		for _, separator := range []string{". ", " "} {
			if strings.Contains(s, separator) {
				views = append(views, readParts(s, separator))
			}
		}
	}
	return views
}

// readParts splits a text at separators. A part that looks like a number is read as a number.
func readParts(s, separator string) *view {
	v := &view{layout: layoutParts, separator: separator}
	for part := range strings.SplitSeq(s, separator) {
		v.rows = append(v.rows, object{newMember(fieldValue, scalar(part))})
	}
	return v
}

// scalar reads a number as a number, and anything else as a text.
func scalar(s string) json.RawMessage {
	if fault.IsNumber(decoded(s)) {
		return json.RawMessage(s)
	}
	return quote(s)
}

// plainScalar writes a value as plain text.
func plainScalar(raw json.RawMessage) string {
	if s, ok := text(raw); ok {
		return s
	}
	return string(raw)
}

// readPython parses a dictionary or a list in Python's notation.
func readPython(s string) (*view, bool) {
	r := literal.NewReader(strings.TrimSpace(s), false)
	r.Strict = true
	if r.Text == "" || strings.IndexByte("[{", r.Text[0]) < 0 {
		return nil, false
	}
	n, err := r.Value()
	if err != nil || strings.TrimSpace(r.Text[r.Pos:]) != "" || len(r.Open) > 0 {
		return nil, false
	}
	raw, err := n.AppendJSON(nil)
	if err != nil || !json.Valid(raw) {
		return nil, false
	}
	v, ok := readView(raw)
	if ok {
		v.python = true
	}
	return v, ok
}

// appendPython appends a JSON value in Python's notation.
func appendPython(dst []byte, raw json.RawMessage) []byte {
	if o, ok := readObject(raw); ok {
		dst = append(dst, '{')
		for i, m := range o {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = append(appendPython(dst, m.key), ": "...)
			dst = appendPython(dst, m.value)
		}
		return append(dst, '}')
	}
	if list, ok := readArray(raw); ok {
		dst = append(dst, '[')
		for i, item := range list {
			if i > 0 {
				dst = append(dst, ", "...)
			}
			dst = appendPython(dst, item)
		}
		return append(dst, ']')
	}
	if s, ok := text(raw); ok {
		if strings.ContainsAny(s, "'\\\n\r\t") {
			return append(dst, quote(s)...) // Python accepts JSON's escapes
		}
		return append(append(append(dst, '\''), s...), '\'')
	}
	switch s := strings.TrimSpace(string(raw)); s {
	case "null":
		return append(dst, "None"...)
	case "true":
		return append(dst, "True"...)
	case "false":
		return append(dst, "False"...)
	default:
		return append(dst, s...)
	}
}

// readCSV parses lines with as many values as the first line has names.
func readCSV(s string) (*view, bool) {
	r := csv.NewReader(strings.NewReader(s))
	lines, err := r.ReadAll() // it rejects lines of different lengths
	if err != nil || len(lines) < 2 || len(lines[0]) < 2 {
		return nil, false
	}
	v := &view{layout: layoutCSV, ending: newlines(s)}
	for _, name := range lines[0] {
		if strings.TrimSpace(name) == "" || fault.IsNumber(decoded(name)) {
			return nil, false
		}
	}
	for _, line := range lines[1:] {
		var row object
		for i, value := range line {
			if row.has(lines[0][i]) {
				return nil, false
			}
			row = append(row, newMember(lines[0][i], scalar(value)))
		}
		v.rows = append(v.rows, row)
	}
	return v, true
}

// decoded reads a scalar in JSON; nil for anything else.
func decoded(s string) task.Value {
	v, _ := task.DecodeValue([]byte(s)) // nil is not a number
	value, _ := task.Scalar(v)
	return value
}

func (v *view) encodeCSV() string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	names := v.fields()
	lines := [][]string{names}
	for _, row := range v.rows {
		line := make([]string, len(names))
		for i, name := range names {
			line[i] = plainScalar(row.get(name))
		}
		lines = append(lines, line)
	}
	_ = w.WriteAll(lines) // a builder cannot fail
	return strings.TrimSuffix(b.String(), "\n")
}

// keyLine matches a line with a name and its value.
var keyLine = pattern.New(`^([\pL_][\pL\p{Nd}_ .-]{0,60}): (.+)$`)

// readKeys parses `key: value` lines as one record.
func readKeys(s string) (*view, bool) {
	var row object
	for line := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		m := keyLine.FindStringSubmatch(line)
		if m == nil || row.has(m[1]) {
			return nil, false
		}
		row = append(row, newMember(m[1], scalar(m[2])))
	}
	return &view{layout: layoutKeys, rows: []object{row}, ending: newlines(s)}, true
}

// newlines returns those at the end of a text.
func newlines(s string) string { return s[len(strings.TrimRight(s, "\n")):] }

// encodePlain writes a text in its current state, with added fields as lines.
func (v *view) encodePlain() string {
	var lines []string
	switch v.layout {
	case layoutCSV:
		lines = append(lines, v.encodeCSV())
	case layoutKeys:
		for _, row := range v.rows {
			for _, m := range row {
				lines = append(lines, m.name+": "+plainScalar(m.value))
			}
		}
	default:
		parts := make([]string, len(v.rows))
		for i, row := range v.rows {
			parts[i] = plainScalar(row.get(fieldValue))
		}
		lines = append(lines, strings.Join(parts, v.separator))
	}
	for _, f := range v.beside {
		lines = append(lines, f.Name+": "+string(f.Value))
	}
	return strings.Join(lines, "\n") + v.ending
}
