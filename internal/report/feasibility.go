package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// Explained is what came of the explanation of a right no.
type Explained struct {
	Lack     string          // what is missing: LackTool, LackDetail, both joined by a plus sign, "" where it is not known
	Known    string          // one of the Explained constants of package grade, "" where it is not known what is missing
	Opinions map[string]bool // by judge model; those that could be read
}

// What an instance lacks.
const (
	LackTool   = "tool"
	LackDetail = "detail"
)

// ExplainedOf assesses an explanation by what is known to be missing. shown are the tools and the task as the agent met
// them.
func ExplainedOf(lack *suite.Lack, tools []*task.Tool, shown *task.Task, explanation string,
	opinions map[string]bool) *Explained {
	known := grade.Lack{Request: shown.Question(), Shown: tools, Tools: lack.Tools}
	var kinds []string
	if len(lack.Tools) > 0 {
		kinds = append(kinds, LackTool)
	}
	if len(lack.Missing) > 0 {
		kinds = append(kinds, LackDetail)
	}
	for _, d := range lack.Missing {
		known.Missing = append(known.Missing, d.Names)
	}
	for _, d := range lack.Present {
		known.Present = append(known.Present, d.Names)
	}
	return &Explained{Lack: strings.Join(kinds, "+"), Known: known.Assess(explanation), Opinions: opinions}
}

// pairing is a pair of instances with what tells lines of tables apart.
type pairing struct {
	condition, corpus    string
	task                 string
	incomplete, complete string // their ids
}

// pairings lists the pairs of the suite of a set, by style.
func (m *material) pairings(set string) map[string][]pairing {
	if known := m.pairs[set]; known != nil {
		return known
	}
	byStyle := map[string][]pairing{}
	s := m.sets[set].Suite
	tasks := s.Index()
	pairs, _ := s.Pairs()
	for _, p := range pairs {
		task := tasks[p.Incomplete.Task]
		if task == nil {
			continue
		}
		byStyle[task.Style] = append(byStyle[task.Style], pairing{
			condition: conditionsOf(p.Incomplete), corpus: task.Corpus, task: task.ID,
			incomplete: p.Incomplete.ID, complete: p.Complete.ID,
		})
	}
	if m.pairs == nil {
		m.pairs = map[string]map[string][]pairing{}
	}
	m.pairs[set] = byStyle
	return byStyle
}

// irrelevance stands in place of a condition where a task is incomplete by itself: none of its own tools serves it.
const irrelevance = "irrelevance"

// conditionsOf names the conditions of an incomplete instance, without their parameters.
func conditionsOf(in *suite.Instance) string {
	if len(in.Conditions) == 0 {
		return irrelevance
	}
	names := make([]string, len(in.Conditions))
	for i := range in.Conditions {
		names[i] = in.Conditions[i].Name
	}
	return strings.Join(names, "+")
}

// verdicts are judgements over pairs of an incomplete and a complete instance. No is the positive class (Incomplete
// Conditions, "Task Formulation").
type verdicts struct {
	pairs    int // both of whose episodes are valid; the others are in left
	left     int
	rightNo  int // true positives: no to an incomplete request
	wrongNo  int // false positives: no to a complete one
	rightYes int
	wrongYes int
	unread   int // episodes without a judgement: right about nothing
	accuracy map[string]cluster
	f1       map[string]cluster
}

func newVerdicts() *verdicts {
	return &verdicts{accuracy: map[string]cluster{}, f1: map[string]cluster{}}
}

// add counts a pair. F1 is 2 TP / (2 TP + FP + FN); an incomplete request that was not judged is a false negative.
func (v *verdicts) add(task string, incomplete, complete *grade.Grade) {
	if incomplete == nil || complete == nil || !incomplete.Valid || !complete.Valid {
		v.left++
		return
	}
	v.pairs++
	positive, falsePositive := incomplete.Judged == grade.JudgedNo, complete.Judged == grade.JudgedNo
	rightYes := complete.Judged == grade.JudgedYes
	v.rightNo, v.wrongNo = v.rightNo+one(positive), v.wrongNo+one(falsePositive)
	v.rightYes, v.wrongYes = v.rightYes+one(rightYes), v.wrongYes+one(incomplete.Judged == grade.JudgedYes)
	v.unread += one(incomplete.Judged == "") + one(complete.Judged == "")
	a, f := v.accuracy[task], v.f1[task]
	a.sum, a.weight = a.sum+float64(one(positive)+one(rightYes)), a.weight+2
	f.sum, f.weight = f.sum+float64(2*one(positive)), f.weight+float64(one(positive)+1+one(falsePositive))
	v.accuracy[task], v.f1[task] = a, f
}

