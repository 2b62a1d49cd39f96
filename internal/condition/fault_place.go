package condition

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/seatrial/seatrial/internal/task"
)

// PlaceInput is what the parameters of a fault depend on, and all that they depend on.
type PlaceInput struct {
	Task  *task.Task
	Plan  *task.Plan   // the primary plan of the instance
	Tools []*task.Tool // that the agent is shown; those of the task's plans are among them
	Seed  uint64       // of the instance
}

// Reasons why a kind makes no sense for a task, a closed list.
const (
	reasonNoCall      = "no_call"
	reasonNoOtherPath = "no_other_path"
	reasonOpenPaths   = "open_paths"
	reasonFewCalls    = "fewer_calls"
	reasonNoArgument  = "no_argument"
	reasonNoRows      = "no_rows"
	reasonFewRows     = "too_few_rows"
	reasonOrderFree   = "order_free"
	reasonNoColumn    = "no_column"
	reasonNoNumber    = "no_number"
	reasonNoMissing   = "no_missing_value"
	reasonNoReference = "no_reference"
	reasonNoVariant   = "no_variant"
	reasonNotExecuted = "not_executed"
)

var faultReasons = map[string]string{
	reasonNoCall:      "the primary plan makes no call",
	reasonNoOtherPath: "no other path avoids the tool that fails",
	reasonOpenPaths:   "the right paths cannot be listed: operations on data handles have too many",
	reasonFewCalls:    "the plan calls fewer tools than there are to be failpoints",
	reasonNoArgument:  "no call of the plan has an argument that the fault can act on",
	reasonNoRows:      "no call of the plan hands over rows that something depends on",
	reasonFewRows:     "no call of the plan that something depends on has enough rows",
	reasonOrderFree:   "the order of the answer does not matter, or turning it round changes nothing",
	reasonNoColumn:    "no column that something depends on can be changed visibly",
	reasonNoNumber:    "no column of numbers that something depends on and that can be changed visibly and restored exactly",
	reasonNoMissing:   "no value of the answer is missing",
	reasonNoReference: "no later call refers to a column in a way that the fault would hurt",
	reasonNoVariant:   "the kind has no such variant",
	reasonNotExecuted: "the tools of the task are only described",
}

// placement is one failpoint that is being placed.
type placement struct {
	PlaceInput
	kind    string
	variant string
	point   int             // from 0
	taken   map[string]bool // tools that earlier failpoints hit
	gold    *task.Gold      // the first right answer; nil where gold is no result
}

// Place chooses the parameters with which a fault strikes a task, or says why it makes no sense there: a fault is
// placed only where a later call or the answer depends on what it changes. There is one condition for each tool that is
// hit; failures that pass also strike one tool several times. It is a pure function of its arguments.
func Place(f Fault, variant string, in PlaceInput) ([]Condition, *Refusal, error) {
	at := find(f.Kind)
	if at < 0 || catalogue[at].Kind != KindEnvironment {
		return nil, nil, unknownOf("fault", f.Kind, KindEnvironment)
	}
	e := &catalogue[at]
	refuse := func(reason string) ([]Condition, *Refusal, error) {
		return nil, &Refusal{Condition: Condition{Name: f.Kind}, Reason: reason, Message: f.String() + ": " +
			faultReasons[reason]}, nil
	}
	switch {
	case !slices.Contains(Variants(f.Kind), variant):
		return refuse(reasonNoVariant)
	case in.Task.Proof == task.ProofStatic:
		return refuse(reasonNotExecuted)
	case in.Plan == nil || len(in.Plan.Calls) == 0:
		return refuse(reasonNoCall)
	}
	p := &placement{PlaceInput: in, kind: f.Kind, variant: variant, taken: map[string]bool{}}
	if answers := in.Task.Gold.Answers(); len(answers) > 0 {
		p.gold = answers[0]
	}
	points := f.Points
	if points == 0 {
		points = 1
		if e.passes {
			points = 1 + p.draw("points").IntN(2)
		}
	}
	var placed []fault
	for p.point = range points {
		if e.passes && (len(p.taken) == p.countTools() || f.Points == 0 && p.point > 0) {
			again := placed[p.point%len(placed)].(passing)
			again.again()
			continue
		}
		x := e.fault()
		x.common().Variant, x.common().name = variant, f.Kind
		if refusal := x.place(p); refusal != nil {
			return refuse(refusal.Reason)
		}
		p.taken[x.common().Tool] = true
		placed = append(placed, x)
	}
	conditions := make([]Condition, len(placed))
	for i, x := range placed {
		parameters, err := task.Marshal(x)
		if err != nil {
			return nil, nil, fmt.Errorf("task %s: fault %s: %w", in.Task.ID, f.Kind, err)
		}
		conditions[i] = Condition{Name: f.Kind, Parameters: parameters}
	}
	return conditions, nil, nil
}

