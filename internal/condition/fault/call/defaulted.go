package call

import (
	"encoding/json"
	"strconv"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// Defaulted is call.default-argument.
var Defaulted = altering(fault.Kind{
	Name: "call.default-argument", Summary: "a default replaces an argument",
	Survival: fault.Survival{Parameters: "tool; argument; strict; default"},
	New:      func() fault.Fault { return &defaulted{} },
}, fault.Proxy{
	Says: "A default replaces an argument. The result echoes the arguments that were applied.",
	Settings: []fault.Setting{{
		Name: "value", Form: fault.FormValue, Required: true, Says: "What replaces the value.",
	}},
	Make: func(s fault.Settings) fault.Fault { return &defaulted{proxied(s), fault.Encode(s["value"])} },
})

type defaulted struct {
	alteration
	Default json.RawMessage `json:"default"`
}

func (f *defaulted) Place(p *fault.Placement) string {
	s, reason := f.place(p, func(*fault.Site, fault.Literal) bool { return true })
	if reason == "" {
		f.Default = fault.Encode(defaultFor(s, f.Argument))
	}
	return reason
}

// defaultFor returns a value of the argument's type that is not the plan's.
func defaultFor(s *fault.Site, argument string) any {
	value := s.Call.Arguments[argument]
	if property := s.Tool.Parameters.Property(argument); property != nil {
		for _, v := range property.Enum {
			if v != value {
				return v
			}
		}
	}
	text, isText := value.(string)
	lower := isLowerBound(s, argument)
	switch {
	case isText && date.MatchString(text) && lower:
		return "9999-12-31"
	case isText && date.MatchString(text):
		return firstDay
	case isText && year.MatchString(text):
		return strconv.FormatInt(defaultYear(text == strconv.Itoa(firstYear), lower), 10)
	case isText && text == "":
		return "N/A"
	case isText:
		return ""
	case isYear(value):
		return defaultYear(value == int64(firstYear), lower)
	case lower:
		return roundAbove(value)
	case value == int64(1) || value == float64(1):
		return int64(0)
	default:
		return int64(1)
	}
}

// Defaults of dates and years. The last year is later than those of all corpora.
const (
	firstDay  = "1970-01-01"
	firstYear = 1970
	lastYear  = 2030
)

func defaultYear(isFirst, lower bool) int64 {
	if isFirst || lower {
		return lastYear
	}
	return firstYear
}

// roundAbove returns a power of ten that is more than ten times a number.
func roundAbove(v any) int64 {
	x, _ := v.(float64)
	if n, whole := v.(int64); whole {
		x = float64(n)
	}
	round := int64(10)
	for float64(round) <= 10*x && round < fault.MaxExact {
		round *= 10
	}
	return round
}

// ChangeArguments implements [fault.ArgumentStep].
func (f *defaulted) ChangeArguments(
	c *fault.Call, arguments map[string]any,
) (map[string]any, *task.ToolError, *fault.Decision) {
	return f.replace(c, arguments, func(v any) any {
		fresh, err := task.DecodeValue(f.Default)
		if err != nil {
			return v // impossible: parameters are read strictly
		}
		return fresh
	})
}

func (f *defaulted) Hint(*fault.Adviser) (string, error) {
	return f.hint("may be replaced by a default", "its value is another one"), nil
}
