package agent

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/universe"
)

// recovery plays a plan and heals what goes wrong, by what it sees alone: it knows the plans of the task and no fault.
//
// Calls that wait for nothing go side by side, as gold plays them. What comes back is handed to the tactics in their order:
// an error until one knows what to do; a result first to those that complete it, then to those that read values back, then
// to those that judge its source. Results that are as documented go on by reference; of others the values are written out.
type recovery struct {
	in      PolicyInput
	view    *universe.View
	tactics []*tactic

	known   map[string]*universe.Tool // tools that were looked up
	states  map[string]*toolState
	labels  map[string]bool // that are taken, or stand in a plan
	plans   []*universe.Plan
	runs    []*run
	current *run

	turns     int
	errands   []errand // of the last turn, by action
	questions []*question
	why       []string // what was noticed in this turn
	reason    string   // why the last plan was given up
}

// Bounds of patience: how often a call is made again because of errors of one code, how often in all, and how many turns
// an episode may take.
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
	plan   *universe.Plan
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
	call     *universe.Call
	state    jobState
	tool     string         // that was called last
	label    string         // of the last attempt
	given    map[string]any // arguments as the plan has them, references resolved
	sent     map[string]any // arguments as they were sent last
	version  int            // of what was known of the tool when the call was made
	attempts int
	pages    int
	tries    map[string]int      // by the code of the error
	refusal  *universe.ToolError // the last one
	literal  map[string]bool     // arguments that are written out rather than referred to
	finding  *finding
	others   []*job // other sources that were asked, in the order in which they are named; nil where one cannot be
	aside    bool   // it is asked to check another
}

// errand is what an action was for.
type errand struct {
	job      *job
	question *question
}

func newRecover(in PolicyInput) (script, error) {
	known, err := tacticsWithout(in.Without)
	if err != nil {
		return nil, err
	}
	p := &recovery{
		in: in, tactics: known, known: map[string]*universe.Tool{}, states: map[string]*toolState{}, labels: map[string]bool{},
	}
	if first := primary(in); first != nil {
		p.plans = append(p.plans, first)
	}
	for _, plan := range in.Task.Sound() {
		if !slices.Contains(p.plans, plan) {
			p.plans = append(p.plans, plan)
		}
	}
	return p, nil
}

func (p *recovery) turn(view *universe.View, seen []universe.Observation) (universe.Turn, error) {
	p.view, p.why = view, nil
	if len(p.plans) == 0 {
		return stop("the task has no plan"), nil
	}
	if p.turns == 0 {
		p.begin()
	}
	p.turns++
	if err := p.hear(seen); err != nil {
		return universe.Turn{}, err
	}
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
	return universe.Turn{Actions: actions, Thought: strings.Join(p.why, "; ")}, err
}

func (p *recovery) begin() {
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

// note keeps what was noticed, for whoever reads the transcript.
func (p *recovery) note(format string, args ...any) {
	p.why = append(p.why, fmt.Sprintf(format, args...))
}

func (p *recovery) decline() universe.Turn {
	reason := cmp.Or(p.reason, "none of the tools that lead to the answer is there")
	return universe.Turn{
		Actions: []universe.Action{{Kind: universe.ActionDecline, Text: "No way to the answer is left: " + reason}},
		Thought: strings.Join(p.why, "; "),
	}
}

// answer answers with a finding: by reference where the environment holds it, else written out.
func (p *recovery) answer(j *job) (universe.Turn, error) {
	thought := strings.Join(p.why, "; ")
	if j == nil {
		return universe.Turn{Actions: []universe.Action{answerReference(p.current.plan.Answer)}, Thought: thought}, nil
	}
	f := j.finding
	if !f.rewritten {
		return universe.Turn{Actions: []universe.Action{answerReference(f.label)}, Thought: thought}, nil
	}
	answer, err := appendArgument(nil, f.answer())
	if err != nil {
		return universe.Turn{}, fmt.Errorf("answer: %w", err)
	}
	return universe.Turn{Actions: []universe.Action{{Kind: universe.ActionAnswer, Answer: answer}}, Thought: thought}, nil
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
		o := make(object, len(row))
		for j := range row {
			o[j] = member{f.names[j], row[j]}
		}
		list[i] = o
	}
	return list
}

// tool gives a tool of the view, nil where there is none of that name.
func (p *recovery) tool(name string) *universe.Tool {
	if t, known := p.known[name]; known {
		return t
	}
	var found *universe.Tool
	if at := slices.IndexFunc(p.view.Tools, func(t *universe.Tool) bool { return t.Name == name }); at >= 0 {
		found = p.view.Tools[at]
	}
	p.known[name] = found
	return found
}

func (p *recovery) parameters(tool string) []string { return parameterNames(p.tool(tool)) }