// passing is a fault that passes after a number of times.
type passing interface{ again() }

func refusal(reason string) *Refusal { return &Refusal{Reason: reason} }

// draw gives the random stream of this failpoint. It depends on the seed, the kind, the task and the number of the
// failpoint, and not on the variant: variants stand at one place wherever the place suits them.
func (p *placement) draw(names ...string) *rand.Rand {
	return task.Draw(p.Seed, append([]string{"fault", p.kind, p.Task.ID, strconv.Itoa(p.point)}, names...)...)
}

// site is a call of the plan.
type site struct {
	at     int
	call   *task.Call
	tool   *task.Tool
	answer bool // its result is the answer
	rows   int  // of its result; -1 where it is not known
	uses   []use
}

// use is a reference of a later call to the result of a site.
type use struct {
	column  string // "" for the whole result
	binding *task.Binding
}

// countTools counts the tools of the plan.
func (p *placement) countTools() int {
	names := map[string]bool{}
	for i := range p.Plan.Calls {
		names[p.Plan.Calls[i].Tool] = true
	}
	return len(names)
}

// choose gives the first call of the plan that fits, in a seeded order that the variant does not change. Tools that an
// earlier failpoint hits are passed over. Where none fits the refusal is that of the call that came last in that order.
func (p *placement) choose(fits func(s *site) string) (*site, *Refusal) {
	reason := reasonFewCalls
	for _, at := range p.draw("call").Perm(len(p.Plan.Calls)) {
		s := p.site(at)
		if s.tool == nil || p.taken[s.tool.Name] {
			continue
		}
		if reason = fits(s); reason == "" {
			return s, nil
		}
	}
	return nil, refusal(reason)
}

func (p *placement) find(name string) *task.Tool {
	in := FaultInput{Tools: p.Tools}
	return in.tool(name)
}

func (p *placement) site(at int) *site {
	c := &p.Plan.Calls[at]
	s := &site{at: at, call: c, tool: p.find(c.Tool), answer: c.Label == p.Plan.Answer, rows: -1}
	switch {
	case len(p.Plan.Evidence) > at && p.Plan.Evidence[at].Digest != "":
		s.rows = p.Plan.Evidence[at].Rows
	case s.answer && p.gold != nil:
		s.rows = len(p.gold.Rows)
	}
	for i := at + 1; i < len(p.Plan.Calls); i++ {
		later := &p.Plan.Calls[i]
		tool := p.find(later.Tool)
		for _, argument := range sortedNames(later.Arguments) {
			one := task.Call{Arguments: map[string]any{"": later.Arguments[argument]}}
			for _, ref := range one.References() {
				if ref.Label == c.Label {
					s.uses = append(s.uses, use{column: ref.Column, binding: bindingOf(tool, argument)})
				}
			}
		}
	}
	return s
}

func bindingOf(t *task.Tool, argument string) *task.Binding {
	if t == nil || t.Body == nil {
		return nil
	}
	for i := range t.Body.Bindings {
		if t.Body.Bindings[i].Argument == argument {
			return &t.Body.Bindings[i]
		}
	}
	return nil
}

// delivers says whether the call hands over rows that something depends on. Operations on data handles refer to each
// other's handles, never to rows: of them it is the answer alone, where it is one that hands over rows.
func (s *site) delivers() bool {
	if s.tool.Body == nil {
		return false
	}
	switch s.tool.Body.Engine {
	case task.EngineSQLite:
		return s.answer || len(s.uses) > 0
	case task.EngineRelation:
		return s.answer && s.tool.Returns != nil && slices.Contains(s.tool.Returns.Types, "array")
	default:
		return false
	}
}

