// Package recovery has the scripted policy that plays a plan and heals what goes wrong, by tactics that use only what
// an agent can see. It must never know which faults exist.
package recovery

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// recovery plays a plan and heals what goes wrong, by what it sees alone: it knows the plans of the task and no fault.
//
// Calls that wait for nothing go side by side, as gold plays them. What comes back is handed to the tactics in their
// order: an error until one knows what to do; a result first to those that complete it, then to those that read values
// back, then to those that judge its source. Results that are as documented go on by reference; of others the values
// are written out.
type Policy struct {
	view    *task.View
	tactics []*tactic

	known   map[string]*task.Tool // tools that were looked up
	states  map[string]*toolState
	labels  map[string]bool // that are taken, or stand in a plan
	plans   []*task.Plan
	runs    []*run
	current *run

	turns     int
	errands   []errand // of the last turn, by action
	questions []*question
	why       []string // what was noticed in this turn
	reason    string   // why the last plan was given up
}

// Bounds of patience: how often a call is made again because of errors of one code, how often in all, and how many
// turns an episode may take.
const (
	maxTries      = 9
	maxAttempts   = 30
	maxTurns      = 80
	maxQuestions  = 3
	maxPagesTaken = 1000
)

// toolState is what the policy has learnt of a tool.
type toolState struct {
	fixes   []fix
	instead string // the tool that is called in its place
	dead    string // why it is not called any more
	asked   bool   // its specification has been asked for
	ready   int    // the turn before which it is not called
}

// run is a plan that is being played.
type run struct {
	plan   *task.Plan
	jobs   []*job // by call
	failed bool
	aside  bool // it is played to check another
}

// jobState says where a call of a plan stands.
type jobState int

const (
	jobOpen    jobState = iota // to be made
	jobSent                    // made, and not yet answered
	jobAsking                  // waits for the answer to a question
	jobJudging                 // waits for another source
	jobDone
	jobFailed
)

// job is a call of a plan.
type job struct {
	run      *run
	call     *task.Call
	state    jobState
	tool     string         // that was called last
	label    string         // of the last attempt
	given    map[string]any // arguments as the plan has them, references resolved
	sent     map[string]any // arguments as they were sent last
	version  int            // of what was known of the tool when the call was made
	attempts int
	pages    int
	tries    map[string]int  // by the code of the error
	refusal  *task.ToolError // the last one
	literal  map[string]bool // arguments that are written out rather than referred to
	finding  *finding
	others   []*job // other sources that were asked, in the order in which they are named; nil where one cannot be
	aside    bool   // it is asked to check another
}

// errand is what an action was for.
type errand struct {
	job      *job
	question *question
}

// New makes the policy. It plays the first plan, unless that is nil, and then the sound plans of the task.
func New(t *task.Task, first *task.Plan, without []string) (*Policy, error) {
	known, err := tacticsWithout(without)
	if err != nil {
		return nil, err
	}
	p := &Policy{
		tactics: known, known: map[string]*task.Tool{}, states: map[string]*toolState{}, labels: map[string]bool{},
	}
	if first != nil {
		p.plans = append(p.plans, first)
	}
	for _, plan := range t.Sound() {
		if !slices.Contains(p.plans, plan) {
			p.plans = append(p.plans, plan)
		}
	}
	return p, nil
}

// Turn makes the next turn.
func (p *Policy) Turn(view *task.View, seen []task.Observation) (task.Turn, error) {
	p.view, p.why = view, nil
	if len(p.plans) == 0 {
		return action.Stop("the task has no plan"), nil
	}
	if p.turns == 0 {
		p.begin()
	}
	p.turns++
	p.hear(seen)
	switch {
	case p.current == nil:
		return p.decline(), nil
	case p.turns > maxTurns:
		p.reason = "it takes too long"
		return p.decline(), nil
	}
	if j := p.current.answer(); j == nil || j.state == jobDone {
		return p.answer(j)
	}
	actions, err := p.act()
	return task.Turn{Actions: actions, Thought: strings.Join(p.why, "; ")}, err
}

