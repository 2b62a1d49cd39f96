package toolsets

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task/literal"
)

// readAssignments reads Python source that assigns literals to names, as API-Bank describes its tools:
//
//	description = "Adds up."
//	input_parameters = {'a': {'type': 'int', 'description': 'The first one.'}}
//
// Literals are texts (adjacent texts are one), numbers, True, False, None, lists, sets, tuples and dicts; dicts keep
// their order.
func readAssignments(source string) (literal.Object, error) {
	r := literal.NewReader(source, true)
	r.Strict = true
	fault := func(message string) (literal.Object, error) {
		return nil, fmt.Errorf("line %d: %s", 1+strings.Count(source[:r.Pos], "\n"), message)
	}
	var list literal.Object
	for {
		skipEmptyLines(r)
		if r.Pos == len(source) {
			return list, nil
		}
		numeral := literal.IsDigit(r.Peek())
		name := r.Identifier()
		if name == "" || numeral {
			return fault("expected a name")
		}
		if r.SpaceInLine(); r.Peek() != '=' {
			return fault("expected = after " + name)
		}
		r.Pos++
		if r.SpaceInLine(); r.Peek() == '\n' {
			return fault("expected a value")
		}
		n, err := r.Value()
		if err != nil {
			return fault("expected a literal")
		}
		v, err := plain(&n)
		if err != nil {
			return fault(err.Error())
		}
		list = append(list, literal.Member{Name: name, Value: v})
		skipComment(r)
		if r.Pos < len(source) && r.Peek() != '\n' {
			return fault("expected the end of the line")
		}
	}
}

// skipComment skips blanks and a comment up to the end of the line.
func skipComment(r *literal.Reader) {
	for strings.IndexByte(" \t\r\f\\", r.Peek()) >= 0 && r.Pos < len(r.Text) {
		r.Pos++
	}
	if r.Peek() == '#' {
		if end := strings.IndexByte(r.Text[r.Pos:], '\n'); end >= 0 {
			r.Pos += end
		} else {
			r.Pos = len(r.Text)
		}
	}
}

func skipEmptyLines(r *literal.Reader) {
	for skipComment(r); r.Peek() == '\n'; skipComment(r) {
		r.Pos++
	}
}

// plain returns a literal as a string, float64, bool, nil, []any, or [literal.Object].
func plain(n *literal.Node) (any, error) {
	switch n.Kind {
	case literal.Null:
		return nil, nil
	case literal.Bool:
		return n.Text == "true", nil
	case literal.Number:
		return strconv.ParseFloat(n.Text, 64)
	case literal.Text:
		return n.Text, nil
	case literal.List:
		list := []any{}
		for i := range n.Items {
			v, err := plain(&n.Items[i])
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	case literal.ObjectKind:
		dict := literal.Object{}
		for i := range n.Fields {
			v, err := plain(&n.Fields[i].Value)
			if err != nil {
				return nil, err
			}
			dict = append(dict, literal.Member{Name: n.Fields[i].Name, Value: v})
		}
		return dict, nil
	default:
		return nil, fmt.Errorf("expected a literal, not %s", n.Text)
	}
}