func (p *recovery) state(tool string) *toolState {
	s := p.states[tool]
	if s == nil {
		s = &toolState{}
		p.states[tool] = s
	}
	return s
}

// learn keeps how calls of a tool are to be spelt from now on; it is false where that is known already.
func (p *recovery) learn(tool string, f fix) bool {
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
func (p *recovery) informant() (tool, argument string) {
	for _, t := range p.view.Tools {
		if t.Parameters != nil && len(t.Parameters.Required) == 1 && len(t.Parameters.Properties) == 1 &&
			holds(t.Description, "specification of a tool", "documentation of a tool", "documentation of a function") {
			return t.Name, t.Parameters.Required[0]
		}
	}
	return "", ""
}

// changePlan goes on with the first plan whose tools are all there and none of which has been given up; with a preferred
// one where a source has been named. Where there is none, none is played any more. It says whether there is one.
func (p *recovery) changePlan(preferred string) bool {
	var best *universe.Plan
	for _, plan := range p.plans {
		if !p.open(plan) {
			continue
		}
		if best == nil || preferred != "" && endTool(plan) == preferred && endTool(best) != preferred {
			best = plan
		}
	}
	for _, r := range p.runs {
		r.aside = false
	}
	p.current = nil
	if best != nil {
		p.current = p.runOf(best)
	}
	return best != nil
}

// open says whether a plan can still lead to the answer.
func (p *recovery) open(plan *universe.Plan) bool {
	for i := range plan.Calls {
		name := plan.Calls[i].Tool
		if p.tool(name) == nil || p.states[name] != nil && p.states[name].dead != "" {
			return false
		}
	}
	at := slices.IndexFunc(p.runs, func(r *run) bool { return r.plan == plan })
	return at < 0 || !p.runs[at].failed
}

// another says whether there is an open plan beside that of a run.
func (p *recovery) another(than *run) bool {
	return slices.ContainsFunc(p.plans, func(plan *universe.Plan) bool { return plan != than.plan && p.open(plan) })
}

func endTool(plan *universe.Plan) string {
	for i := range plan.Calls {
		if plan.Calls[i].Label == plan.Answer {
			return plan.Calls[i].Tool
		}
	}
	return ""
}

// runOf gives the run of a plan, begun where it has not been.
func (p *recovery) runOf(plan *universe.Plan) *run {
	for _, r := range p.runs {
		if r.plan == plan {
			return r
		}
	}
	r := &run{plan: plan, jobs: make([]*job, len(plan.Calls))}
	for i := range plan.Calls {
		r.jobs[i] = &job{run: r, call: &plan.Calls[i]}
	}
	p.runs = append(p.runs, r)
	return r
}

// answer gives the job whose result is the answer, nil where the plan calls nothing of that label.
func (r *run) answer() *job { return r.job(r.plan.Answer) }

func (r *run) job(label string) *job {
	for _, j := range r.jobs {
		if j.call.Label == label {
			return j
		}
	}
	return nil
}

// fresh gives a label that nothing bears: the wanted one, or that with a number.
func (p *recovery) fresh(wanted string) string {
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
func (p *recovery) act() ([]universe.Action, error) {
	var actions []universe.Action
	p.errands = p.errands[:0]
	for _, q := range p.questions {
		action, err := callAction(&universe.Call{Label: p.fresh("ask_" + q.tool), Tool: q.tool, Arguments: q.arguments})
		if err != nil {
			return nil, err
		}
		actions, p.errands = append(actions, action), append(p.errands, errand{question: q})
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
				action, err := p.make(one)
				if err != nil {
					return nil, err
				}
				actions, p.errands = append(actions, action), append(p.errands, errand{job: one})
			}
		}
	}
	return actions, nil
}

// ready says whether a call can be made: what it refers to is there, and its tool is not waited for.
func (p *recovery) ready(j *job) bool {
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
func (p *recovery) calls(j *job) string {
	if s := p.states[j.call.Tool]; s != nil && s.instead != "" {
		return s.instead
	}
	return j.call.Tool
}

func (p *recovery) make(j *job) (universe.Action, error) {
	j.tool, j.state, j.attempts = p.calls(j), jobSent, j.attempts+1
	j.given = p.resolve(j)
	var fixes []fix
	if s := p.states[j.tool]; s != nil {
		fixes = s.fixes
	}
	j.version, j.sent = len(fixes), spell(j.given, fixes)
	j.label = p.fresh(j.call.Label)
	return callAction(&universe.Call{Label: j.label, Tool: j.tool, Arguments: j.sent})
}

// hear hands what came back to those who wait for it.
func (p *recovery) hear(seen []universe.Observation) error {
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
	return nil
}

func (p *recovery) answered(q *question, o *universe.Observation) {
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
func (p *recovery) refused(j *job, err *universe.ToolError) {
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
			p.note("%s: %s", j.label, t.Name)
			p.follows(j, r)
			return
		}
	}
	j.state = jobFailed
	p.lose(j, fmt.Sprintf("`%s` fails: %s", j.tool, err.Error()))
}