func (p *Policy) begin() {
	for _, plan := range p.plans {
		for i := range plan.Calls {
			p.labels[plan.Calls[i].Label] = false
		}
	}
	for i := range p.view.Starts {
		p.labels[p.view.Starts[i].Label] = true
	}
	p.changePlan("")
}

// note keeps which tactic saw its sign, for whoever reads the transcript.
func (p *Policy) note(j *job, t *tactic) { p.why = append(p.why, j.label+": "+t.Name) }

func (p *Policy) decline() task.Turn {
	reason := cmp.Or(p.reason, "none of the tools that lead to the answer is there")
	return task.Turn{
		Actions: []task.Action{{Kind: task.ActionDecline, Text: "No way to the answer is left: " + reason}},
		Thought: strings.Join(p.why, "; "),
	}
}

// answer answers with a finding: by reference where the environment holds it, else written out.
func (p *Policy) answer(j *job) (task.Turn, error) {
	thought := strings.Join(p.why, "; ")
	if j == nil {
		return task.Turn{Actions: []task.Action{action.AnswerReference(p.current.plan.Answer)}, Thought: thought}, nil
	}
	f := j.finding
	if !f.rewritten {
		return task.Turn{Actions: []task.Action{action.AnswerReference(f.label)}, Thought: thought}, nil
	}
	answer, err := literal.Append(nil, f.answer())
	if err != nil {
		return task.Turn{}, fmt.Errorf("answer: %w", err)
	}
	return task.Turn{Actions: []task.Action{{Kind: task.ActionAnswer, Answer: answer}}, Thought: thought}, nil
}

// answer gives rows as records under their documented names, and as lists where names are not unique.
func (f *finding) answer() []any {
	list := make([]any, len(f.rows))
	unique := len(slices.Compact(slices.Sorted(slices.Values(f.names)))) == len(f.names)
	for i, row := range f.rows {
		if !unique {
			list[i] = row
			continue
		}
		o := make(literal.Object, len(row))
		for j := range row {
			o[j] = literal.Member{Name: f.names[j], Value: row[j]}
		}
		list[i] = o
	}
	return list
}

// tool gives a tool of the view, nil where there is none of that name.
func (p *Policy) tool(name string) *task.Tool {
	if t, known := p.known[name]; known {
		return t
	}
	var found *task.Tool
	if at := slices.IndexFunc(p.view.Tools, func(t *task.Tool) bool { return t.Name == name }); at >= 0 {
		found = p.view.Tools[at]
	}
	p.known[name] = found
	return found
}

func (p *Policy) parameters(tool string) []string { return parameterNames(p.tool(tool)) }

func (p *Policy) state(tool string) *toolState {
	s := p.states[tool]
	if s == nil {
		s = &toolState{}
		p.states[tool] = s
	}
	return s
}

// learn keeps how calls of a tool are to be spelt from now on; it is false where that is known already.
func (p *Policy) learn(tool string, f fix) bool {
	s := p.state(tool)
	if slices.ContainsFunc(s.fixes, func(known fix) bool {
		return known.argument == f.argument && known.name == f.name && (known.convert == nil) == (f.convert == nil)
	}) {
		return false
	}
	s.fixes = append(s.fixes, f)
	return true
}

// informant finds the tool that gives the specification of a tool, and the argument that names the tool.
func (p *Policy) informant() (tool, argument string) {
	for _, t := range p.view.Tools {
		if t.Parameters != nil && len(t.Parameters.Required) == 1 && len(t.Parameters.Properties) == 1 &&
			holds(t.Description, "specification of a tool", "documentation of a tool", "documentation of a function") {
			return t.Name, t.Parameters.Required[0]
		}
	}
	return "", ""
}

// fresh gives a label that nothing bears: the wanted one, or that with a number.
func (p *Policy) fresh(wanted string) string {
	label := wanted
	for n := 2; ; n++ {
		taken, planned := p.labels[label]
		if !taken && (!planned || label == wanted) {
			p.labels[label] = true
			return label
		}
		label = wanted + "_" + strconv.Itoa(n)
	}
}

