package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/judge/grade"
)

// Conditions of Robustness of Agentic Function Calling: what is asked in other words, and what stands beside the tools.
var (
	rephrasing = []string{condition.NameSurface, condition.NameParaphrase, condition.NameDisambiguate}
	expanding  = []string{condition.NameRelatedTools, condition.NameUnrelatedTools}
)

const (
	needsScores    = "episodes whose calls are compared with right ones, with and without the conditions surface, paraphrase or related-tools"
	whyNotPaired   = "no task has valid episodes with and without it"
	whyNothingLost = "nothing is wrong after that was right before"
	whyNothingHeld = "nothing was right before"
)

// measure is a way of saying that calls are right.
type measure struct {
	name  string
	right func(*grade.AST) bool
}

var measures = []measure{
	{"strict", func(s *grade.AST) bool { return s.Strict }},
	{"matched", func(s *grade.AST) bool { return s.Matched }},
	{"lenient", func(s *grade.AST) bool { return s.Lenient }},
}

const measureNote = "strict: by the leaderboard's rules; of a plan, its calls with the same canonical arguments, in any order. matched: with the " +
	"best assignment of parallel calls. lenient: other spellings of a value count too, by listed rules where tools cannot be run, by proof where they can."

// ofNames says whether a specification of conditions has these names alone.
func ofNames(specification string, names []string) bool {
	for _, one := range strings.Split(specification, "+") {
		name, _, _ := strings.Cut(one, ":")
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// scored is the compared episodes of a group on the tasks of one corpus.
type scored struct {
	g      *styled
	corpus string
	clean  map[trialKey]*grade.AST // by task and trial
	thin   map[trialKey]*grade.AST // with the tools of the plans alone, where there are more of them
	under  map[string][]*grade.Grade
}

// conditions lists what is compared with the original, of these names alone.
func (s *scored) conditions(names []string) []string {
	var list []string
	for c := range s.under {
		if ofNames(c, names) {
			list = append(list, c)
		}
	}
	slices.Sort(list)
	return list
}

// scored gathers the compared episodes of each group, by corpus. Only groups that have some under a condition of
// request or toolkit are of use.
func (m *material) scored() []*scored {
	var list []*scored
	for i := range m.groups {
		g := &m.groups[i]
		tasks := m.sets[g.run].Suite.Index()
		byCorpus := map[string]*scored{}
		for j := range g.rows {
			r := &g.rows[j]
			if r.Grade.AST == nil || !r.Grade.Valid || r.Strike != nil {
				continue
			}
			corpus := tasks[r.Grade.Task].Corpus
			s := byCorpus[corpus]
			if s == nil {
				s = &scored{g: g, corpus: corpus, clean: map[trialKey]*grade.AST{}, thin: map[trialKey]*grade.AST{},
					under: map[string][]*grade.Grade{}}
				byCorpus[corpus] = s
			}
			switch {
			case r.Condition == "":
				s.clean[trialKey{r.Grade.Task, r.Grade.Trial}] = r.Grade.AST
			case r.Condition == condition.NameGoldTools:
				s.thin[trialKey{r.Grade.Task, r.Grade.Trial}] = r.Grade.AST
			case ofNames(r.Condition, slices.Concat(rephrasing, expanding)):
				s.under[r.Condition] = append(s.under[r.Condition], &r.Grade)
			}
		}
		for _, corpus := range slices.Sorted(maps.Keys(byCorpus)) {
			if s := byCorpus[corpus]; len(s.clean) > 0 && len(s.under) > 0 {
				list = append(list, s)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *scored) int {
		return cmp.Or(cmp.Compare(a.corpus, b.corpus), compareStyles(a.g.style, b.g.style))
	})
	return list
}

// original gives the score of all episodes without a condition.
func (s *scored) original(is measure) *float64 {
	right := 0
	for _, one := range s.clean {
		if is.right(one) {
			right++
		}
	}
	return share(float64(right), len(s.clean))
}

// change is what a condition does to a score: over the pairs of an episode under it and the one of the same task and
// trial without it.
type change struct {
	pairs, before, after int // how many, and how many of them are right
	broken, repaired     int // right before and wrong after, and the other way
	values               int // of the broken, those with no other mistake than the value of an argument
	classes              map[string]int
	differences          map[string]cluster
}

func (s *scored) change(specification string, is measure) *change {
	c := &change{classes: map[string]int{}, differences: map[string]cluster{}}
	if specification == "" {
		return c
	}
	for _, g := range s.under[specification] {
		before := s.before(specification, trialKey{g.Task, g.Trial})
		if before == nil {
			continue
		}
		was, is := is.right(before), is.right(g.AST)
		c.pairs++
		c.before, c.after = c.before+one(was), c.after+one(is)
		d := c.differences[g.Task]
		c.differences[g.Task] = cluster{d.sum + float64(one(is)-one(was)), d.weight + 1}
		switch {
		case was && !is:
			c.broken++
			c.classes[g.AST.Class]++
			c.values += one(g.AST.Value)
		case is && !was:
			c.repaired++
		}
	}
	return c
}

// before gives what an episode is compared with: for an expanded toolkit one with the tools of the plans alone, where
// there is one, else the one without conditions.
func (s *scored) before(specification string, key trialKey) *grade.AST {
	if thin := s.thin[key]; thin != nil && ofNames(specification, expanding) {
		return thin
	}
	return s.clean[key]
}

// drop is the relative change of the score, negative where it falls (the percentages of RFC's table 2), nil where
// nothing was right before.
func (c *change) drop() *float64 { return share(float64(c.after-c.before), c.before) }

// line begins a line: what it is of.
func (s *scored) line(is measure) *line {
	l := newLine()
	l.text("corpus", s.corpus)
	l.text("style", s.g.style)
	l.text("run", s.g.subject.Run)
	l.text("agent", s.g.subject.Agent)
	l.text("protocol", s.g.subject.Protocol)
	l.text("arm", s.g.subject.Arm)
	l.text("measure", is.name)
	return l
}

func scoreColumns() []Column {
	return []Column{
		nameColumn("corpus", "corpus"), nameColumn("style", "style"), nameColumn("run", "run"), nameColumn("agent", "agent"),
		nameColumn("protocol", "protocol"), nameColumn("hints", "arm"), nameColumn("score", "measure"),
	}
}

// score writes a score as the paper does, or that no pair has one.
func (l *line) score(key string, v *float64) {
	l.value(key, v, func(v *float64) string { return mean(v, 3) }, whyNotPaired)
}

// relative writes a relative change in whole per cent, as the paper does.
func (l *line) relative(key string, v *float64, why string) {
	l.value(key, v, relative, why)
}

func relative(v *float64) string {
	text := strconv.FormatFloat(100**v, 'f', 0, 64)
	switch {
	case text == "-0":
		text = "0"
	case *v > 0 && text != "0":
		text = "+" + text
	}
	return text + " %"
}

// callRobustnessTable is RFC's table 2: the score as it was, with the request in other words, and with more tools, and
// what went wrong with more tools among what was right before. Where there are several conditions of a kind, they stand
// below each other.
func (m *material) callRobustnessTable() *Table {
	t := &Table{Columns: append(scoreColumns(), column("original", 0, "original"), column("entries", 4, "entries"))}
	for _, side := range []string{"rephrased", "expanded"} {
		t.Columns = append(t.Columns, nameColumn(side+" by", side+"_by"), column("before", 3, side+"_before"),
			column(side, 0, side),
			column("change", 0, side+"_change"), column("pairs", 5, side+"_pairs"))
	}
	for _, class := range mistakeClasses {
		t.Columns = append(t.Columns, column("wrong "+class, 1, "expanded_wrong_"+class))
	}
	t.Columns = append(t.Columns, column("broken", 1, "expanded_broken"), column("repaired", 1, "expanded_repaired"))
	t.Notes = []string{
		measureNote, "before: the score of the same tasks without the condition; of an expanded toolkit that with the tools of the plans alone, where the " +
			"suite has it (" + condition.NameGoldTools +
			"). change: relative to it. wrong …: shares of the entries that were right with the " +
			"thin toolkit and are wrong with the expanded one (broken), by kind of mistake; repaired counts the other way.",
	}
	for _, s := range m.scored() {
		rephrased, expanded := s.conditions(rephrasing), s.conditions(expanding)
		for _, is := range measures {
			for i := range max(len(rephrased), len(expanded)) {
				l := s.line(is)
				l.score("original", s.original(is))
				l.count("entries", len(s.clean))
				s.side(l, "rephrased", is, at(rephrased, i))
				c := s.side(l, "expanded", is, at(expanded, i))
				for _, class := range mistakeClasses {
					l.decimal("expanded_wrong_"+class, share(float64(c.classes[class]), c.broken), whyNothingLost)
				}
				l.count("expanded_broken", c.broken)
				l.count("expanded_repaired", c.repaired)
				t.add(l)
			}
		}
	}
	return t.orNone("it takes " + needsScores)
}

func at(list []string, i int) string {
	if i < len(list) {
		return list[i]
	}
	return ""
}

// side adds the score under a condition and how it changed.
func (s *scored) side(l *line, name string, is measure, specification string) *change {
	c := s.change(specification, is)
	l.text(name+"_by", specification)
	l.score(name+"_before", share(float64(c.before), c.pairs))
	l.score(name, share(float64(c.after), c.pairs))
	why := whyNothingHeld
	if c.pairs == 0 {
		why = whyNotPaired
	}
	l.relative(name+"_change", c.drop(), why)
	l.count(name+"_pairs", c.pairs)
	return c
}

// brokenTable says of each condition what it broke and what it repaired, with the paired difference (RFC §3.2).
func (m *material) brokenTable() *Table {
	t := &Table{Columns: append(scoreColumns(), nameColumn("condition", "condition"), column("pairs", 0, "pairs"),
		column("before", 1, "before"), column("after", 1, "after"), column("change", 0, "change"),
		column("difference", 3, "difference"), column("95 % interval", 4, intervalKeys("difference_ci95")...),
		column("broken", 0, "broken"))}
	for _, class := range mistakeClasses {
		t.Columns = append(t.Columns, column(class, 0, "broken_"+class))
	}
	t.Columns = append(t.Columns, column("value alone", 1, "broken_value"), column("repaired", 0, "repaired"),
		column("McNemar p", 5, "mcnemar_p"))
	t.Notes = []string{
		measureNote, "broken: right before and wrong after, by kind of mistake; value alone: those in which nothing is wrong but the value of " +
			"an argument. repaired: the other way. difference: in the score, a task counting once; p is McNemar's exact test on broken and repaired.",
	}
	starred := false
	for _, s := range m.scored() {
		for _, specification := range slices.Sorted(maps.Keys(s.under)) {
			for _, is := range measures {
				c := s.change(specification, is)
				l := s.line(is)
				l.text("condition", specification)
				l.count("pairs", c.pairs)
				l.score("before", share(float64(c.before), c.pairs))
				l.score("after", share(float64(c.after), c.pairs))
				l.relative("change", c.drop(), whyNothingHeld)
				l.value("difference", ratio(c.differences), signed, whyNotPaired)
				ci, method := interval(c.differences, -1, m.options, s.g.names("broken", s.corpus, specification, is.name))
				l.interval("difference_ci95", ci, method, signed)
				starred = starred || method == MethodWilson
				l.count("broken", c.broken)
				for _, class := range mistakeClasses {
					l.count("broken_"+class, c.classes[class])
				}
				l.count("broken_value", c.values)
				l.count("repaired", c.repaired)
				p := mcnemar(c.broken, c.repaired)
				l.value("mcnemar_p", &p, func(v *float64) string { return pValue(*v) }, whyNotPaired)
				t.add(l)
			}
		}
	}
	return t.marked(starred).orNone("it takes " + needsScores)
}
