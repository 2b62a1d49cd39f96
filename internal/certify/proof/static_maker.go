package proof

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/twin"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/request"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
	"golang.org/x/sync/errgroup"
)

// Reasons for which a task whose tools cannot be run is not put under a condition, beside those of [request.Reasons]
// and [twin.ShelfRefusals]. Most are the exclusion rules of Incomplete Conditions, supplementary material.
const (
	ReasonNotRequired = "detail_not_required"
	ReasonDocumented  = "detail_documented"
	ReasonObtainable  = "detail_obtainable"
	ReasonOthersServe = "others_remain"
	ReasonUnstated    = "original_incomplete"
	ReasonNoDetail    = "no_detail_known"
)

// StaticReasons explains them.
func StaticReasons() map[string]string {
	reasons := map[string]string{
		ReasonNotRequired: "every value that the request says is of an argument that is optional, or has a default",
		ReasonDocumented:  "the documentation of a tool gives the value away",
		ReasonObtainable:  "another tool that is shown returns the value",
		ReasonOthersServe: "something else that is asked for at the same time does not need the value",
		ReasonUnstated:    "a required value of the right call stands neither in the request nor in the documentation: the original is not complete",
		ReasonNoDetail:    "no value of a right call is known",
	}
	maps.Copy(reasons, twin.ShelfRefusals())
	for name, why := range suite.VerdictReasons() {
		reasons[ReasonReviewer+name] = "a reviewer says: " + why
	}
	return reasons
}

// Checks that certificates of instances of tasks whose tools cannot be run name. They prove nothing: see [CheckStatic].
const (
	CheckRequired = "detail_required" // every right call needs the value, which has no default
	// nothing of it, of its other forms and of its parts stands in any message
	CheckGone          = "detail_gone"
	CheckNotObtainable = "detail_not_obtainable"    // no tool shown is documented to return it, or tells it
	CheckComplete      = "original_complete"        // every required value stands in the original or in the documentation
	CheckOthers        = "shown_tools_do_not_serve" // none is named, documented or called like one that is needed
)

// StaticMaker puts the tasks of a suite whose tools cannot be run under conditions of the request and of the toolkit.
// It makes the same whenever it is given the same suite. It is not safe for concurrent use.
type StaticMaker struct {
	suite   *suite.Suite
	seed    uint64
	workers int
	asked   []condition.Condition
	shelves map[string]*twin.Shelf
	shown   map[string][]*task.Tool // by database
	clean   map[string]*suite.Instance
	made    [][]*staticDraft        // by task
	scribe  *Scribe                 // nil where rules alone make everything
	pages   map[string]*staticPages // by task and condition
}

// staticDraft is a task under one condition on its way.
type staticDraft struct {
	asked     condition.Condition
	instances []*suite.Instance
	checks    [][]string // of each
	added     []*task.Tool
	refused   *suite.Rejection
	fallback  bool // a writer was to word it, and rules did
}

// NewStaticMaker makes a maker of the conditions that need to know requests and toolkits, among combinations. The
// scribe words what it can; nil leaves all to rules.
func NewStaticMaker(
	ctx context.Context, s *suite.Suite, combinations [][]condition.Condition, measure twin.Measure, scribe *Scribe,
	workers int,
) (*StaticMaker, error) {
	m := &StaticMaker{
		suite: s, seed: s.Manifest.Seed, workers: max(workers, 1), shelves: map[string]*twin.Shelf{},
		shown: map[string][]*task.Tool{},
		clean: map[string]*suite.Instance{}, made: make([][]*staticDraft, len(s.Tasks)), scribe: scribe,
	}
	for _, c := range slices.Concat(instances.OfRequest.Alone(combinations), instances.OfChoice.Alone(combinations)) {
		switch c.Name {
		case condition.NameDisambiguate, condition.NameClarify: // which need SQL
		default:
			m.asked = append(m.asked, c)
		}
	}
	for _, t := range s.Tools[task.StyleStatic] {
		m.shown[t.Database] = append(m.shown[t.Database], t)
	}
	for _, in := range s.Instances {
		if isClean(in) {
			m.clean[in.Task] = in
		}
	}
	pools := map[string][]*task.Tool{}
	for _, t := range s.Tasks {
		pools[t.Corpus] = append(pools[t.Corpus], m.shown[t.Database]...)
	}
	for corpus, tools := range pools {
		shelf, err := twin.NewShelf(ctx, measure, tools)
		if err != nil {
			return nil, fmt.Errorf("corpus %s: %w", corpus, err)
		}
		m.shelves[corpus] = shelf
	}
	return m, nil
}

