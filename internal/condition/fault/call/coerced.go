package call

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// Ways in which middleware coerces a value.
const (
	coerceUpper = "upper" // text in capitals
	coerceLower = "lower" // text in small letters
	coerceZero  = "zero"  // 0, and the text "0"
	coerceOne   = "one"   // 1, and the text "1"
	coerceMost  = "most"  // the largest number of 32 bits, and its text
)

// most is the limit of clipped numbers.
const most = math.MaxInt32

// Coerced is call.coerced-argument.
var Coerced = altering(fault.Kind{
	Name: "call.coerced-argument", Summary: "the value of an argument is coerced on its way",
	Survival: fault.Survival{Parameters: "tool; argument; strict; how: upper, lower, zero, one or most"},
	New:      func() fault.Fault { return &coerced{} },
}, fault.Proxy{
	Says: "An argument is coerced on its way. The result echoes the arguments that were applied.",
	Settings: []fault.Setting{{
		Name: "how", Form: fault.FormChoice, Required: true,
		Choices: []string{coerceUpper, coerceLower, coerceZero, coerceOne, coerceMost},
		Says: "What the value becomes: a text in capitals or small letters, 0, 1, or the largest number that 32 bits " +
			"hold.",
	}},
	Make: func(s fault.Settings) fault.Fault { return &coerced{proxied(s), s.Text("how", "")} },
})

type coerced struct {
	alteration
	How string `json:"how"`
}

func (f *coerced) Place(p *fault.Placement) string {
	s, reason := f.place(p, anySite)
	if reason == "" {
		f.How = coercion(s, s.Call.Arguments[f.Argument], f.Argument)
	}
	return reason
}

// coercion chooses a way that changes what a comparison with the value finds. Comparisons with patterns ignore case.
func coercion(s *fault.Site, value any, argument string) string {
	text, isText := value.(string)
	if isText && !ignoresCase(s, argument) {
		if strings.ToUpper(text) != text {
			return coerceUpper
		}
		if strings.ToLower(text) != text {
			return coerceLower
		}
	}
	switch {
	case isLowerBound(s, argument):
		return coerceMost
	case value == int64(0) || value == float64(0) || text == "0":
		return coerceOne
	default:
		return coerceZero
	}
}

func ignoresCase(s *fault.Site, argument string) bool {
	if b := fault.BindingOf(s.Tool, argument); b != nil {
		return b.Role == task.RoleLike
	}
	conditions := relationConditions(s)
	return strings.Contains(conditions, "like") || slices.Contains(strings.Fields(conditions), "contains")
}

// ChangeArguments implements [fault.ArgumentStep].
func (f *coerced) ChangeArguments(
	c *fault.Call, arguments map[string]any,
) (map[string]any, *task.ToolError, *fault.Decision) {
	return f.replace(c, arguments, f.coerce)
}

func (f *coerced) coerce(v any) any {
	text, isText := v.(string)
	switch v.(type) {
	case string, int64, float64:
	default:
		return v
	}
	n := map[string]int64{coerceOne: 1, coerceMost: most}[f.How]
	switch {
	case isText && f.How == coerceUpper:
		return strings.ToUpper(text)
	case isText && f.How == coerceLower:
		return strings.ToLower(text)
	case isText:
		return strconv.FormatInt(n, 10)
	default:
		return n
	}
}

func (f *coerced) Hint(*fault.Adviser) (string, error) {
	return f.hint("may have its value changed", "its value is another one"), nil
}