// act lists what can be done now: questions first, then the calls of the current run and of those played beside it.
func (p *Policy) act() ([]task.Action, error) {
	var actions []task.Action
	p.errands = p.errands[:0]
	for _, q := range p.questions {
		act, err := action.Call(&task.Call{Label: p.fresh("ask"), Tool: q.tool, Arguments: q.arguments})
		if err != nil {
			return nil, err
		}
		actions, p.errands = append(actions, act), append(p.errands, errand{question: q})
	}
	p.questions = nil
	for _, r := range p.runs {
		if r.failed || r != p.current && !r.aside {
			continue
		}
		for _, j := range r.jobs {
			for _, one := range append([]*job{j}, j.others...) {
				if one == nil || one.run != r || one.state != jobOpen || !p.ready(one) {
					continue
				}
				act, err := p.make(one)
				if err != nil {
					return nil, err
				}
				actions, p.errands = append(actions, act), append(p.errands, errand{job: one})
			}
		}
	}
	return actions, nil
}

// ready says whether a call can be made: what it refers to is there, and its tool is not waited for.
func (p *Policy) ready(j *job) bool {
	if s := p.states[p.calls(j)]; s != nil && s.ready > p.turns {
		return false
	}
	for _, ref := range j.call.References() {
		if used := j.run.job(ref.Label); used != nil && used.state != jobDone {
			return false
		}
	}
	return true
}

// calls gives the tool that a job calls: that of the plan, or the one that takes its place.
func (p *Policy) calls(j *job) string {
	if s := p.states[j.call.Tool]; s != nil && s.instead != "" {
		return s.instead
	}
	return j.call.Tool
}

func (p *Policy) make(j *job) (task.Action, error) {
	j.tool, j.state, j.attempts = p.calls(j), jobSent, j.attempts+1
	j.given = p.resolve(j)
	var fixes []fix
	if s := p.states[j.tool]; s != nil {
		fixes = s.fixes
	}
	j.version, j.sent = len(fixes), spell(j.given, fixes)
	j.label = p.fresh(j.call.Label)
	return action.Call(&task.Call{Label: j.label, Tool: j.tool, Arguments: j.sent})
}

// hear hands what came back to those who wait for it.
func (p *Policy) hear(seen []task.Observation) {
	for i, e := range p.errands {
		if i >= len(seen) {
			break
		}
		switch o := &seen[i]; {
		case e.question != nil:
			p.answered(e.question, o)
		case o.Error != nil:
			p.refused(e.job, o.Error)
		default:
			p.received(e.job, o)
		}
	}
	p.errands = p.errands[:0]
}

func (p *Policy) answered(q *question, o *task.Observation) {
	if q.tries++; o.Error != nil && q.tries < maxQuestions {
		p.questions = append(p.questions, q)
		return
	}
	var r remedy
	ok := o.Error == nil
	if ok {
		r, ok = q.heard(o)
	}
	for _, j := range q.jobs {
		switch {
		case ok && q.again:
			p.follows(j, r)
		case ok:
			p.examine(j)
		case q.again:
			p.refused(j, j.refusal) // the answer was of no use: somebody else may know
		default:
			j.finding.cursor = nil
			p.misunderstood(j, "a part of its rows is out of reach")
		}
	}
}

// refused asks the tactics what an error means.
func (p *Policy) refused(j *job, err *task.ToolError) {
	if j.tries == nil {
		j.tries = map[string]int{}
	}
	j.refusal = err
	j.tries[err.Code]++
	switch {
	case j.version < len(p.state(j.tool).fixes):
		j.state = jobOpen // it was made before something was learnt
		return
	case j.tries[err.Code] > maxTries || j.attempts > maxAttempts:
		p.giveUp(j, "it was tried too often: "+err.Error())
		return
	}
	s := &sign{p: p, j: j, err: err}
	for _, t := range p.tactics {
		if t.heal == nil {
			continue
		}
		if r, ok := t.heal(s); ok {
			p.note(j, t)
			p.follows(j, r)
			return
		}
	}
	j.state = jobFailed
	p.lose(j, fmt.Sprintf("`%s` fails: %s", j.tool, err.Error()))
}