// follows does what a remedy says.
func (p *recovery) follows(j *job, r remedy) {
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
func (p *recovery) ask(j *job, q *question) {
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
func (p *recovery) giveUp(j *job, why string) {
	p.state(j.tool).dead = why
	j.state = jobFailed
	p.lose(j, fmt.Sprintf("`%s` fails: %s", j.tool, why))
}

// lose gives up a run whose call has failed, or the check that it was for.
func (p *recovery) lose(j *job, why string) {
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
		p.note("%s: %s", j.label, otherPlanTactic.Name)
	}
}

func (p *recovery) received(j *job, o *universe.Observation) {
	f, _ := p.findIn(o.Content, p.documentation(j.tool))
	f.label = j.label
	j.finding = f
	p.examine(j)
}

func (p *recovery) documentation(tool string) *documentation { return documented(p.tool(tool), p.view) }

// findIn reads a payload, with the tactics that find rows in other shapes.
func (p *recovery) findIn(content []byte, d *documentation) (*finding, bool) {
	v, ok := readPayload(content)
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
func (p *recovery) examine(j *job) {
	s := &sign{p: p, j: j, f: j.finding}
	for _, t := range p.tactics {
		if t.complete == nil {
			continue
		}
		if r, ok := t.complete(s); ok && p.patient(j, r) {
			p.note("%s: %s", j.label, t.Name)
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
			p.note("%s: %s", j.label, t.Name)
		}
	}
	if why := p.unfit(j); why != "" {
		p.misunderstood(j, why)
		return
	}
	p.judge(j)
}

// readsRows says whether the rows of a result are read: where calls work on data handles, those of the answer alone are.
func (p *recovery) readsRows(j *job) bool {
	return len(p.view.Starts) == 0 || j.call.Label == j.run.plan.Answer || j.aside
}

// patient bounds how often a result is completed.
func (p *recovery) patient(j *job, r remedy) bool {
	if r.ask != nil {
		j.pages++
		return j.pages <= maxPagesTaken
	}
	return j.attempts <= maxTries
}

// unfit says in what a result is still not what the tool's documentation and the call promise; "" where it is.
func (p *recovery) unfit(j *job) string {
	f := j.finding
	switch {
	case j.misheard(f):
		return "it answered another question"
	case f.handle:
		return ""
	case isIncomplete(f), f.cursor != nil:
		return "some of its rows are missing"
	case !f.doc.rows:
		return ""
	case !f.table:
		return "its rows cannot be found"
	case len(f.doc.fields) > 0 && len(f.doc.fields) != len(f.names):
		return "its records have other fields"
	}
	for i := range f.names {
		if len(f.doc.fields) > 0 && f.names[i] != f.doc.fields[i].name {
			return "its records have other fields"
		}
		if texts, plain := f.texts(i); len(texts) > 0 && !plain && f.kind(i) == kindNumber && allHoldNumber(texts) {
			return "a field of numbers holds texts with numbers in them"
		}
	}
	return ""
}

var numberPattern = regexp.MustCompile(`-?\d[\d.,]*`)

// allHoldNumber says whether each text holds one number, among other words. (Documentation can be wrong: a field that is
// said to hold numbers may hold names or dates, and mean them.)
func allHoldNumber(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		at := numberPattern.FindAllStringIndex(text, 2)
		return len(at) != 1 || at[0][1]-at[0][0] == len(text) || at[0][0] > 0 && text[at[0][0]-1] != ' '
	})
}

// misunderstood goes another way where a result is unfit; where there is none, it is made the best of.
func (p *recovery) misunderstood(j *job, why string) {
	if p.uses(otherPlanTactic) && !j.aside && p.another(j.run) && j.run == p.current {
		j.state, j.run.failed = jobFailed, true
		p.lose(j, fmt.Sprintf("`%s`: %s", j.tool, why))
		return
	}
	p.judge(j)
}

func (p *recovery) uses(t *tactic) bool { return slices.Contains(p.tactics, t) }

