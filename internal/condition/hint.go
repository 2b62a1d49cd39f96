package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// Hint is advice on the conditions of an instance, for the arms of an experiment that give it (ToolBench-X, guided
// profiles). It is made from what the parameters name: tools, arguments and fields. It tells neither an answer nor the
// value of an argument, and not whether a fault, its mirror, its look-alike or its control is at work: it says what may
// happen, how to check, and that all is well where the check shows nothing.
type Hint struct {
	// Text names the symptom, what survives, when to switch and how to check.
	Text string
	// Oracle names the hazards and defines them, and says nothing of the tools.
	Oracle string
}

// adviser is what hints are made from beside the parameters of their own condition.
type adviser struct {
	FaultInput
	gone map[string]bool // tools that fail for good
}

// Advise makes the hint of an instance. Where several conditions are at work, there is one hint for each, in the order
// in which an agent is to undo them: first what refuses or alters calls, as [Faults] applies it, then what alters
// results, in the opposite order. Conditions of other kinds than the environment's are passed over; with none left the
// hint is empty. The error is Seatrial's own failure: parameters that [Place] cannot have written.
func Advise(conditions []Condition, in FaultInput) (Hint, error) {
	type placed struct {
		at int // in the catalogue
		fault
	}
	var faults []placed
	a := &adviser{FaultInput: in, gone: map[string]bool{}}
	for _, c := range conditions {
		e, _, err := c.decode()
		if err != nil {
			return Hint{}, fmt.Errorf("task %s: hint: %w", in.Task.ID, err)
		}
		if e.Kind != KindEnvironment {
			continue
		}
		f, err := e.decodeFault(c)
		if err != nil {
			return Hint{}, fmt.Errorf("task %s: hint: %w", in.Task.ID, err)
		}
		if _, forGood := f.(*unavailable); forGood {
			a.gone[f.common().Tool] = true
		}
		faults = append(faults, placed{find(c.Name), f})
	}
	slices.SortStableFunc(faults, func(x, y placed) int { return undone(x.at) - undone(y.at) })
	var texts, hazards []string
	several := false
	for _, f := range faults {
		text, err := f.hint(a)
		if err != nil {
			return Hint{}, fmt.Errorf("task %s: hint on %s: %w", in.Task.ID, f.common().name, err)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		several = several || f.at != faults[0].at
		if hazard := catalogue[f.at].Survival.Hazard; !slices.Contains(hazards, hazard) {
			hazards = append(hazards, hazard)
		}
	}
	if several {
		texts = append([]string{"More than one kind of trouble may meet you. See to them in the order in which they stand here."}, texts...)
	}
	definitions := make([]string, len(hazards))
	for i, hazard := range hazards {
		definitions[i] = "A hazard to reckon with: " + hazard + ". " + hazardDefinitions[hazard]
	}
	return Hint{Text: strings.Join(texts, "\n"), Oracle: strings.Join(definitions, "\n")}, nil
}

// undone gives the place of a kind in the order in which an agent undoes what was done.
func undone(at int) int {
	if first := find(conflicts[0]); at >= first { // the first kind that alters results
		return first + len(catalogue) - at
	}
	return at
}

// hazardDefinitions define the hazards.
var hazardDefinitions = map[string]string{
	HazardSpecification: "What a tool takes or returns has moved away from what its documentation says.",
	HazardInvocation:    "A right call is turned away, or is altered on its way, before the tool answers it.",
	HazardExecution:     "A tool breaks down, stops half-way or is late while it carries out a call.",
	HazardOutput:        "A result holds what was asked for, written or arranged in another way than usual.",
	HazardConflict:      "Sources that should agree contradict each other, and one of them is wrong.",
	HazardMissing:       "The tools that would settle the request are not there, and similar ones are.",
}

// code writes a name as it stands in hints.
func code(name string) string { return "`" + name + "`" }

// enumerate writes names one after the other: `a`, `b` and `c`.
func enumerate(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" and ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(code(name))
	}
	return b.String()
}

// way writes tools that are called one after the other.
func way(tools []string) string {
	parts := make([]string, len(tools))
	for i, name := range tools {
		parts[i] = code(name)
	}
	return strings.Join(parts, ", then ")
}

// ways writes several ways.
func ways(list [][]string) string {
	parts := make([]string, len(list))
	for i, tools := range list {
		parts[i] = way(tools)
	}
	return strings.Join(parts, "; or ")
}

// sound lists the ways to the right answer that an agent can be expected to find with the tools that it is shown, each
// by its tools in the order of their first calls, those with fewer tools first.
func (a *adviser) sound() [][]string {
	var list [][]string
	for _, plan := range a.Task.Sound() {
		tools := calledTools(plan)
		if slices.ContainsFunc(tools, func(name string) bool { return a.tool(name) == nil }) {
			continue
		}
		if !slices.ContainsFunc(list, func(known []string) bool { return slices.Equal(known, tools) }) {
			list = append(list, tools)
		}
	}
	slices.SortStableFunc(list, func(x, y []string) int { return len(x) - len(y) })
	return list
}

func calledTools(plan *task.Plan) []string {
	var tools []string
	for i := range plan.Calls {
		if name := plan.Calls[i].Tool; !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return tools
}

// around chooses ways of which at least one does without any single tool that fails for good: the shortest one, and for
// each of its tools that no chosen way avoids yet another one.
func (a *adviser) around() ([][]string, error) {
	all := a.sound()
	if len(all) == 0 {
		return nil, fmt.Errorf("no way is left with the tools that are shown")
	}
	chosen := all[:1:1]
	for _, tool := range all[0] {
		avoids := func(way []string) bool { return !slices.Contains(way, tool) }
		if slices.ContainsFunc(chosen, avoids) {
			continue
		}
		at := slices.IndexFunc(all, avoids)
		if at < 0 {
			return nil, fmt.Errorf("no way does without %q", tool)
		}
		chosen = append(chosen, all[at])
	}
	return chosen, nil
}
