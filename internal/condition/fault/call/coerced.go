package call

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// Ways in which middleware coerces a value.
const (
	coerceUpper  = "upper"   // text in capitals
	coerceLower  = "lower"   // text in small letters
	coerceQuoted = "quoted"  // text encoded twice, so that it contains its quotes
	coerceNumber = "number"  // text of digits as a number: without leading zeros, else with a fraction
	coerceDate   = "date"    // a year as its first day
	coerceEpoch  = "epoch"   // a date or a year as the seconds since 1970
	coerceCents  = "hundred" // a number times 100, as amounts in cents are
	coerceZero   = "zero"    // 0, and the text "0" in place of one that is a number
	coerceOne    = "one"     // 1, and the text "1"
	coerceMost   = "most"    // the largest number of 32 bits, and its text
)

// most is the limit of clipped numbers.
const most = math.MaxInt32

// coercions lists them.
var coercions = []string{
	coerceUpper, coerceLower, coerceQuoted, coerceNumber, coerceDate, coerceEpoch, coerceCents, coerceZero, coerceOne,
	coerceMost,
}

// Coerced is call.coerced-argument.
var Coerced = altering(fault.Kind{
	Name: "call.coerced-argument", Summary: "the value of an argument is coerced on its way",
	Survival: fault.Survival{Parameters: "tool; argument; strict; how: " + strings.Join(coercions, ", ")},
	New:      func() fault.Fault { return &coerced{} },
}, fault.Proxy{
	Says: "An argument is coerced on its way. The result echoes the arguments that were applied.",
	Settings: []fault.Setting{{
		Name: "how", Form: fault.FormChoice, Required: true,
		Choices: coercions,
		Says: "What the value becomes: a text in capitals, in small letters or in quotes of its own; digits as a number, " +
			"without leading zeros or with a fraction; a year as its first day; a date or a year as seconds since 1970; a " +
			"number times a hundred, 0, 1, or the largest that 32 bits can represent. Values that cannot become it stay.",
	}},
	Make: func(s fault.Settings) fault.Fault { return &coerced{proxied(s), s.Text("how", "")} },
})

type coerced struct {
	alteration
	How string `json:"how"`
}

func (f *coerced) Place(p *fault.Placement) string {
	s, reason := f.place(p, func(*fault.Site, fault.Literal) bool { return true })
	if reason == "" {
		f.How = coercion(s, s.Call.Arguments[f.Argument], f.Argument)
	}
	return reason
}

// coercion chooses a way that changes what a comparison with the value finds. Comparisons with patterns ignore case.
func coercion(s *fault.Site, value any, argument string) string {
	text, isText := value.(string)
	switch {
	case isText && year.MatchString(text):
		return coerceDate
	case isText && date.MatchString(text):
		return coerceEpoch
	case isText && isDigits(text):
		return coerceNumber
	case isText && ignoresCase(s, argument):
		return coerceQuoted
	case isText && strings.ToUpper(text) != text:
		return coerceUpper
	case isText && strings.ToLower(text) != text:
		return coerceLower
	case isText:
		return coerceQuoted
	case isYear(value):
		return coerceEpoch
	case isLowerBound(s, argument) && value != int64(0) && value != float64(0):
		return coerceCents
	case value == int64(0) || value == float64(0):
		return coerceOne
	default:
		return coerceZero
	}
}

var (
	year = regexp.MustCompile(`^[12]\d{3}$`)
	date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)
)

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// isYear reports whether a number may be a year of our time.
func isYear(v any) bool {
	n, ok := v.(int64)
	return ok && n >= 1800 && n <= 2100
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

// coerce returns the value as the middleware passes it on. A value that cannot be coerced in this way stays.
func (f *coerced) coerce(v any) any {
	switch v := v.(type) {
	case string:
		return f.coerceText(v)
	case int64, float64:
		return f.coerceNumber(v)
	default:
		return v
	}
}

func (f *coerced) coerceText(text string) string {
	switch f.How {
	case coerceUpper:
		return strings.ToUpper(text)
	case coerceLower:
		return strings.ToLower(text)
	case coerceQuoted:
		return strconv.Quote(text)
	case coerceNumber:
		if !isDigits(text) {
			return text
		}
		if short := strings.TrimLeft(text, "0"); short != text {
			return cmp.Or(short, "0")
		}
		return text + ".0"
	case coerceDate:
		if year.MatchString(text) {
			return text + "-01-01"
		}
	case coerceEpoch:
		if date.MatchString(text) {
			if day, err := time.Parse(time.DateOnly, text[:len(time.DateOnly)]); err == nil {
				return strconv.FormatInt(day.Unix(), 10)
			}
		}
	case coerceZero, coerceOne, coerceMost:
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return strconv.FormatInt(f.constant(), 10)
		}
	}
	return text
}

func (f *coerced) coerceNumber(v any) any {
	switch f.How {
	case coerceEpoch:
		if isYear(v) {
			return time.Date(int(v.(int64)), time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
		}
	case coerceCents:
		if n, whole := v.(int64); whole && n > -fault.MaxExact && n < fault.MaxExact {
			return n * 100
		}
		if x, real := v.(float64); real {
			return x * 100
		}
	case coerceZero, coerceOne, coerceMost:
		return f.constant()
	}
	return v
}

// constant is the number that replaces others.
func (f *coerced) constant() int64 { return map[string]int64{coerceOne: 1, coerceMost: most}[f.How] }

func (f *coerced) Hint(*fault.Adviser) (string, error) {
	return f.hint("may have its value changed", "its value is another one"), nil
}
