package condition

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// Names of the conditions whose toolkits are chosen by looking into the database, and of the one that they are compared
// with.
const (
	NameGoldTools      = "gold-tools"
	NameReplaceTool    = "replace-tool"
	NameRelatedTools   = "related-tools"
	NameUnrelatedTools = "unrelated-tools"
)

// Bounds of how many tools replace-tool shows.
const (
	// MinimumReplaced is the least: with fewer there is nothing to be misled by.
	MinimumReplaced = 3
	defaultReplaced = 5
)

// VariantComplete is replace-tool with the right tools in the places of those that replace them: the complete original
// (Incomplete Conditions, "Task Formulation") that an incomplete instance is scored with.
const VariantComplete = "complete"

// choiceConditions are the conditions whose toolkits are chosen. Each stands alone.
var choiceConditions = []entry{
	{
		Info: Info{
			Name: NameReplaceTool, Kind: KindToolkit,
			Parameter: &Parameter{Symbol: "N", Name: "tools", Minimum: MinimumReplaced, Maximum: maxTools,
				Default: defaultReplaced},
			Summary: "shows N tools in which the most similar wrong tools stand for the right ones, and beside it the complete N",
			Source:  sourceICT + "replacement of relevant API",
		},
		toolkit: chosen, choice: true, role: RoleHopeless,
	},
	{
		Info: Info{
			Name: NameRelatedTools, Kind: KindToolkit,
			Parameter: &Parameter{Symbol: "N", Name: "tools", Minimum: 1, Maximum: maxTools},
			Summary:   "shows the tools of the plans and the N most similar ones that cannot give the answer, beside gold-tools (tools that cannot be run: beside the question's own)",
			Source:    sourceRFC + "expanding agent's toolkit",
		},
		toolkit: chosen, choice: true, role: RoleClean, beside: NameGoldTools,
	},
	{
		Info: Info{
			Name: NameUnrelatedTools, Kind: KindToolkit,
			Parameter: &Parameter{Symbol: "N", Name: "tools", Minimum: 1, Maximum: maxTools},
			Summary:   "shows the tools of the plans and N of the least similar ones, beside gold-tools: the control of related-tools",
			Source:    sourceRFC + "future work on tools that are not relevant",
		},
		toolkit: chosen, choice: true, role: RoleClean, beside: NameGoldTools,
	},
}

// Choice is the parameters of a condition whose toolkit is chosen. What a user asks for has a number of tools alone; in
// an instance stands what was chosen, and what the instance shows is its own toolkit.
type Choice struct {
	Tools   int    `json:"tools"`             // that replace-tool shows, or that the others add
	Variant string `json:"variant,omitempty"` // of replace-tool: VariantComplete, or "" for the incomplete instance
	// Replaced are the right tools, each with the wrong one that stands for it, in the order of their names.
	Replaced []Replaced `json:"replaced,omitempty"`
	// Added are the tools beside those of the plans, in the order of their names.
	Added []Added `json:"added,omitempty"`
}

// Replaced is a right tool with the one that stands for it.
type Replaced struct {
	Tool string `json:"tool"`
	By   string `json:"by"`
	// Similarity is that of the two, in thousandths.
	Similarity int `json:"similarity"`
}

// Added is a tool beside those of the plans.
type Added struct {
	Tool string `json:"tool"`
	// Similarity is that to the most similar tool of the plans, in thousandths; of a tool that was made for the task it is
	// not measured.
	Similarity int `json:"similarity,omitempty"`
	// Change is what makes a tool that was made for the task another one than that of its query; see package related.
	Change string `json:"change,omitempty"`
	// Writer is who wrote the tool for the task, "" where nobody had to.
	Writer string `json:"writer,omitempty"`
}

// OfChoice says whether a condition is one of the toolkit that is chosen by looking into the database.
func (c Condition) OfChoice() bool {
	at := find(c.Name)
	return at >= 0 && catalogue[at].choice
}

// Choice reads the parameters of a condition whose toolkit is chosen, nil of another.
func (c Condition) Choice() (*Choice, error) {
	if !c.OfChoice() {
		return nil, nil
	}
	return catalogue[find(c.Name)].decodeChoice(c)
}

