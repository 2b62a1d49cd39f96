package condition

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
)

// Parse reads a condition as it is given on the command line: name[:parameter]. A mistake is a [*diag.Error] of exit
// code [diag.ExitUsage] that names the nearest condition, or says how the condition is written.
func Parse(text string) (Condition, error) {
	name, parameter, given := strings.Cut(text, ":")
	at := find(name)
	if at < 0 {
		return Condition{}, unknown(name)
	}
	e := &catalogue[at]
	switch {
	case e.Kind == KindEnvironment:
		return Condition{}, diag.Usagef("%s is a fault, not a condition of request or toolkit",
			e.Name).WithHint("ask for it with --fault %s", text)
	case e.Parameter == nil && given:
		return Condition{}, diag.Usagef("condition %s takes no parameter", e.Name).WithHint("%s", e.Usage())
	case e.Parameter == nil:
		return Condition{Name: e.Name}, nil
	case !given && e.Parameter.Default != 0:
		return Condition{Name: e.Name, Parameters: e.Parameter.encode(e.Parameter.Default)}, nil
	case !given:
		return Condition{}, diag.Usagef("condition %s needs a parameter", e.Name).WithHint("%s", e.usageInRange())
	}
	value, err := strconv.Atoi(parameter)
	if err != nil || strconv.Itoa(value) != parameter {
		return Condition{}, diag.Usagef("condition %s: %q is not a whole number", e.Name, parameter).WithHint("%s",
			e.usageInRange())
	}
	if err := e.inRange(value); err != nil {
		return Condition{}, err
	}
	return Condition{Name: e.Name, Parameters: e.Parameter.encode(value)}, nil
}

// ParseCombination reads conditions joined by a plus sign and gives them in the order in which they apply, which is
// that of the catalogue: first what changes the request, then what changes the toolkit. A condition that stands twice,
// and two that exclude each other, are mistakes, as two of the request do; so is one that changes what is right, or one
// whose toolkit is chosen, that does not stand alone.
func ParseCombination(text string) ([]Condition, error) {
	var list []Condition
	for part := range strings.SplitSeq(text, "+") {
		c, err := Parse(part)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	slices.SortStableFunc(list, func(a, b Condition) int { return find(a.Name) - find(b.Name) })
	for i, c := range list {
		for _, other := range list[i+1:] {
			if c.Name != other.Name && (c.alone() || other.alone()) {
				alone := c.Name
				if !c.alone() {
					alone = other.Name
				}
				return nil, diag.Usagef("%q: condition %s stands alone", text, alone).WithHint("give each a --condition of its own")
			}
			if c.Name == other.Name {
				return nil, diag.Usagef("%q names condition %s twice", text, c.Name)
			}
			if slices.Contains(catalogue[find(c.Name)].excludes, other.Name) {
				return nil, diag.Usagef("%q: conditions %s and %s exclude each other", text, c.Name, other.Name).
					WithHint("give each a --condition of its own")
			}
		}
	}
	return list, nil
}

// ParseCombinations reads the combinations that a command was given, one a flag, in their order, and puts behind them
// those that some of them are compared with or made of: of a request in other words within a toolkit, the words alone
// and the toolkit alone. Two that mean the same are a mistake.
func ParseCombinations(texts []string) ([][]Condition, error) {
	list, err := ParseAsked(texts)
	if err != nil {
		return nil, err
	}
	return append(list, besides(list)...), nil
}

// ParseAsked reads combinations as [ParseCombinations] does, and puts nothing behind them: a task whose tools cannot be
// run is compared with itself as it is.
func ParseAsked(texts []string) ([][]Condition, error) {
	var list [][]Condition
	given := map[string]string{}
	for _, text := range texts {
		combination, err := ParseCombination(text)
		if err != nil {
			return nil, err
		}
		specification := Specification(combination)
		if earlier, twice := given[specification]; twice {
			return nil, diag.Usagef("conditions %q and %q are the same", earlier, text)
		}
		given[specification] = text
		list = append(list, combination)
	}
	return list, nil
}

// alone says whether a condition cannot be combined with others.
func (c Condition) alone() bool { return c.OfRequest() && !c.Rephrases() || c.OfChoice() }

// Specification writes conditions as [ParseCombination] reads them.
func Specification(conditions []Condition) string {
	parts := make([]string, len(conditions))
	for i, c := range conditions {
		parts[i] = c.String()
	}
	return strings.Join(parts, "+")
}

// String writes a condition as [Parse] reads it. One that it would not have read is written as it stands; one of the
// environment is written as its name, and after a tilde its variant, if it is not the fault itself; so is the complete
// variant of replace-tool.
func (c Condition) String() string {
	e, value, err := c.decode()
	switch {
	case err != nil && c.Parameters == nil:
		return c.Name
	case err != nil:
		return c.Name + ":" + string(c.Parameters)
	case e.Kind == KindEnvironment && c.Variant() == VariantFault:
		return e.Name
	case e.Kind == KindEnvironment:
		return e.Name + "~" + c.Variant()
	case e.choice && c.Variant() != "":
		return e.Name + ":" + strconv.Itoa(value) + "~" + c.Variant()
	case e.Parameter == nil:
		return e.Name
	default:
		return e.Name + ":" + strconv.Itoa(value)
	}
}

// unknown says that there is no such condition of request or toolkit, and which one may have been meant.
func unknown(name string) error { return unknownOf("condition", name, KindRequest, KindToolkit) }

// unknownOf says that there is no condition of those kinds under that name.
func unknownOf(what, name string, kinds ...string) error {
	var known []string
	for i := range catalogue {
		if slices.Contains(kinds, catalogue[i].Kind) {
			known = append(known, catalogue[i].Name)
		}
	}
	return diag.Unknown(what, name, known)
}

// inRange says whether the parameter may have that value.
func (e *entry) inRange(value int) error {
	if value < e.Parameter.Minimum || value > e.Parameter.Maximum {
		return diag.Usagef("condition %s: %d is out of range", e.Name, value).WithHint("%s", e.usageInRange())
	}
	return nil
}

func (e *entry) usageInRange() string {
	p := e.Parameter
	return fmt.Sprintf("%s, with %s from %d to %d", e.Usage(), p.Symbol, p.Minimum, p.Maximum)
}