// judge asks whether the source of a result is right.
func (p *recovery) judge(j *job) {
	if j.aside || j.run.aside {
		p.done(j)
		return
	}
	s := &sign{p: p, j: j, f: j.finding}
	for _, t := range p.tactics {
		if t.judge == nil || !j.finding.table {
			continue
		}
		v, ok := t.judge(s)
		if !ok {
			continue
		}
		switch {
		case v.ask != "":
			p.note("%s: %s", j.label, t.Name)
			j.state = jobJudging
			return
		case v.take != nil:
			p.note("%s: %s", j.label, t.Name)
			j.finding = v.take.finding
		case v.doubt != "" && p.uses(otherPlanTactic) && p.another(j.run):
			p.note("%s: %s", j.label, t.Name)
			j.state, j.run.failed = jobFailed, true
			preferred := ""
			if names := j.finding.sources(); len(names) > 0 {
				preferred = names[0]
			}
			if p.changePlan(preferred) {
				p.reason = fmt.Sprintf("`%s`: %s", j.tool, v.doubt)
			}
			return
		}
		break
	}
	p.done(j)
}

// done settles a call, and has those look again that waited for it as another source.
func (p *recovery) done(j *job) {
	j.state = jobDone
	p.judgeAgain(j)
}

// judgeAgain has the call look again for which this one was another source.
func (p *recovery) judgeAgain(source *job) {
	for _, r := range p.runs {
		for _, j := range r.jobs {
			if j.state == jobJudging && slices.Contains(j.others, source) {
				p.judge(j)
			}
		}
	}
}

// second gives the n-th other source of a result, once it has answered: nil and a question to be asked before, or nil and
// nothing where it cannot be asked or has failed.
func (p *recovery) second(s *sign, n int) (*job, verdict) {
	names := s.f.sources()
	if n >= len(names) {
		return nil, verdict{}
	}
	for len(s.j.others) <= n {
		s.j.others = append(s.j.others, p.source(s.j, names[len(s.j.others)]))
	}
	switch other := s.j.others[n]; {
	case other == nil || other.state == jobFailed:
		return nil, verdict{}
	case other.state == jobDone && other.finding.table:
		return other, verdict{}
	case other.state == jobDone:
		return nil, verdict{}
	default:
		return nil, verdict{ask: names[n]}
	}
}

// source has another source asked for what a call asks: the plan that ends with its tool where there is one, else the tool
// itself with the same arguments. It is nil where neither can be.
func (p *recovery) source(j *job, tool string) *job {
	for _, plan := range p.plans {
		if plan == j.run.plan || endTool(plan) != tool || !p.open(plan) {
			continue
		}
		if j != j.run.answer() {
			return nil // it speaks of the end of the plan, not of this step
		}
		r := p.runOf(plan)
		if r != p.current {
			r.aside = true
		}
		return r.answer()
	}
	own, other := p.tool(j.call.Tool), p.tool(tool)
	if own == nil || other == nil || !slices.Equal(parameterNames(own), parameterNames(other)) {
		return nil
	}
	return &job{run: j.run, aside: true, call: &universe.Call{Label: j.call.Label + "_other", Tool: tool, Arguments: j.call.Arguments}}
}

// resolve gives the arguments of a call with its references to what they stand for by now: a label of this episode, or the
// values themselves where a result had to be read back.
func (p *recovery) resolve(j *job) map[string]any {
	if len(j.call.Arguments) == 0 {
		return j.call.Arguments
	}
	resolved := make(map[string]any, len(j.call.Arguments))
	t := p.tool(j.call.Tool)
	for name, v := range j.call.Arguments {
		var wants *universe.Schema
		if t != nil && t.Parameters != nil {
			wants = t.Parameters.Property(name)
		}
		resolved[name] = p.resolveValue(j, v, wants, j.literal[name])
	}
	return resolved
}

func (p *recovery) resolveValue(j *job, v any, wants *universe.Schema, literal bool) any {
	switch v := v.(type) {
	case string:
		ref, refers := universe.ParseReference(v)
		if !refers {
			return v
		}
		used := j.run.job(ref.Label)
		if used == nil || used.finding == nil {
			return v
		}
		f := used.finding
		if f.table && len(p.view.Starts) == 0 && (f.rewritten || literal) {
			if written, ok := f.written(ref.Column, wants); ok {
				return written
			}
		}
		return universe.Reference{Label: f.label, Column: f.delivered(ref.Column)}.String()
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var element *universe.Schema
			if wants != nil {
				element = wants.Items
			}
			list[i] = p.resolveValue(j, v[i], element, literal)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for name := range v {
			fields[name] = p.resolveValue(j, v[name], nil, literal)
		}
		return fields
	default:
		return v
	}
}

// writeOut says that an argument that refers to a result is to be written out from now on; it is false where it is already,
// or refers to nothing.
func (p *recovery) writeOut(j *job, argument string) bool {
	text, _ := j.given[argument].(string)
	if _, refers := universe.ParseReference(text); !refers || j.literal[argument] {
		return false
	}
	if j.literal == nil {
		j.literal = map[string]bool{}
	}
	j.literal[argument] = true
	return true
}