// WithChoice gives the condition that an instance has: the one that was asked for, with what was chosen. Its lists are
// put in order.
func (c Condition) WithChoice(made *Choice) (Condition, error) {
	asked, err := c.Choice()
	if err != nil {
		return Condition{}, err
	}
	if asked == nil {
		return Condition{}, fmt.Errorf("condition %s chooses no toolkit", c.Name)
	}
	written := *made
	written.Tools = asked.Tools
	written.Replaced, written.Added = slices.Clone(made.Replaced), slices.Clone(made.Added)
	slices.SortFunc(written.Replaced, func(a, b Replaced) int { return strings.Compare(a.Tool, b.Tool) })
	slices.SortFunc(written.Added, func(a, b Added) int { return strings.Compare(a.Tool, b.Tool) })
	parameters, err := task.Marshal(&written)
	if err != nil {
		return Condition{}, fmt.Errorf("condition %s: %w", c.Name, err)
	}
	return Condition{Name: c.Name, Parameters: parameters}, nil
}

// SameAsked says whether two conditions were asked for in the same words, whatever their variants.
func SameAsked(a, b Condition) bool {
	if a.Name != b.Name {
		return false
	}
	x, err := a.Choice()
	if err != nil || x == nil {
		return bytes.Equal(a.Parameters, b.Parameters)
	}
	y, err := b.Choice()
	return err == nil && x.Tools == y.Tools
}

// ChoiceNeedsPaths says whether some condition can only be met by who knows every right way of a task: see
// [task.Task.Paths].
func ChoiceNeedsPaths(combinations [][]Condition) bool {
	return slices.ContainsFunc(combinations, func(list []Condition) bool {
		return slices.ContainsFunc(list, func(c Condition) bool { return c.Name == NameReplaceTool })
	})
}

// decodeChoice reads the parameters of a condition whose toolkit is chosen, strictly and in their one form.
func (e *entry) decodeChoice(c Condition) (*Choice, error) {
	made := &Choice{}
	if err := task.DecodeStrict(c.Parameters, made); err != nil {
		return nil, fmt.Errorf("condition %s: parameters %s: %w", c.Name, c.Parameters, err)
	}
	written, err := task.Marshal(made)
	if err != nil {
		return nil, fmt.Errorf("condition %s: %w", c.Name, err)
	}
	replaces := e.Name == NameReplaceTool
	if !bytes.Equal(written, c.Parameters) || !made.ordered() || replaces && made.Added != nil || !replaces &&
		made.Replaced != nil ||
		made.Variant != "" && (!replaces || made.Variant != VariantComplete || made.Replaced == nil) {
		return nil, fmt.Errorf("condition %s: its parameters are %s, which nobody would write", c.Name, c.Parameters)
	}
	return made, e.inRange(made.Tools)
}

// ordered says whether lists stand in the order of their names, none twice.
func (m *Choice) ordered() bool {
	var replaced, added []string
	for _, r := range m.Replaced {
		replaced = append(replaced, r.Tool)
	}
	for _, a := range m.Added {
		added = append(added, a.Tool)
	}
	for _, names := range [][]string{replaced, added} {
		for i := 1; i < len(names); i++ {
			if strings.Compare(names[i-1], names[i]) >= 0 {
				return false
			}
		}
	}
	return true
}

// chosenToolkit is a condition whose toolkit is chosen: what is shown stands in the instance, under its own names.
type chosenToolkit struct{}

func chosen(int) ToolkitStep { return chosenToolkit{} }

func (chosenToolkit) Change(_ ToolkitInput, kit Toolkit) (Toolkit, *Refusal) { return kit, nil }

// goldTools is the condition gold-tools: the thin toolkit that expanded ones are compared with (Robustness of Agentic
// Function Calling §2.2). Its tools stay in the order of the universe.
type goldTools struct{}

func (goldTools) Change(in ToolkitInput, kit Toolkit) (Toolkit, *Refusal) {
	gold := in.gold()
	if len(gold) == 0 {
		return Toolkit{}, &Refusal{Reason: reasonNoGoldTools, Message: "no plan of the task calls a tool"}
	}
	return choose(in, kit, len(gold)), nil
}

// besides lists the combinations that others are compared with or made of, and that were not asked for.
func besides(combinations [][]Condition) [][]Condition {
	var list [][]Condition
	known := map[string]bool{}
	for _, combination := range combinations {
		known[Specification(combination)] = true
	}
	add := func(combination ...Condition) {
		if specification := Specification(combination); !known[specification] {
			known[specification] = true
			list = append(list, combination)
		}
	}
	for _, combination := range combinations {
		for _, c := range combination {
			if beside := catalogue[find(c.Name)].beside; beside != "" {
				add(Condition{Name: beside})
			}
		}
		if len(combination) > 1 && combination[0].OfRequest() {
			add(combination[0])
			add(combination[1:]...)
		}
	}
	return list
}
