package condition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/task"
)

// Variants of a condition of the environment, as they stand in its parameters.
const (
	VariantFault     = ""          // the fault itself
	VariantLookalike = "lookalike" // what looks like it and is harmless
	VariantMirror    = "mirror"    // of a conflict: the source that the plan does not use is the wrong one
	// VariantControl is the clean arm of a kind that changes the toolkit: its tools are there, and nothing goes wrong.
	VariantControl = "control"
)

// Hazards, the classes of kinds (ToolBench-X, abstract).
const (
	HazardSpecification = "specification drift"
	HazardInvocation    = "invocation error"
	HazardExecution     = "execution failure"
	HazardOutput        = "output drift"
	HazardConflict      = "cross-source conflict"
	// HazardMissing is none of that paper's: the tools that would do are not there (Hell or High Water §5).
	HazardMissing = "missing tools"
)

// Hazards lists the hazards, in the order of that paper; missing tools stand at the end.
func Hazards() []string {
	return []string{HazardSpecification, HazardInvocation, HazardExecution, HazardOutput, HazardConflict, HazardMissing}
}

// Survival describes a kind of fault to a person. A condition of another kind has none.
type Survival struct {
	Hazard     string // one of the Hazard constants
	Visible    string // what an agent can see
	By         string // how it is survived
	Parameters string // those drawn for a task, by their names in JSON
	Lookalike  string // what the harmless double does
	Mirror     string // of a conflict: what its mirror does
	Companions string // the tools that it adds
	Hopeless   bool   // nothing survives it: giving up is right
	Harmless   bool   // it has no fault of its own: it is a look-alike whatever variant is asked for
}

// Fault is what a user asks for: a kind, and how many failpoints an instance is to have (ToolBench-X §3 calls so the
// points at which a hazard strikes).
type Fault struct {
	Kind   string
	Points int // 0 leaves it to the kind: one, or a few for failures that pass
}

// String writes a fault as [ParseFaults] reads it.
func (f Fault) String() string {
	if f.Points == 0 {
		return f.Kind
	}
	return f.Kind + ":" + strconv.Itoa(f.Points)
}

// FaultSpecification writes faults that strike together as [ParseFaults] reads them.
func FaultSpecification(faults []Fault) string {
	parts := make([]string, len(faults))
	for i, f := range faults {
		parts[i] = f.String()
	}
	return strings.Join(parts, "+")
}

// maxPoints bounds the failpoints of one kind in an instance.
const maxPoints = 8

// faultsAll asks for every kind, each by itself.
const faultsAll = "all"

// ParseFaults reads the faults that a command was given, one combination a text, in their order: NAME[:POINTS], several
// that strike together joined by a plus sign, or `all` for every kind by itself. The faults of a combination stand in
// the order in which they apply. Mistakes are of the type [*diag.Error] with the exit code [diag.ExitUsage]; two
// combinations that mean the same are one.
func ParseFaults(texts []string) ([][]Fault, error) {
	var combinations [][]Fault
	given := map[string]string{}
	add := func(text string, faults []Fault) error {
		specification := FaultSpecification(faults)
		if earlier, twice := given[specification]; twice {
			return diag.Usagef("faults %q and %q are the same", earlier, text)
		}
		given[specification] = text
		combinations = append(combinations, faults)
		return nil
	}
	for _, text := range texts {
		if text == faultsAll {
			for i := range catalogue {
				if catalogue[i].Kind != KindEnvironment {
					continue
				}
				if err := add(text, []Fault{{Kind: catalogue[i].Name}}); err != nil {
					return nil, err
				}
			}
			continue
		}
		faults, err := parseFaultCombination(text)
		if err != nil {
			return nil, err
		}
		if err := add(text, faults); err != nil {
			return nil, err
		}
	}
	return combinations, nil
}