// merge adds the counts of another. Tasks of both are the same tasks.
func (v *verdicts) merge(w *verdicts) {
	v.pairs, v.left, v.unread = v.pairs+w.pairs, v.left+w.left, v.unread+w.unread
	v.rightNo, v.wrongNo = v.rightNo+w.rightNo, v.wrongNo+w.wrongNo
	v.rightYes, v.wrongYes = v.rightYes+w.rightYes, v.wrongYes+w.wrongYes
	for _, both := range []struct{ into, from map[string]cluster }{{v.accuracy, w.accuracy}, {v.f1, w.f1}} {
		for task, c := range both.from {
			sum := both.into[task]
			both.into[task] = cluster{sum.sum + c.sum, sum.weight + c.weight}
		}
	}
}

// facet is what a line of a table about judgements is of, beside its group.
type facet struct{ condition, corpus string }

// trialKey names an episode within a group.
type trialKey struct {
	instance string
	trial    int
}

// byTrial finds the grades of a group.
func (g *styled) byTrial() (byTrial map[trialKey]*grade.Grade, trials []int) {
	byTrial = make(map[trialKey]*grade.Grade, len(g.rows))
	for i := range g.rows {
		e := &g.rows[i].Grade
		byTrial[trialKey{e.Instance, e.Trial}] = e
		if !slices.Contains(trials, e.Trial) {
			trials = append(trials, e.Trial)
		}
	}
	slices.Sort(trials)
	return byTrial, trials
}

// verdicts counts the judgements of a group over the pairs of its suite whose incomplete instance it played, by
// condition and corpus.
func (m *material) verdicts(g *styled) ([]facet, map[facet]*verdicts) {
	byTrial, trials := g.byTrial()
	counts := map[facet]*verdicts{}
	for _, p := range m.pairings(g.run)[g.style] {
		for _, trial := range trials {
			incomplete, complete := byTrial[trialKey{p.incomplete, trial}], byTrial[trialKey{p.complete, trial}]
			if incomplete == nil {
				continue
			}
			at := facet{p.condition, p.corpus}
			if counts[at] == nil {
				counts[at] = newVerdicts()
			}
			counts[at].add(p.task, incomplete, complete)
		}
	}
	return facetsOf(counts), counts
}

func facetsOf[T any](of map[facet]T) []facet {
	list := make([]facet, 0, len(of))
	for f := range of {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b facet) int {
		return cmp.Or(cmp.Compare(a.condition, b.condition), cmp.Compare(a.corpus, b.corpus))
	})
	return list
}

// judges says whether a group judges requests: under a judging protocol, or as a policy that does.
func (g *styled) judges() bool {
	if g.subject.Protocol != protocolPolicy {
		return slices.Contains(judgingProtocols, g.subject.Protocol)
	}
	return slices.ContainsFunc(g.rows, func(r Row) bool { return r.Grade.Judged != "" })
}

// agreement is how often the judgements of two groups on one instance are the same (Incomplete Conditions, table 5,
// "Corr."). Instances that one of them did not judge are passed over.
func (m *material) agreement(g, other *styled) map[facet]map[string]cluster {
	mine, trials := g.byTrial()
	theirs, _ := other.byTrial()
	byFacet := map[facet]map[string]cluster{}
	for _, p := range m.pairings(g.run)[g.style] {
		at := facet{p.condition, p.corpus}
		for _, instance := range []string{p.incomplete, p.complete} {
			for _, trial := range trials {
				a, b := mine[trialKey{instance, trial}], theirs[trialKey{instance, trial}]
				if a == nil || b == nil || a.Judged == "" || b.Judged == "" || a.Suite != b.Suite {
					continue
				}
				if byFacet[at] == nil {
					byFacet[at] = map[string]cluster{}
				}
				c := byFacet[at][p.task]
				byFacet[at][p.task] = cluster{c.sum + float64(one(a.Judged == b.Judged)), c.weight + 1}
			}
		}
	}
	return byFacet
}

// judgedBeside finds the group of the same agent, style and hints under another protocol without examples: that of the
// same run, or else the only one of any run on the same suite. The reason says why there is none.
func (m *material) judgedBeside(g *styled, protocol string) (*styled, string) {
	var others []*styled
	for i := range m.groups {
		o := &m.groups[i]
		if o.style != g.style || o.subject.Agent != g.subject.Agent || o.subject.Protocol != protocol ||
			o.subject.Arm != g.subject.Arm {
			continue
		}
		if o.run == g.run {
			return o, ""
		}
		if m.sets[o.run].Suite.Manifest.Digest == m.sets[g.run].Suite.Manifest.Digest {
			others = append(others, o)
		}
	}
	switch len(others) {
	case 0:
		return nil, "no " + protocol + " run"
	case 1:
		return others[0], ""
	default:
		return nil, "several " + protocol + " runs"
	}
}

// leftNote says which pairs do not count.
func leftNote(name string, at facet, v *verdicts) string {
	if v.left == 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s on %s: %d of %d pairs lack a valid episode of one of their instances and do not count.",
		name, at.condition, at.corpus, v.left, v.left+v.pairs)
}