// follows does what a remedy says.
func (p *Policy) follows(j *job, r remedy) {
	switch {
	case r.ask != nil:
		j.state = jobAsking
		p.ask(j, r.ask)
	case r.give != "":
		p.giveUp(j, r.give)
	case r.instead != "":
		p.state(j.call.Tool).instead = r.instead
		j.state = jobOpen
	default:
		j.state = jobOpen
		if r.wait > 0 {
			s := p.state(j.tool)
			s.ready = max(s.ready, p.turns-1+r.wait)
		}
	}
}

// ask puts a question; one that is to be put already is put once.
func (p *Policy) ask(j *job, q *question) {
	for _, other := range p.questions {
		if q.again && other.again && other.tool == q.tool && len(q.arguments)+len(other.arguments) == 0 {
			other.jobs = append(other.jobs, j)
			return
		}
	}
	q.jobs = append(q.jobs, j)
	p.questions = append(p.questions, q)
}

// giveUp stops calling a tool.
func (p *Policy) giveUp(j *job, why string) {
	p.state(j.tool).dead = why
	j.state = jobFailed
	p.lose(j, fmt.Sprintf("`%s` fails: %s", j.tool, why))
}

// lose gives up a run whose call has failed, or the check that it was for.
func (p *Policy) lose(j *job, why string) {
	if j.aside {
		p.judgeAgain(j)
		return
	}
	j.run.failed = true
	p.reason = why
	if j.run != p.current {
		if last := j.run.answer(); last != nil {
			last.state = jobFailed
			p.judgeAgain(last)
		}
		return
	}
	p.current = nil
	if p.uses(otherPlanTactic) && p.changePlan("") {
		p.note(j, otherPlanTactic)
	}
}

func (p *Policy) received(j *job, o *task.Observation) {
	f, _ := p.findIn(o.Content, p.documentation(j.tool))
	f.label = j.label
	j.finding = f
	p.examine(j)
}

func (p *Policy) documentation(tool string) *documentation { return documented(p.tool(tool), p.view) }

// findIn reads a payload, with the tactics that find rows in other shapes.
func (p *Policy) findIn(content []byte, d *documentation) (*finding, bool) {
	v, ok := literal.Read(content)
	f := find(v, d)
	if !f.table && !f.handle {
		for _, t := range p.tactics {
			if t.shape != nil && t.shape(v, f) {
				f.table, f.rewritten = true, true
				f.settleNames()
				break
			}
		}
	}
	f.readCursor()
	return f, ok
}

// examine looks at a result: is it what was asked for, and all of it? What do its values mean? Is its source right?
func (p *Policy) examine(j *job) {
	s := &sign{p: p, j: j, f: j.finding}
	for _, t := range p.tactics {
		if t.complete == nil {
			continue
		}
		if r, ok := t.complete(s); ok && p.patient(j, r) {
			p.note(j, t)
			p.follows(j, r)
			return
		}
	}
	if !p.readsRows(j) && !j.misheard(j.finding) {
		p.done(j)
		return
	}
	for _, t := range p.tactics {
		if t.undo != nil && j.finding.table && t.undo(j.finding) {
			p.note(j, t)
		}
	}
	if why := p.unfit(j); why != "" {
		p.misunderstood(j, why)
		return
	}
	p.judge(j)
}

// readsRows says whether the rows of a result are read: where calls work on data handles, those of the answer alone
// are.
func (p *Policy) readsRows(j *job) bool {
	return len(p.view.Starts) == 0 || j.call.Label == j.run.plan.Answer || j.aside
}

// patient bounds how often a result is completed.
func (p *Policy) patient(j *job, r remedy) bool {
	if r.ask != nil {
		j.pages++
		return j.pages <= maxPagesTaken
	}
	return j.attempts <= maxTries
}