// ReasonReviewer begins the reason for which a reviewer dropped an instance; behind it stands one of
// [suite.VerdictReasons].
const ReasonReviewer = "reviewer_"

// Judged lists the instances that verdicts can be given on, those that were refused among them: of all that was chosen.
func (m *StaticMaker) Judged() map[string]bool {
	known := map[string]bool{}
	for _, drafts := range m.made {
		for _, d := range drafts {
			for _, in := range d.instances {
				known[in.ID] = true
			}
			if d.refused != nil {
				known[d.refused.ID] = true
			}
		}
	}
	return known
}

// judge drops what some reviewer drops: where one of a pair goes, so does the other. Of several verdicts the first that
// drops counts.
func (m *StaticMaker) judge(task *task.Task, d *staticDraft) {
	for _, v := range m.suite.Verdicts {
		if v.Verdict == suite.VerdictDrop && slices.ContainsFunc(d.instances,
			func(in *suite.Instance) bool { return in.ID == v.Instance }) {
			d.refuse(task, ReasonReviewer+v.Reason, strings.TrimSuffix(v.Reviewer+": "+cmp.Or(v.Note,
				suite.VerdictReasons()[v.Reason]), ": "))
			return
		}
	}
}

// Work is how many tasks and conditions there are, for progress.
func (m *StaticMaker) Work() int { return len(m.asked) * len(m.suite.Tasks) }

