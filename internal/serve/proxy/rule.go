package proxy

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// Faults is a faults file.
type Faults struct {
	path   string
	seed   uint64
	rules  []*rule
	writes []string // patterns of tools whose calls change something
}

// rule is one fault of a file.
type rule struct {
	name      string
	kind      *kind
	tools     []string // patterns
	calls     calls
	where     []clause
	share     float64 // 1 without one
	arguments bool    // calls are numbered by tool and arguments, not by tool alone
	times     int     // 0 without a bound
	harmless  bool    // a look-alike
	settings  map[string]any
	line      int
	column    int
}

func (r *rule) text(name, otherwise string) string {
	if s, ok := r.settings[name].(string); ok {
		return s
	}
	return otherwise
}

func (r *rule) integer(name string, otherwise int) int {
	if n, ok := r.settings[name].(int); ok {
		return n
	}
	return otherwise
}

func (r *rule) boolean(name string, otherwise bool) bool {
	if b, ok := r.settings[name].(bool); ok {
		return b
	}
	return otherwise
}

// variant is how the record writes what the rule is.
func (r *rule) variant() string {
	if r.harmless {
		return fault.VariantLookalike
	}
	return condition.RoleFault
}

// drifts says whether the rule is a specification that changes in the middle of a session.
func (r *rule) drifts() bool {
	return r.kind.class == classSpecification && !r.harmless && !r.boolean("shown", false)
}

// calls chooses calls by their number, from 1. The zero value chooses all.
type calls struct {
	numbers []int
	from    int
	count   int // 0 without an end
	every   int
}

func (c *calls) has(n int) bool {
	if c.numbers != nil {
		return slices.Contains(c.numbers, n)
	}
	n -= max(c.from, 1)
	return n >= 0 && (c.count == 0 || n < c.count*max(c.every, 1)) && n%max(c.every, 1) == 0
}

// clause is a demand on one argument.
type clause struct {
	argument string
	equal    any // a scalar, where nothing else is set
	like     string
	present  *bool
	above    *float64
	below    *float64
}

func (c *clause) holds(arguments map[string]any) bool {
	given, present := arguments[c.argument]
	if c.present != nil {
		return present == *c.present
	}
	if !present {
		return false
	}
	if c.like != "" {
		s, ok := given.(string)
		return ok && matches(c.like, s)
	}
	if c.above != nil || c.below != nil {
		n, ok := asFloat(given)
		return ok && (c.above == nil || n > *c.above) && (c.below == nil || n < *c.below)
	}
	a, isNumber := asFloat(given)
	b, wantsNumber := asFloat(c.equal)
	switch given.(type) {
	case map[string]any, []any:
		return false
	}
	return isNumber == wantsNumber && (isNumber && a == b || !isNumber && given == c.equal)
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	default:
		return 0, false
	}
}

// matches says whether a name fits a pattern, in which a star stands for any run of characters.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	rest, found := strings.CutPrefix(name, parts[0])
	if !found {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			return false
		}
		rest = after
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// aims says whether the rule is about a tool.
func (r *rule) aims(tool string) bool {
	return slices.ContainsFunc(r.tools, func(p string) bool { return matches(p, tool) })
}

// chooses says whether the rule is about a call: a function of the seed and the call alone.
func (r *rule) chooses(seed uint64, c *call) bool {
	number, drawn := c.attempt, []string{"proxy", r.name, c.tool, strconv.Itoa(c.attempt)}
	if r.arguments {
		number = c.attemptArguments
		drawn = []string{"proxy", r.name, c.tool, c.digest, strconv.Itoa(number)}
	}
	if !r.aims(c.tool) || !r.calls.has(number) {
		return false
	}
	for i := range r.where {
		if !r.where[i].holds(c.given()) {
			return false
		}
	}
	return r.share >= 1 || task.Draw(seed, drawn...).Float64() < r.share
}
