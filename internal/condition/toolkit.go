package condition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// ToolkitInput is what conditions of the toolkit depend on, and all that they depend on.
type ToolkitInput struct {
	Task     *task.Task
	Universe []*task.Tool // what the agent would be shown without conditions, in that order; names are unique
	// Elsewhere are the names of tools of other databases, for conditions that show more tools than the database has;
	// names are unique, among those of Universe too. nil where none are to be shown.
	Elsewhere []string
	Seed      uint64 // of the instance
}

// Toolkit is what an agent is shown: tools by their own names, in the order in which they are shown, and the names
// under which they are shown.
type Toolkit struct {
	Names    []string
	Renaming *Renaming // nil where tools bear their own names
}

// Names of conditions of the toolkit that others ask for.
const (
	nameClosedWorld = "closed-world"
	nameObfuscate   = "obfuscate"
)

// Refusal says why a task cannot be put under a condition.
type Refusal struct {
	Condition Condition
	Reason    string // from the closed list of [Refusals]
	Message   string
}

// Reasons of refusals, a closed list.
const (
	reasonManyGoldTools = "more_gold_tools"
	reasonFewTools      = "too_few_tools"
	reasonNoGoldTools   = "no_gold_tools"
	// ReasonNoWording is the one reason that is not of the task alone: nothing was made of its request.
	ReasonNoWording = "no_wording"
)

// Refusals lists the reasons of refusals with their explanations.
func Refusals() map[string]string {
	reasons := map[string]string{
		reasonManyGoldTools: "the plans of the task need more tools than the condition shows",
		reasonFewTools:      "there are fewer tools than the condition shows",
		reasonNothingToFind: "the tools are of no database, or belong to one question: there is nothing to search",
		reasonNoGoldTools:   "no plan of the task calls a tool",
		ReasonNoWording:     "the request has no such wording: see why it has none under the condition of the request alone",
	}
	maps.Copy(reasons, faultReasons)
	return reasons
}

// ToolkitStep is a condition of the toolkit at work. It is pure: what it does depends on its own parameter and on what
// it is given, and it changes nothing of that.
type ToolkitStep interface {
	Change(in ToolkitInput, kit Toolkit) (Toolkit, *Refusal)
}

// ChangeToolkit gives the toolkit of a task under conditions, of which those of other kinds are passed over. They apply
// in the order of the catalogue, whatever the order in which they are listed. A refusal leaves no toolkit. The error is
// Seatrial's own failure: a condition that [Parse] cannot have read, or a universe in which two tools have one name or
// a tool of the task's plans is missing.
func ChangeToolkit(conditions []Condition, in ToolkitInput) (Toolkit, *Refusal, error) {
	kit := Toolkit{Names: make([]string, len(in.Universe))}
	known := make(map[string]bool, len(in.Universe))
	for i, t := range in.Universe {
		if known[t.Name] {
			return Toolkit{}, nil, fmt.Errorf("task %s: two tools are called %q", in.Task.ID, t.Name)
		}
		kit.Names[i], known[t.Name] = t.Name, true
	}
	for _, name := range in.gold() {
		if !known[name] {
			return Toolkit{}, nil, fmt.Errorf("task %s: its plans call %q, which is not among its tools", in.Task.ID, name)
		}
	}
	ordered := slices.Clone(conditions)
	slices.SortStableFunc(ordered, func(a, b Condition) int { return find(a.Name) - find(b.Name) })
	for _, c := range ordered {
		e, value, err := c.decode()
		if err != nil {
			return Toolkit{}, nil, fmt.Errorf("task %s: %w", in.Task.ID, err)
		}
		if e.Kind != KindToolkit {
			continue
		}
		changed, refusal := e.toolkit(value).Change(in, kit)
		if refusal != nil {
			refusal.Condition = c
			return Toolkit{}, refusal, nil
		}
		kit = changed
	}
	return kit, nil, nil
}

