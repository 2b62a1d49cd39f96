package condition

import (
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// Names of the conditions under which tools have to be found. They differ in the kind of search.
const (
	NameOpenWorld      = "open-world"
	NameOpenWorldDense = "open-world-dense"
	NameOpenWorldFused = "open-world-fused"
)

// openWorlds are the conditions under which tools have to be found.
var openWorlds = []string{NameOpenWorld, NameOpenWorldDense, NameOpenWorldFused}

// openWorldEntry makes the row of one of them.
func openWorldEntry(name, kind, by string) entry {
	others := slices.DeleteFunc(slices.Clone(openWorlds), func(other string) bool { return other == name })
	return entry{
		Info: Info{
			Name: name, Kind: KindToolkit,
			Summary: "shows a tool that finds tools of all databases " + by + ", and one that gives their documentation",
			Source:  "Hell or High Water §3.1 and appendix A",
		},
		toolkit: func(int) ToolkitStep { return openWorld{} },
		search:  kind,
		// New names are those of a database; here tools of all databases are found.
		excludes: append(others, "universe-size", nameClosedWorld, NameGoldTools, nameObfuscate),
	}
}

// reasonNothingToFind is why a task is in no open world.
const reasonNothingToFind = "nothing_to_find"

// openWorld is the condition open-world (Hell or High Water §3.1): what is shown at first depends on nothing, and what
// can be found is the whole universe, so that the toolkit stays as it is.
type openWorld struct{}

func (openWorld) Change(in ToolkitInput, kit Toolkit) (Toolkit, *Refusal) {
	switch in.Task.Style {
	case task.StyleFunc, task.StyleRest:
		return kit, nil
	default:
		return Toolkit{}, &Refusal{Reason: reasonNothingToFind, Message: "the tools of the style " + in.Task.Style +
			" are of no database, or belong to one question"}
	}
}

// SearchKind gives the kind of search with which tools are found under conditions, "" where none has to be found.
func SearchKind(conditions []Condition) string {
	for _, c := range conditions {
		if at := find(c.Name); at >= 0 && catalogue[at].search != "" {
			return catalogue[at].search
		}
	}
	return ""
}

// TakesFaults says whether tasks are put under faults within a combination of conditions too: in open and in closed
// worlds, whose tools bear their own names, and where the request says the same in other words.
func TakesFaults(combination []Condition) bool {
	return !slices.ContainsFunc(combination, func(c Condition) bool {
		return c.Name != nameClosedWorld && !slices.Contains(openWorlds, c.Name) && !c.Rephrases()
	})
}

// Struck lists the tools that conditions of the environment act on, in the order of the conditions.
func Struck(conditions []Condition) []string {
	var tools []string
	for _, c := range conditions {
		at := find(c.Name)
		if at < 0 || catalogue[at].Kind != KindEnvironment {
			continue
		}
		if f, err := catalogue[at].decodeFault(c); err == nil {
			tools = append(tools, f.common().Tool)
		}
	}
	return tools
}
