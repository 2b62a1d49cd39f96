package agent

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

var argumentTypeTactic = &tactic{
	TacticInfo: TacticInfo{"argument-type", "an error names the type that an argument is to have: converts its value"},
	heal: func(s *sign) (remedy, bool) {
		argument, wanted, ok := typeIn(s.err.Message)
		if !ok {
			return remedy{}, false
		}
		convert := converter(wanted)
		if convert == nil {
			return remedy{}, false
		}
		written := s.p.writeOut(s.j, argument) // what a reference stands for can be converted only then
		return remedy{}, s.p.learn(s.j.tool, fix{argument: argument, convert: convert}) || written
	},
}

var expectedPattern = regexp.MustCompile(`(?is)expected (.*?)(?: but got|$)`)

// typeIn reads the argument that an error speaks of, and what it is expected to be.
func typeIn(message string) (argument, wanted string, ok bool) {
	m := expectedPattern.FindStringSubmatch(message)
	names := quotedNames(message)
	if m == nil || len(names) == 0 {
		return "", "", false
	}
	return names[len(names)-1], m[1], true
}

// converter gives the conversion to what is wanted, nil where that is not understood. References stay as they are.
func converter(wanted string) func(v any) any {
	var convert func(v any) any
	switch {
	case holds(wanted, "array", "list"):
		convert = func(v any) any {
			if _, isList := v.([]any); isList {
				return v
			}
			return []any{v}
		}
	case holds(wanted, "date"):
		convert = dateOf
	case holds(wanted, "string", "text"):
		convert = func(v any) any { return eachOf(v, textOf) }
	case holds(wanted, "integer", "number"):
		convert = func(v any) any { return eachOf(v, numberOf) }
	default:
		return nil
	}
	return func(v any) any {
		if text, ok := v.(string); ok {
			if _, refers := task.ParseReference(text); refers {
				return v
			}
		}
		return convert(v)
	}
}

// eachOf converts the elements of a list, or the value itself.
func eachOf(v any, convert func(v any) any) any {
	list, isList := v.([]any)
	if !isList {
		return convert(v)
	}
	fresh := make([]any, len(list))
	for i := range list {
		fresh[i] = convert(list[i])
	}
	return fresh
}

func textOf(v any) any {
	switch v.(type) {
	case int64, float64:
		return string(task.AppendValue(nil, v))
	default:
		return v
	}
}

func numberOf(v any) any {
	if text, ok := v.(string); ok {
		if n, is := readNumber(text); is {
			return n
		}
	}
	return v
}

// dateOf gives the first day of a year.
func dateOf(v any) any {
	switch v := v.(type) {
	case int64:
		if v >= 0 && v <= 9999 {
			year := strconv.FormatInt(v, 10)
			return strings.Repeat("0", 4-len(year)) + year + "-01-01"
		}
	case string:
		if len(v) == 4 && strings.Trim(v, "0123456789") == "" {
			return v + "-01-01"
		}
	}
	return v
}
