package toolsets

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// field is a name with its value in a literal.
type field struct {
	name  string
	value any // string, float64, bool, nil, []any, or []field of a dict in its order
}

// readAssignments reads Python source that assigns literals to names, as API-Bank describes its tools:
//
//	description = "Adds up."
//	input_parameters = {'a': {'type': 'int', 'description': 'The first one.'}}
//
// Literals are texts (texts that follow each other are one), numbers, True, False, None, lists, sets, tuples and dicts.
func readAssignments(source string) ([]field, error) {
	p := &literalParser{rest: source, whole: source}
	var list []field
	for {
		p.space(true)
		if p.rest == "" {
			return list, nil
		}
		name := p.word()
		if name == "" {
			return nil, p.fault("expected a name")
		}
		p.space(false)
		if !p.take("=") {
			return nil, p.fault("expected = behind " + name)
		}
		p.space(false)
		v, err := p.value(0, false)
		if err != nil {
			return nil, err
		}
		list = append(list, field{name, v})
		p.space(false)
		if p.rest != "" && !strings.HasPrefix(p.rest, "\n") {
			return nil, p.fault("expected the end of the line")
		}
	}
}

type literalParser struct{ rest, whole string }

// maxDepth bounds the nesting of literals.
const maxDepth = 64

func (p *literalParser) fault(message string) error {
	read := p.whole[:len(p.whole)-len(p.rest)]
	return fmt.Errorf("line %d: %s", 1+strings.Count(read, "\n"), message)
}

// space skips blanks and comments, and line ends if they mean nothing.
func (p *literalParser) space(lines bool) {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\r\f\\")
		if strings.HasPrefix(p.rest, "#") {
			_, after, found := strings.Cut(p.rest, "\n")
			p.rest = after
			if found {
				p.rest = "\n" + after
			}
		}
		if !lines || !strings.HasPrefix(p.rest, "\n") {
			return
		}
		p.rest = p.rest[1:]
	}
}

func (p *literalParser) take(text string) bool {
	rest, found := strings.CutPrefix(p.rest, text)
	p.rest = rest
	return found
}

func (p *literalParser) word() string {
	n := 0
	for n < len(p.rest) && (p.rest[n] == '_' || p.rest[n]|0x20 >= 'a' && p.rest[n]|0x20 <= 'z' || n > 0 &&
		p.rest[n] >= '0' && p.rest[n] <= '9') {
		n++
	}
	name := p.rest[:n]
	p.rest = p.rest[n:]
	return name
}

func (p *literalParser) value(depth int, inside bool) (any, error) {
	if depth > maxDepth {
		return nil, p.fault("literals stand too deep in each other")
	}
	if p.rest == "" {
		return nil, p.fault("expected a value")
	}
	switch c := p.rest[0]; {
	case c == '\'' || c == '"':
		var text strings.Builder
		for p.rest != "" && (p.rest[0] == '\'' || p.rest[0] == '"') {
			part, err := p.text()
			if err != nil {
				return nil, err
			}
			text.WriteString(part)
			p.space(inside)
		}
		return text.String(), nil
	case c == '{':
		return p.braces(depth)
	case c == '[':
		return p.sequence(depth, "[", "]")
	case c == '(':
		return p.sequence(depth, "(", ")")
	case c == '-' || c == '.' || c >= '0' && c <= '9':
		n := 1
		for n < len(p.rest) && strings.ContainsRune("0123456789.eE+-_", rune(p.rest[n])) {
			n++
		}
		number, err := strconv.ParseFloat(strings.ReplaceAll(p.rest[:n], "_", ""), 64)
		if err != nil {
			return nil, p.fault("this is no number")
		}
		p.rest = p.rest[n:]
		return number, nil
	}
	switch word := p.word(); word {
	case "True":
		return true, nil
	case "False":
		return false, nil
	case "None":
		return nil, nil
	default:
		return nil, p.fault("expected a value")
	}
}

// braces reads a dict, or a set as a list.
func (p *literalParser) braces(depth int) (any, error) {
	p.take("{")
	dict := []field{}
	var set []any
	for {
		p.space(true)
		if p.take("}") {
			if set != nil {
				return set, nil
			}
			return dict, nil
		}
		key, err := p.value(depth+1, true)
		if err != nil {
			return nil, err
		}
		p.space(true)
		if p.take(":") {
			name, isText := key.(string)
			if !isText {
				return nil, p.fault("a key must be a text")
			}
			p.space(true)
			v, err := p.value(depth+1, true)
			if err != nil {
				return nil, err
			}
			dict = append(dict, field{name, v})
		} else {
			set = append(set, key)
		}
		p.space(true)
		if !p.take(",") && !strings.HasPrefix(p.rest, "}") {
			return nil, p.fault("expected , or }")
		}
	}
}

func (p *literalParser) sequence(depth int, from, to string) (any, error) {
	p.take(from)
	list := []any{}
	for {
		p.space(true)
		if p.take(to) {
			return list, nil
		}
		v, err := p.value(depth+1, true)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		p.space(true)
		if !p.take(",") && !strings.HasPrefix(p.rest, to) {
			return nil, p.fault("expected , or " + to)
		}
	}
}

// escapes are those of one letter.
var escapes = map[byte]string{
	'n': "\n", 't': "\t", 'r': "\r", '\\': "\\", '\'': "'", '"': "\"", '\n': "", '0': "\x00", 'a': "\a", 'b': "\b",
	'f': "\f", 'v': "\v",
}

func (p *literalParser) text() (string, error) {
	quote := p.rest[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(p.rest, triple) {
		quote = triple
	}
	p.rest = p.rest[len(quote):]
	var b strings.Builder
	for {
		switch {
		case p.rest == "" || len(quote) == 1 && p.rest[0] == '\n':
			return "", p.fault("a text does not end")
		case p.take(quote):
			return b.String(), nil
		case p.rest[0] != '\\':
			_, n := utf8.DecodeRuneInString(p.rest)
			b.WriteString(p.rest[:n])
			p.rest = p.rest[n:]
		case len(p.rest) > 1 && (p.rest[1] == 'x' || p.rest[1] == 'u'):
			digits := map[byte]int{'x': 2, 'u': 4}[p.rest[1]]
			if len(p.rest) < 2+digits {
				return "", p.fault("an escape is cut short")
			}
			code, err := strconv.ParseUint(p.rest[2:2+digits], 16, 32)
			if err != nil {
				return "", p.fault("an escape has no number")
			}
			b.WriteRune(rune(code))
			p.rest = p.rest[2+digits:]
		default:
			if len(p.rest) > 1 {
				if meant, known := escapes[p.rest[1]]; known {
					b.WriteString(meant)
					p.rest = p.rest[2:]
					continue
				}
			}
			b.WriteByte('\\') // Python keeps unknown escapes
			p.rest = p.rest[1:]
		}
	}
}