func parseFaultCombination(text string) ([]Fault, error) {
	var faults []Fault
	for part := range strings.SplitSeq(text, "+") {
		f, err := parseFault(part)
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	slices.SortStableFunc(faults, func(a, b Fault) int { return find(a.Kind) - find(b.Kind) })
	for _, f := range faults {
		if len(faults) > 1 && catalogue[find(f.Kind)].Survival.Hopeless {
			return nil, diag.Usagef("%q: nothing survives %s, so that another fault beside it would show nothing", text, f.Kind).
				WithHint("give each a --fault of its own")
		}
	}
	for i, f := range faults {
		for _, other := range faults[i+1:] {
			if f.Kind == other.Kind {
				return nil, diag.Usagef("%q names fault %s twice", text, f.Kind).WithHint("%s:2 asks for two failpoints", f.Kind)
			}
			if slices.Contains(catalogue[find(f.Kind)].excludes, other.Kind) {
				return nil, diag.Usagef("%q: faults %s and %s exclude each other", text, f.Kind, other.Kind).
					WithHint("give each a --fault of its own")
			}
		}
	}
	return faults, nil
}

func parseFault(text string) (Fault, error) {
	name, parameter, given := strings.Cut(text, ":")
	at := find(name)
	switch {
	case at < 0 || catalogue[at].Kind != KindEnvironment:
		return Fault{}, unknownOf("fault", name, KindEnvironment)
	case !given:
		return Fault{Kind: name}, nil
	}
	e := &catalogue[at]
	usage := fmt.Sprintf("%s[:POINTS], with POINTS from 1 to %d", name, e.points)
	if e.points == 1 {
		return Fault{}, diag.Usagef("fault %s strikes at one point", name).WithHint("%s", name)
	}
	points, err := strconv.Atoi(parameter)
	if err != nil || strconv.Itoa(points) != parameter {
		return Fault{}, diag.Usagef("fault %s: %q is not a whole number", name, parameter).WithHint("%s", usage)
	}
	if points < 1 || points > e.points {
		return Fault{}, diag.Usagef("fault %s: %d is out of range", name, points).WithHint("%s", usage)
	}
	return Fault{Kind: name, Points: points}, nil
}

// Variants lists the variants that a kind has, the fault first.
func Variants(kind string) []string {
	at := find(kind)
	if at < 0 || catalogue[at].Kind != KindEnvironment {
		return nil
	}
	s := catalogue[at].Survival
	if s.Harmless {
		return []string{VariantLookalike}
	}
	variants := []string{VariantFault}
	if s.Lookalike != "" {
		variants = append(variants, VariantLookalike)
	}
	if s.Mirror != "" {
		variants = append(variants, VariantMirror)
	}
	if s.Companions != "" || s.Hopeless {
		variants = append(variants, VariantControl)
	}
	return variants
}

// NeedPaths says whether some fault can only be placed by who knows every right way of a task: see [task.Task.Paths].
func NeedPaths(combinations [][]Fault) bool {
	return slices.ContainsFunc(combinations, func(faults []Fault) bool {
		return slices.ContainsFunc(faults, func(f Fault) bool {
			switch catalogue[find(f.Kind)].fault().(type) {
			case *unavailable, *firstTried, *allUnavailable, *missingTools:
				return true
			default:
				return false
			}
		})
	})
}

// Variant gives the variant that the parameters of a condition of the environment state.
func (c Condition) Variant() string {
	var target struct {
		Variant string `json:"variant"`
	}
	if json.Unmarshal(c.Parameters, &target) != nil {
		return VariantFault // Faults says what is wrong with them
	}
	return target.Variant
}

// Role gives the role of an instance under a condition of the environment or of the request, or under one whose toolkit
// is chosen.
func (c Condition) Role() string {
	at := find(c.Name)
	switch {
	case at >= 0 && catalogue[at].choice && c.Variant() == VariantComplete:
		return RoleClean
	case at >= 0 && (catalogue[at].choice || catalogue[at].Kind == KindRequest):
		return catalogue[at].role
	}
	switch c.Variant() {
	case VariantLookalike:
		return RoleLookalike
	case VariantControl:
		return RoleClean
	}
	if at >= 0 && catalogue[at].Survival != nil && catalogue[at].Survival.Hopeless {
		return RoleHopeless
	}
	return RoleFault
}

// fault is the parameters of a condition of the environment: what its JSON holds. Its exported fields are that JSON.
type fault interface {
	// place chooses the parameters for a task.
	place(p *placement) *Refusal
	// make adds the steps and tools that the parameters stand for.
	make(in FaultInput, m *made) error
	// hint gives advice from the parameters: see [Hint]. It must be the same for every variant.
	hint(a *adviser) (string, error)
	// common gives the parameters that every kind has.
	common() *target
}

// target is the parameters that every kind has.
type target struct {
	Tool    string `json:"tool"`
	Variant string `json:"variant,omitempty"`
	name    string // of the condition
}

func (t *target) common() *target { return t }

// Name is that of the condition.
func (t *target) Name() string { return t.name }

// hits says whether a call is one to the tool.
func (t *target) hits(c *Call) bool { return c.Tool.Name == t.Tool }

// FaultInput is what the steps of conditions are made from.
type FaultInput struct {
	Task  *task.Task
	Tools []*task.Tool // that the agent is shown
}

func (in *FaultInput) tool(name string) *task.Tool {
	for _, t := range in.Tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// made collects what the conditions of an instance stand for.
type made struct {
	steps []Step
	tools []*task.Tool
	asked bool // somebody wants get_info
	// spent counts, by tool, the attempts that fail because of the conditions so far, as they do for an agent that does at
	// once what the errors ask for: failures that pass come one after the other, so that none hides another.
	spent map[string]int
}

// spend takes the next attempts at a tool, and gives how many were taken before.
func (m *made) spend(tool string, times int) int {
	before := m.spent[tool]
	m.spent[tool] += times
	return before
}

func (m *made) step(s Step) { m.steps = append(m.steps, s) }

// companion adds a tool, once.
func (m *made) companion(t *task.Tool) bool {
	if slices.ContainsFunc(m.tools, func(other *task.Tool) bool { return other.Name == t.Name }) {
		return false
	}
	m.tools = append(m.tools, t)
	return true
}

// Faults makes the steps of the conditions of the environment, in the order in which they apply, and the tools that
// they add to the toolkit, in the order in which they are shown after its own. Conditions of other kinds are passed
// over. With no condition of the environment there are no steps and no tools. The error is Seatrial's own failure:
// parameters that [Place] cannot have written, or a tool that is not there.
func Faults(conditions []Condition, in FaultInput) ([]Step, []*task.Tool, error) {
	ordered := slices.Clone(conditions)
	slices.SortStableFunc(ordered, func(a, b Condition) int { return find(a.Name) - find(b.Name) })
	m := &made{spent: map[string]int{}}
	for _, c := range ordered {
		e, _, err := c.decode()
		if err != nil {
			return nil, nil, fmt.Errorf("task %s: %w", in.Task.ID, err)
		}
		if e.Kind != KindEnvironment {
			continue
		}
		f, err := e.decodeFault(c)
		if err == nil {
			err = f.make(in, m)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("task %s: condition %s: %w", in.Task.ID, c.Name, err)
		}
	}
	if m.asked {
		m.addInfo(in)
	}
	for _, t := range m.tools {
		if in.tool(t.Name) != nil {
			return nil, nil, fmt.Errorf("task %s: a condition adds the tool %q, which is there already", in.Task.ID, t.Name)
		}
	}
	return m.steps, m.tools, nil
}

// decodeFault reads the parameters of a condition of the environment, strictly and in their one form.
func (e *entry) decodeFault(c Condition) (fault, error) {
	f := e.fault()
	if err := task.DecodeStrict(c.Parameters, f); err != nil {
		return nil, fmt.Errorf("condition %s: parameters %s: %w", c.Name, c.Parameters, err)
	}
	written, err := task.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("condition %s: %w", c.Name, err)
	}
	if !bytes.Equal(written, c.Parameters) {
		return nil, fmt.Errorf("condition %s: its parameters are %s, where %s would be written", c.Name, c.Parameters,
			written)
	}
	if variant := f.common().Variant; !slices.Contains(Variants(c.Name), variant) {
		return nil, fmt.Errorf("condition %s has no variant %q", c.Name, variant)
	}
	f.common().name = c.Name
	if bounded, ok := f.(interface{ inBounds() bool }); ok && !bounded.inBounds() {
		return nil, fmt.Errorf("condition %s: parameters %s: a number is out of bounds", c.Name, c.Parameters)
	}
	return f, nil
}

// detail writes what a step did, for the record.
func detail(fields ...Field) json.RawMessage {
	dst := []byte{'{'}
	for i := range fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(task.AppendValue(dst, fields[i].Name), ':')
		dst = append(dst, fields[i].Value...)
	}
	return append(dst, '}')
}

func number(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }

// applied is the decision that something was done.
func applied(fields ...Field) *Decision { return &Decision{Applied: true, Detail: detail(fields...)} }

// applied is the decision that something was done. The record says of a look-alike that it is none of the faults.
func (t *target) applied(fields ...Field) *Decision {
	if t.Variant == VariantLookalike {
		fields = append([]Field{{"variant", jsonText(VariantLookalike)}}, fields...)
	}
	return applied(fields...)
}

// errNoTool says that parameters name a tool that is not there.
func errNoTool(name string) error { return fmt.Errorf("there is no tool called %q", name) }