// gold lists the tools that any plan of the task calls, in the order of their names.
func (in *ToolkitInput) gold() []string {
	var names []string
	for i := range in.Task.Plans {
		for j := range in.Task.Plans[i].Calls {
			names = append(names, in.Task.Plans[i].Calls[j].Tool)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// shuffled gives names in an order that depends on the seed, the task's database and style, and the stream's name
// alone: two names stand in the same order in every list that holds them both.
func (in *ToolkitInput) shuffled(stream string, names []string) []string {
	type ranked struct{ rank, name string }
	order := make([]ranked, len(names))
	for i, name := range names {
		order[i] = ranked{task.Hash(in.Seed, stream, in.Task.Database, in.Task.Style, name), name}
	}
	slices.SortFunc(order, func(a, b ranked) int {
		return cmp.Or(strings.Compare(a.rank, b.rank), strings.Compare(a.name,
			b.name))
	})
	shuffled := make([]string, len(order))
	for i := range order {
		shuffled[i] = order[i].name
	}
	return shuffled
}

// universeSize is the condition universe-size (NL2API, appendix C.2): P % of the universe, rounded down as the paper's
// table 4 is, and never less than the gold tools. What a smaller share shows, a larger one shows too.
type universeSize struct{ percent int }

func (s universeSize) Change(in ToolkitInput, kit Toolkit) (Toolkit, *Refusal) {
	return choose(in, kit, max(len(kit.Names)*s.percent/100, len(in.gold()))), nil
}

// closedWorld is the condition closed-world (Hell or High Water, closed world experiments): the gold tools of every
// plan and seeded distractors, N in all: of the task's database, and where it has too few of other databases. What a
// smaller world shows, a larger one shows too.
type closedWorld struct{ tools int }

func (s closedWorld) Change(in ToolkitInput, kit Toolkit) (Toolkit, *Refusal) {
	switch gold := len(in.gold()); {
	case gold > s.tools:
		return Toolkit{}, &Refusal{
			Reason: reasonManyGoldTools, Message: fmt.Sprintf("its plans call %d tools, and %d are to be shown", gold, s.tools),
		}
	case len(kit.Names)+len(in.Elsewhere) < s.tools:
		return Toolkit{}, &Refusal{
			Reason: reasonFewTools, Message: fmt.Sprintf("there are %d tools, and %d are to be shown",
				len(kit.Names)+len(in.Elsewhere), s.tools),
		}
	case len(kit.Names) < s.tools:
		// One order for all of them: what came last would be known to be a distractor.
		kit.Names = in.shuffled("order", slices.Concat(kit.Names, in.drawnElsewhere(s.tools-len(kit.Names))))
		return kit, nil
	}
	return choose(in, kit, s.tools), nil
}

// ReachesElsewhere says whether conditions may show tools of other databases. New names are those of one database.
func ReachesElsewhere(conditions []Condition) bool {
	named := func(name string) bool {
		return slices.ContainsFunc(conditions, func(c Condition) bool { return c.Name == name })
	}
	return named(nameClosedWorld) && !named(nameObfuscate)
}

// drawnElsewhere draws n tools of other databases. What a smaller number draws, a larger one draws too.
func (in *ToolkitInput) drawnElsewhere(n int) []string {
	random := task.Draw(in.Seed, "elsewhere", in.Task.Database, in.Task.Style)
	drawn := make(map[int]bool, n)
	names := make([]string, 0, n)
	for len(names) < n {
		if i := random.IntN(len(in.Elsewhere)); !drawn[i] {
			drawn[i] = true
			names = append(names, in.Elsewhere[i])
		}
	}
	return names
}

// choose keeps n tools: the gold ones, and the first others of one shuffled order. They stay in the order of the
// universe, which does not know what is gold.
func choose(in ToolkitInput, kit Toolkit, n int) Toolkit {
	kept := map[string]bool{}
	for _, name := range in.gold() {
		kept[name] = true
	}
	for _, name := range in.shuffled("distractors", kit.Names) {
		if len(kept) < n {
			kept[name] = true
		}
	}
	kit.Names = slices.DeleteFunc(slices.Clone(kit.Names), func(name string) bool { return !kept[name] })
	return kit
}

// obfuscate is the condition obfuscate (NL2API, appendix C.1).
type obfuscate struct{}

func (obfuscate) Change(in ToolkitInput, kit Toolkit) (Toolkit, *Refusal) {
	kit.Renaming = newRenaming(in)
	return kit, nil
}