// columns lists the columns of the result by their declared types: those of the answer where the tool declares none.
func (p *placement) columns(s *site) []task.Column {
	if s.tool.Body.Engine == task.EngineSQLite {
		return s.tool.Body.Columns
	}
	if p.gold == nil {
		return nil
	}
	return p.gold.Columns
}

// matters says whether something depends on a column.
func (s *site) matters(column string) bool {
	if s.answer {
		return true
	}
	for _, u := range s.uses {
		if u.column == "" || u.column == column {
			return true
		}
	}
	return false
}

// values lists the values of a column of the answer; nil where the call is not the answer.
func (p *placement) values(s *site, column int) []task.Value {
	if !s.answer || p.gold == nil {
		return nil
	}
	var values []task.Value
	for _, row := range p.gold.Rows {
		if column < len(row) {
			values = append(values, row[column])
		}
	}
	return values
}

// column chooses a column that something depends on, in a seeded order. fits is asked of each with its values where
// they are known, else with nil.
func (p *placement) column(s *site, fits func(c task.Column, values []task.Value) bool) int {
	columns := p.columns(s)
	for _, at := range p.draw("column").Perm(len(columns)) {
		if s.matters(columns[at].Name) && fits(columns[at], p.values(s, at)) {
			return at
		}
	}
	return -1
}

// chooseColumn chooses a call that hands over rows, and a column of it.
func (p *placement) chooseColumn(
	missing string, fits func(s *site, c task.Column, values []task.Value) bool,
) (*site, int, *Refusal) {
	column := -1
	s, refused := p.choose(func(s *site) string {
		switch {
		case !s.delivers():
			return reasonNoRows
		case s.rows == 0:
			return reasonFewRows
		}
		column = p.column(s, func(c task.Column, values []task.Value) bool { return fits(s, c, values) })
		if column < 0 {
			return missing
		}
		return ""
	})
	return s, column, refused
}

// isNumeric says whether a column holds numbers: by its values where they are known, else by its type.
func isNumeric(c task.Column, values []task.Value) bool {
	if values == nil {
		return c.Type == task.TypeInteger || c.Type == task.TypeNumber
	}
	return slices.ContainsFunc(values, func(v task.Value) bool {
		switch v.(type) {
		case int64, float64:
			return true
		default:
			return false
		}
	})
}

// paths lists the right paths that are known, each by its tools: those of the task's plans first. The others are sound
// or accidental; of those that an agent can be expected to find sound ones alone are asked for.
func (p *placement) paths(accidental bool) [][]string {
	plans := p.Task.Sound()
	if accidental {
		for i := range p.Task.Paths {
			if p.Task.Paths[i].Accidental {
				plans = append(plans, &p.Task.Paths[i].Plan)
			}
		}
	}
	shown := make(map[string]bool, len(p.Tools))
	for _, t := range p.Tools {
		shown[t.Name] = true
	}
	var paths [][]string
	for _, plan := range plans {
		var tools []string
		for i := range plan.Calls {
			tools = append(tools, plan.Calls[i].Tool)
		}
		slices.Sort(tools)
		tools = slices.Compact(tools)
		if slices.ContainsFunc(tools, func(name string) bool { return !shown[name] }) {
			continue // nobody can go that way with the tools that are shown
		}
		if !slices.ContainsFunc(paths, func(known []string) bool { return slices.Equal(known, tools) }) {
			paths = append(paths, tools)
		}
	}
	return paths
}

// onHandles says whether the task's tools are operations on data handles.
func (p *placement) onHandles() bool {
	return p.Task.Style == task.StyleSlot || p.Task.Style == task.StyleSel
}

// literal is an argument that a plan gives as a value.
type literal struct {
	name  string
	value any // int64, float64 or string
}

// literals lists the arguments of a call that are single values, in a seeded order.
func (p *placement) literals(s *site) []literal {
	var all []literal
	for _, name := range sortedNames(s.call.Arguments) {
		switch v := s.call.Arguments[name].(type) {
		case int64, float64:
			all = append(all, literal{name, v})
		case string:
			if _, refers := task.ParseReference(v); !refers {
				all = append(all, literal{name, v})
			}
		}
	}
	p.draw("argument").Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// pick chooses one of several texts.
func (p *placement) pick(stream string, options ...string) string {
	return options[p.draw(stream).IntN(len(options))]
}
