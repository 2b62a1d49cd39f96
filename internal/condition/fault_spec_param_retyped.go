package condition

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// Types that spec.param-retyped asks for.
const (
	retypedText = "text" // the digits of a number
	retypedDate = "date" // the first of January of a year
	retypedList = "list" // a list of the one value
)

// paramRetyped is spec.param-retyped: an argument wants another type. References are taken as before: what they stand
// for is not known yet.
type paramRetyped struct {
	target
	Argument string `json:"argument"`
	Wants    string `json:"wants"`
}

func (f *paramRetyped) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		if f.chooseArgument(p, s) {
			return ""
		}
		return reasonNoArgument
	})
	if refused != nil {
		return refused
	}
	f.Tool = s.tool.Name
	return nil
}

// chooseArgument chooses a literal of a call, and a type that every call of the plan to that tool can give it in.
func (f *paramRetyped) chooseArgument(p *placement, s *site) bool {
	for _, given := range p.literals(s) {
		f.Argument, f.Wants = given.name, retypedList
		if year, ok := given.value.(int64); ok && isYear(year) {
			f.Wants = p.pick("type", retypedDate, retypedText)
		} else if _, isText := given.value.(string); !isText {
			f.Wants = p.pick("type", retypedText, retypedList)
		}
		if !slices.ContainsFunc(p.Plan.Calls, func(c task.Call) bool {
			return c.Tool == s.tool.Name &&
				!f.convertible(c.Arguments)
		}) {
			return true
		}
	}
	return false
}

// convertible says whether what a call gives for the argument, if anything, can be given in the new type.
func (f *paramRetyped) convertible(arguments map[string]any) bool {
	switch v := arguments[f.Argument].(type) {
	case nil:
		_, given := arguments[f.Argument]
		return !given
	case string:
		_, refers := task.ParseReference(v)
		return refers || f.Wants == retypedList
	case int64:
		return f.Wants != retypedDate || isYear(v)
	case float64:
		return f.Wants != retypedDate
	default:
		return false
	}
}

func isYear(n int64) bool { return n >= 1000 && n <= 2999 }

func (f *paramRetyped) make(_ FaultInput, m *made) error {
	m.asked = true
	switch f.Variant {
	case VariantLookalike:
		m.step(&remark{target: &f.target, note: "In the next version the argument `" + f.Argument + "` will be " +
			f.expected() +
			". Until then it is taken as it was."})
	case VariantFault:
		m.step(f)
	}
	return nil
}

func (f *paramRetyped) expected() string {
	switch f.Wants {
	case retypedText:
		return "a string that holds the number, as in \"12\""
	case retypedDate:
		return "a string that holds the first day of the year as an ISO date, as in \"1999-01-01\""
	default:
		return "an array of one value"
	}
}

// ChangeArguments is that of [ArgumentStep].
func (f *paramRetyped) ChangeArguments(
	c *Call, arguments map[string]any,
) (map[string]any, *task.ToolError, *Decision) {
	given, ok := arguments[f.Argument]
	if !f.hits(c) || !ok {
		return arguments, nil, nil
	}
	value, fits := f.read(given)
	if !fits {
		return nil, &task.ToolError{
			Code:    task.CodeWrongType,
			Message: "Wrong type " + task.JSONType(given) + " for `" + f.Argument + "`: expected " + f.expected() + ".",
		}, applied(Field{"refused", jsonText(f.Argument)})
	}
	changed := maps.Clone(arguments)
	changed[f.Argument] = value
	return changed, nil, &Decision{}
}

// read turns a value of the new type into one of the old.
func (f *paramRetyped) read(given any) (any, bool) {
	if s, ok := given.(string); ok {
		if _, refers := task.ParseReference(s); refers {
			return given, true
		}
	}
	switch f.Wants {
	case retypedList:
		if elements, ok := given.([]any); ok && len(elements) == 1 {
			return elements[0], true
		}
		return nil, false
	case retypedDate:
		s, isText := given.(string)
		year, found := strings.CutSuffix(s, "-01-01")
		n, err := strconv.ParseInt(year, 10, 64)
		return n, isText && found && err == nil && isYear(n)
	default:
		s, isText := given.(string)
		if !isText {
			return nil, false
		}
		v, err := task.DecodeValue([]byte(s))
		switch v.(type) {
		case int64, float64:
			return v, err == nil
		default:
			return nil, false
		}
	}
}

// Specify is that of [SpecificationStep].
func (f *paramRetyped) Specify(t *task.Tool) *task.Tool {
	if t.Name != f.Tool {
		return t
	}
	return respecify(t, func(s *task.Schema) {
		for i := range s.Properties {
			if s.Properties[i].Name != f.Argument {
				continue
			}
			before := s.Properties[i].Schema
			fresh := &task.Schema{Types: []string{"string"}, Description: before.Description}
			switch f.Wants {
			case retypedList:
				fresh = &task.Schema{Types: []string{"array"}, Items: before, Description: before.Description}
			case retypedDate:
				fresh.Pattern = `^[0-9]{4}-01-01$`
			}
			fresh.Description = strings.TrimSpace(fresh.Description + " Give " + f.expected() + ".")
			s.Properties[i].Schema = fresh
		}
	})
}

// Documented is that of [SpecificationStep].
func (*paramRetyped) Documented() bool { return false }
