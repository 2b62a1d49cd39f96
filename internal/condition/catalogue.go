package condition

import (
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/search"
)

// Kinds of conditions, by what they change.
const (
	KindRequest     = "request"
	KindToolkit     = "toolkit"
	KindEnvironment = "environment"
)

// Info describes a condition to a person.
type Info struct {
	Name      string
	Kind      string     // KindRequest, KindToolkit or KindEnvironment
	Parameter *Parameter // nil for a condition that takes none
	Summary   string     // one sentence
	Source    string     // the paper and its section that define it
	Survival  *Survival  // of a condition of the environment; nil for others
}

// Parameter is the one whole number that a condition may take.
type Parameter struct {
	Symbol           string // in usage: P
	Name             string // in JSON: percent
	Minimum, Maximum int
	Default          int // what stands for no number; 0 where one has to be given
}

// Usage writes how the condition is asked for: universe-size:P, surface[:N].
func (i *Info) Usage() string {
	switch {
	case i.Parameter == nil:
		return i.Name
	case i.Parameter.Default != 0:
		return i.Name + "[:" + i.Parameter.Symbol + "]"
	default:
		return i.Name + ":" + i.Parameter.Symbol
	}
}

// entry is a row of the catalogue.
type entry struct {
	Info
	// toolkit makes the step of a condition of the toolkit; value is that of the parameter, 0 where there is none.
	toolkit func(value int) ToolkitStep
	// fault makes the parameters of a condition of the environment, all at their zero values.
	fault func() fault
	// points bounds the failpoints of a condition of the environment in one instance; passes says that its failures end
	// after some times, so that one tool can be struck several times.
	points int
	passes bool
	// role is that of an instance under a condition of the request, or of one whose toolkit is chosen.
	role string
	// choice says that the toolkit is chosen by looking into the database; see [Choice].
	choice bool
	// beside names the condition that the instances of this one are compared with, which is put beside it.
	beside string
	// search is the kind of search of an open world.
	search string
	// excludes names the conditions that settle the same thing another way: they cannot be combined with this one.
	excludes []string
}

// maxTools bounds the numbers of tools that can be asked for: no universe is larger.
const maxTools = 1_000_000

// catalogue is the table of all conditions, in the order in which those of one instance apply.
var catalogue = slices.Concat(requestConditions, toolkitConditions, choiceConditions, faultConditions)

// toolkitConditions are the conditions of the toolkit.
var toolkitConditions = []entry{
	{
		Info: Info{
			Name: "universe-size", Kind: KindToolkit,
			Parameter: &Parameter{Symbol: "P", Name: "percent", Minimum: 1, Maximum: 100},
			Summary:   "shows the gold tools within a seeded P % of the tools of the task's database",
			Source:    "NL2API §4.3.2 and appendix C.2",
		},
		toolkit:  func(value int) ToolkitStep { return universeSize{percent: value} },
		excludes: append([]string{nameClosedWorld, NameGoldTools}, openWorlds...),
	},
	{
		Info: Info{
			Name: nameClosedWorld, Kind: KindToolkit,
			Parameter: &Parameter{Symbol: "N", Name: "tools", Minimum: 1, Maximum: maxTools},
			Summary:   "shows N tools, the gold tools among them; where the database has fewer, others are of other databases",
			Source:    "Hell or High Water, closed world experiments",
		},
		toolkit:  func(value int) ToolkitStep { return closedWorld{tools: value} },
		excludes: append([]string{"universe-size", NameGoldTools}, openWorlds...),
	},
	{
		Info: Info{
			Name: NameGoldTools, Kind: KindToolkit,
			Summary: "shows the tools of the plans alone, which related-tools and unrelated-tools expand",
			Source:  sourceRFC + "original toolkit",
		},
		toolkit:  func(int) ToolkitStep { return goldTools{} },
		excludes: append([]string{"universe-size", nameClosedWorld}, openWorlds...),
	},
	openWorldEntry(NameOpenWorld, search.Lexical, "by its words"),
	openWorldEntry(NameOpenWorldDense, search.Dense, "by its meaning"),
	openWorldEntry(NameOpenWorldFused, search.Fused, "by its words and its meaning"),
	{
		Info: Info{
			Name: nameObfuscate, Kind: KindToolkit,
			Summary: "calls the tools FUNC_0, FUNC_1, … and their arguments ARG_1, ARG_2, …",
			Source:  "NL2API §4.3.1 and appendix C.1",
		},
		toolkit:  func(int) ToolkitStep { return obfuscate{} },
		excludes: openWorlds,
	},
}

// Catalogue lists all conditions, in the order in which those of one instance apply.
func Catalogue() []Info {
	list := make([]Info, len(catalogue))
	for i := range catalogue {
		list[i] = catalogue[i].Info
	}
	return list
}

// find gives a condition's place in the catalogue, -1 where it is unknown.
func find(name string) int {
	for i := range catalogue {
		if catalogue[i].Name == name {
			return i
		}
	}
	return -1
}

// decode gives the row of the catalogue and the value of the parameter, 0 where there is none. An unknown name, and
// parameters that are not written as [Parse] writes them, are errors.
func (c Condition) decode() (*entry, int, error) {
	at := find(c.Name)
	if at < 0 {
		return nil, 0, unknown(c.Name)
	}
	e := &catalogue[at]
	switch e.Kind {
	case KindEnvironment:
		_, err := e.decodeFault(c)
		return e, 0, err
	case KindRequest:
		r, err := e.decodeRequest(c)
		if err != nil {
			return e, 0, err
		}
		return e, r.Strength, nil
	}
	if e.choice {
		made, err := e.decodeChoice(c)
		if err != nil {
			return e, 0, err
		}
		return e, made.Tools, nil
	}
	if e.Parameter == nil {
		if c.Parameters != nil {
			return nil, 0, fmt.Errorf("condition %s takes no parameters, and has %s", c.Name, c.Parameters)
		}
		return e, 0, nil
	}
	fields := map[string]int{}
	if err := task.DecodeStrict(c.Parameters, &fields); err != nil {
		return nil, 0, fmt.Errorf("condition %s: parameters %s: %w", c.Name, c.Parameters, err)
	}
	value := fields[e.Parameter.Name]
	if want := string(e.Parameter.encode(value)); string(c.Parameters) != want {
		return nil, 0, fmt.Errorf("condition %s: its parameters are %s, where %s would be written", c.Name, c.Parameters,
			want)
	}
	if err := e.inRange(value); err != nil {
		return nil, 0, err
	}
	return e, value, nil
}

// encode writes the parameters of a condition.
func (p *Parameter) encode(value int) []byte {
	return fmt.Appendf(nil, `{"%s":%d}`, p.Name, value)
}
