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
	s, reason := f.place(p, anySite)
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
	_, isText := value.(string)
	switch {
	case value == "default":
		return "standard"
	case isLowerBound(s, argument) && isText:
		return strconv.Itoa(most)
	case isLowerBound(s, argument):
		return int64(most)
	case value == int64(1) || value == float64(1):
		return int64(0)
	case isText:
		return "default"
	default:
		return int64(1)
	}
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