// Choose makes wordings and chooses toolkits, and gives the tools that must stand in the suite for them: those of other
// questions of the corpus, in the order of the tasks. Step is called after each task and condition.
func (m *StaticMaker) Choose(ctx context.Context, step func()) ([]*task.Tool, error) {
	if err := m.ask(ctx); err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.workers)
	for i, task := range m.suite.Tasks {
		group.Go(func() error {
			for _, asked := range m.asked {
				if err := ctx.Err(); err != nil {
					return err
				}
				d, err := m.draft(task, asked)
				if err != nil {
					return fmt.Errorf("task %s: condition %s: %w", task.ID, asked, err)
				}
				m.made[i] = append(m.made[i], d)
				step()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var tools []*task.Tool
	for i, drafts := range m.made {
		taken := map[string]bool{}
		for _, d := range drafts {
			for _, t := range d.added {
				if taken[t.Name] {
					continue
				}
				taken[t.Name] = true
				copied := *t
				copied.Database, copied.Document = m.suite.Tasks[i].Database, ""
				tools = append(tools, &copied)
			}
		}
	}
	return tools, nil
}

// Certify checks what was made as it is shown, and accounts for it by task. The stage's suite has to hold the tools
// that [StaticMaker.Choose] gave. The error is Seatrial's own failure.
func (m *StaticMaker) Certify(ctx context.Context, stage *episode.Stage, step func()) ([]*RequestMade, []*ToolkitsMade,
	error) {
	requests, toolkits := make([]*RequestMade, len(m.made)), make([]*ToolkitsMade, len(m.made))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(m.workers)
	for i, drafts := range m.made {
		group.Go(func() error {
			for _, d := range drafts {
				if len(m.suite.Verdicts) > 0 {
					m.judge(m.suite.Tasks[i], d)
				}
				certified, err := m.certify(ctx, stage, m.suite.Tasks[i], d)
				if err != nil {
					return fmt.Errorf("task %s: condition %s: %w", m.suite.Tasks[i].ID, d.asked, err)
				}
				var refused []*suite.Rejection
				instances := d.instances
				if d.refused != nil {
					refused, instances, certified = []*suite.Rejection{d.refused}, nil, nil
				}
				if d.asked.OfRequest() {
					if requests[i] == nil {
						requests[i] = &RequestMade{}
					}
					r := requests[i]
					r.Instances, r.Certified, r.Refused = append(r.Instances, instances...), append(r.Certified, certified...),
						append(r.Refused, refused...)
					for _, in := range instances {
						if d.fallback {
							r.Fallback = append(r.Fallback, in.ID)
						}
					}
				} else {
					if toolkits[i] == nil {
						toolkits[i] = &ToolkitsMade{}
					}
					k := toolkits[i]
					k.Instances, k.Refused = append(k.Instances, instances...), append(k.Refused, refused...)
					for _, c := range certified {
						k.Certified = append(k.Certified, &Certified{Certificate: c})
					}
				}
				step()
			}
			return nil
		})
	}
	return requests, toolkits, group.Wait()
}

// certify checks the instances of a draft. Where one does not hold, none is published.
func (m *StaticMaker) certify(
	ctx context.Context, stage *episode.Stage, task *task.Task, d *staticDraft,
) ([]*suite.Certificate, error) {
	var list []*suite.Certificate
	for i, in := range d.instances {
		cert := &suite.Certificate{Instance: in.ID, Plans: []suite.PlanProof{}, Checks: []string{CheckStatic}}
		if in.Role == condition.RoleClean {
			found, reason, err := Certify(ctx, stage, in)
			if err != nil {
				return nil, err
			}
			if reason != "" {
				d.refuse(task, ReasonUncertified, reason)
				return nil, nil
			}
			cert = found
		}
		cert.Checks = append(cert.Checks, d.checks[i]...)
		list = append(list, cert)
	}
	return list, nil
}

func (d *staticDraft) refuse(task *task.Task, reason, message string) {
	d.instances, d.checks, d.added = nil, nil, nil
	d.refused = &suite.Rejection{
		What: "instance", ID: task.ID + "/" + d.asked.String(), Corpus: task.Corpus, Database: task.Database,
		Style:  task.Style,
		Reason: reason, Message: cmp.Or(message, request.Reasons()[reason], StaticReasons()[reason], twin.Refusals()[reason]),
	}
}

// draft puts a task under one condition.
func (m *StaticMaker) draft(task *task.Task, asked condition.Condition) (*staticDraft, error) {
	d := &staticDraft{asked: asked}
	var err error
	switch asked.Name {
	case condition.NameSurface, condition.NameParaphrase:
		err = m.reword(d, task)
	case condition.NameDropDetail:
		err = m.drop(d, task)
	case condition.NameReplaceTool:
		err = m.replace(d, task)
	case condition.NameRelatedTools, condition.NameUnrelatedTools:
		err = m.expand(d, task)
	default:
		err = fmt.Errorf("nothing makes instances under it")
	}
	return d, err
}

// spoken is the task as its request says it.
func (m *StaticMaker) spoken(task *task.Task) *request.Task {
	return request.Spoken(task.ID, task.Messages, saidOf(task), m.shown[task.Database])
}

// reword says a request otherwise.
func (m *StaticMaker) reword(d *staticDraft, tk *task.Task) error {
	asked, err := d.asked.Request()
	if err != nil {
		return err
	}
	t := m.spoken(tk)
	var made *request.Rewording
	var reason, writer string
	switch said, p := m.writtenText(tk, d.asked); {
	case d.asked.Name == condition.NameSurface:
		made, reason = request.Surface(t, asked.Strength, m.seed, nil)
	case said != "":
		made, writer = p.own.Reworded(t, said), m.scribe.name
	default:
		made, reason = request.Rephrase(t, m.seed)
		d.fallback = m.scribe != nil
	}
	if reason != "" {
		d.refuse(tk, reason, "")
		return nil
	}
	changed := &condition.Request{Texts: changedTexts(tk.Messages, made.Messages), Writer: writer}
	for _, k := range made.Kept {
		changed.Kept = append(changed.Kept, condition.Kept{Value: task.AppendValue(nil, k.Value), Form: k.Form, Rule: k.Rule})
	}
	return d.take(m, tk, changed, CheckKept)
}

func (d *staticDraft) take(m *StaticMaker, task *task.Task, made *condition.Request, checks ...string) error {
	in, err := instances.RequestInstance(m.clean[task.ID], task, d.asked, made)
	d.instances, d.checks = []*suite.Instance{in}, [][]string{checks}
	return err
}

// unstated gives the first required value of a right call that stands neither in the request nor in the documentation.
func (m *StaticMaker) unstated(tk *task.Task, t *request.Task) string {
	documentation := told(m.shown[tk.Database])
	values := request.Values(t)
	for i := range tk.Plans {
		for j := range tk.Plans[i].Calls {
			c := &tk.Plans[i].Calls[j]
			tool := toolNamed(m.shown[tk.Database], c.Tool)
			if tool == nil || tool.Parameters == nil {
				continue
			}
			for _, v := range values {
				if v.Argument != "" && slices.Contains(tool.Parameters.Required, v.Argument) && !v.Stated() &&
					!english.HasPhrase(documentation, fmt.Sprint(v.Value)) {
					return v.Argument
				}
			}
		}
	}
	return ""
}

func toolNamed(tools []*task.Tool, name string) *task.Tool {
	at := slices.IndexFunc(tools, func(t *task.Tool) bool { return t.Name == name })
	if at < 0 {
		return nil
	}
	return tools[at]
}

// droppable lists the values of a task in the order in which they are tried, or says why there are none.
func (m *StaticMaker) droppable(tk *task.Task, t *request.Task) (values []*request.Value, reason, message string) {
	values = slices.DeleteFunc(slices.Clone(request.Values(t)), (*request.Value).Part)
	switch {
	case len(tk.Needed()) == 0:
		return nil, twin.ReasonNothingNeeded, ""
	case len(values) == 0:
		return nil, ReasonNoDetail, ""
	}
	if argument := m.unstated(tk, t); argument != "" {
		return nil, ReasonUnstated, "the value of " + argument + " stands neither in the request nor in the documentation"
	}
	draw := task.Draw(m.seed, "drop-detail", task.StyleStatic, tk.ID)
	draw.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	slices.SortStableFunc(values, func(a, b *request.Value) int { return cmp.Compare(a.Rank(), b.Rank()) })
	return values, "", ""
}

// dropReasons are in the order in which they come closer to leaving a value out.
var dropReasons = []string{
	request.ReasonNotSaid, ReasonNotRequired, ReasonOthersServe, ReasonDocumented, ReasonObtainable,
	request.ReasonReturned,
	request.ReasonAmbiguous, request.ReasonRemains, request.ReasonAwkward, request.ReasonNotAsked,
}

// drop leaves out a value that every right call needs. Of the reasons for which values cannot be left out, the one that
// came closest is told.
func (m *StaticMaker) drop(d *staticDraft, task *task.Task) error {
	checks := []string{CheckComplete, CheckRequired, CheckGone, CheckNotObtainable}
	if said, p := m.writtenText(task, d.asked); said != "" {
		argument, _ := m.blocked(task, p.value)
		made := droppedAs(task, p.value, argument, p.value.Left(p.own.Page, said))
		made.Writer = m.scribe.name
		return d.take(m, task, made, checks...)
	}
	d.fallback = m.scribe != nil
	values, reason, message := m.droppable(task, m.spoken(task))
	if reason != "" {
		d.refuse(task, reason, message)
		return nil
	}
	reason = request.ReasonNotSaid
	for _, v := range values {
		argument, refused := m.blocked(task, v)
		if refused == "" {
			var left *request.Dropped
			if left, refused = v.Missing(); refused == "" {
				return d.take(m, task, droppedAs(task, v, argument, left), checks...)
			}
		}
		if slices.Index(dropReasons, refused) > slices.Index(dropReasons, reason) {
			reason = refused
		}
	}
	d.refuse(task, reason, "")
	return nil
}

// droppedAs writes a request without a value.
func droppedAs(t *task.Task, v *request.Value, argument string, left *request.Dropped) *condition.Request {
	dropped := &condition.Dropped{
		Argument: argument, Value: task.AppendValue(nil, v.Value), Form: left.Form, Phrase: left.Phrase, Names: left.Names,
	}
	if !slices.Contains(dropped.Names, argument) {
		dropped.Names = append(dropped.Names, argument)
	}
	return &condition.Request{Texts: changedTexts(t.Messages, left.Messages), Dropped: dropped}
}

// blocked says which argument nobody can give without a value, or why somebody could do without it.
func (m *StaticMaker) blocked(tk *task.Task, v *request.Value) (argument, reason string) {
	shown, needs := m.shown[tk.Database], tk.Needed()
	for i := range needs {
		tool := toolNamed(shown, needs[i].Tool)
		needed := ""
		for _, name := range slices.Sorted(maps.Keys(needs[i].Arguments)) {
			if sameLeaf(needs[i].Arguments[name], v.Value) && tool != nil && required(tool, name) {
				needed = name
			}
		}
		if needed == "" {
			if slices.ContainsFunc(needs, func(c task.Call) bool { return asks(shown, &c, v.Value) }) {
				return "", ReasonOthersServe
			}
			return "", ReasonNotRequired
		}
		argument = cmp.Or(argument, needed)
	}
	for _, t := range shown {
		if !slices.ContainsFunc(needs, func(c task.Call) bool { return c.Tool == t.Name }) && gives(t, argument) {
			return "", ReasonObtainable
		}
	}
	if documents(shown, argument, v.Value) {
		return "", ReasonDocumented
	}
	return argument, ""
}

// asks says whether a call requires a value.
func asks(shown []*task.Tool, c *task.Call, v task.Value) bool {
	tool := toolNamed(shown, c.Tool)
	for name, given := range c.Arguments {
		if tool != nil && sameLeaf(given, v) && required(tool, name) {
			return true
		}
	}
	return false
}

func sameLeaf(a any, b task.Value) bool {
	switch a.(type) {
	case string, int64, float64:
		return fmt.Sprint(a) == fmt.Sprint(b)
	}
	return false
}

// documents says whether the tools shown tell a value. One of several that an argument lists is as unknown as the
// others.
func documents(shown []*task.Tool, argument string, v task.Value) bool {
	value, isText := v.(string)
	if !isText || len(strings.TrimSpace(value)) < 2 {
		return false
	}
	bare := make([]*task.Tool, len(shown))
	for i, t := range shown {
		bare[i] = t
		p := t.Parameters.Property(argument)
		if p == nil || len(p.Enum) < 2 {
			continue
		}
		copied, parameters := *t, *t.Parameters
		parameters.Properties = slices.DeleteFunc(slices.Clone(parameters.Properties),
			func(p task.Property) bool { return p.Name == argument })
		copied.Parameters, bare[i] = &parameters, &copied
	}
	return english.HasPhrase(told(bare), value)
}

// needsOf lists the tools that a task needs, each once.
func (m *StaticMaker) needsOf(task *task.Task) []twin.Need {
	var needs []twin.Need
	shown := m.shown[task.Database]
	for _, c := range task.Needed() {
		if t := toolNamed(shown, c.Tool); t != nil && !slices.ContainsFunc(needs,
			func(n twin.Need) bool { return n.Tool == t }) {
			needs = append(needs, twin.Need{Tool: t, Arguments: slices.Sorted(maps.Keys(c.Arguments))})
		}
	}
	return needs
}

// replace lets the needed tools give way.
func (m *StaticMaker) replace(d *staticDraft, task *task.Task) error {
	if argument := m.unstated(task, m.spoken(task)); argument != "" {
		d.refuse(task, ReasonUnstated, "the value of "+argument+" stands neither in the request nor in the documentation")
		return nil
	}
	made, refusal := m.shelves[task.Corpus].Substitute(m.shown[task.Database], m.needsOf(task))
	if refusal != nil {
		d.refuse(task, refusal.Reason, refusal.Message)
		return nil
	}
	var replaced []condition.Replaced
	for _, r := range made.Replaced {
		replaced = append(replaced, condition.Replaced{Tool: r.Tool, By: r.By, Similarity: thousandths(r.Similarity)})
	}
	instances, err := instances.ReplacedInstances(m.clean[task.ID], task, d.asked, made.Toolkit, replaced)
	d.instances, d.added = instances, made.By
	d.checks = [][]string{{CheckComplete, CheckOthers}, {CheckComplete}}
	return err
}

// expand adds tools to those that a question comes with: its own toolkit is the thin one.
func (m *StaticMaker) expand(d *staticDraft, tk *task.Task) error {
	asked, err := d.asked.Choice()
	if err != nil {
		return err
	}
	shown := m.shown[tk.Database]
	var list []condition.Added
	written := m.writtenTools(tk, d.asked)
	for _, t := range written {
		list, d.added = append(list, condition.Added{Tool: t.Name, Writer: m.scribe.name}), append(d.added, t)
	}
	added, refusal := m.shelves[tk.Corpus].Beside(
		slices.Concat(shown, written), m.needsOf(tk), asked.Tools-len(written), d.asked.Name == condition.NameUnrelatedTools,
		func(name string) string { return task.Hash(m.seed, d.asked.Name, tk.ID, name) },
	)
	if refusal != nil {
		d.refuse(tk, refusal.Reason, refusal.Message)
		return nil
	}
	own := make([]string, len(shown))
	for i, t := range shown {
		own[i] = t.Name
	}
	for _, r := range added {
		list = append(list, condition.Added{Tool: r.Tool.Name, Similarity: thousandths(r.Similarity)})
		d.added = append(d.added, r.Tool)
	}
	in, err := instances.ExpandedInstance(m.clean[tk.ID], tk, d.asked, own, list)
	d.instances, d.checks = []*suite.Instance{in}, [][]string{{CheckOthers}}
	return err
}
