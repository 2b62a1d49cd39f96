package report

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// Protocols of Incomplete Conditions, as runs name them.
const (
	protocolFeasible        = "feasible"
	protocolFeasibleThought = "feasible-cot"
	protocolFeasibleVerify  = "feasible-verify"
	protocolFreeForm        = "free-form"
	protocolFeedback        = "feedback"
	protocolExplain         = "explain"
)

var judgingProtocols = []string{
	protocolFeasible, protocolFeasibleThought, protocolFeasibleVerify, protocolFreeForm, protocolFeedback, protocolExplain,
}

// agentHuman is a person at the terminal.
const agentHuman = "human"

// Scenarios of the protocol feedback, as arms name them.
const (
	scenarioError    = "error"
	scenarioInvented = "invented"
)

// What the tables are made of.
const (
	needsPairs   = "judgements on pairs of an incomplete and a complete instance (run --pairs)"
	whyNoPairs   = "no pair has valid episodes of both"
	whyNoJudged  = "no instance was judged by both"
	whyNoRightNo = "no incomplete request was detected"
	whyNoJudge   = "no judge model was asked (run --judge)"
	whyNotKnown  = "it is not known what is missing"
)

func verdictColumns() []Column {
	return []Column{
		column("pairs", 0, "pairs"),
		column("accuracy", 0, "accuracy"), column("95 % interval", 4, intervalKeys("accuracy_ci95")...),
		column("F1", 0, "f1"), column("95 % interval", 5, intervalKeys("f1_ci95")...),
		column("no to incomplete", 2, "no_to_incomplete"), column("no to complete", 2, "no_to_complete"),
		column("unread", 6, "unread"),
	}
}

const verdictNote = "F1: of No as the positive class. no to incomplete, no to complete: shares of the two halves of the pairs. " +
	"unread: episodes without a judgement, right about nothing."

// verdicts adds accuracy and F1 with their intervals.
func (t *Table) verdicts(l *line, v *verdicts, o Options, names []string, starred *bool) {
	l.count("pairs", v.pairs)
	for _, figure := range []struct {
		key      string
		clusters map[string]cluster
	}{{"accuracy", v.accuracy}, {"f1", v.f1}} {
		l.share(figure.key, ratio(figure.clusters), whyNoPairs)
		ci, method := interval(figure.clusters, 0, o, append(slices.Clone(names), figure.key))
		l.interval(figure.key+"_ci95", ci, method, plain)
		*starred = *starred || method == MethodWilson
	}
	l.share("no_to_incomplete", share(float64(v.rightNo), v.pairs), whyNoPairs)
	l.share("no_to_complete", share(float64(v.wrongNo), v.pairs), whyNoPairs)
	l.count("unread", v.unread)
}

// shotLine begins a line of a group: what it is of, and how many examples there were.
func (g *styled) shotLine(at facet) *line {
	l := newLine()
	l.text("condition", at.condition)
	l.text("corpus", at.corpus)
	l.text("style", g.style)
	l.text("run", g.subject.Run)
	l.text("agent", g.subject.Agent)
	l.text("protocol", g.subject.Protocol)
	arm := armOf(g.subject.Arm)
	l.count("shots", arm.Shots)
	arm.Shots, arm.Scenario = 0, ""
	l.text("arm", arm.String())
	return l
}

func shotColumns() []Column {
	return []Column{
		nameColumn("condition", "condition"), nameColumn("corpus", "corpus"), nameColumn("style", "style"),
		nameColumn("run", "run"),
		nameColumn("agent", "agent"), nameColumn("protocol", "protocol"), column("shots", 0, "shots"),
		nameColumn("hints", "arm"),
	}
}

// judgedLine is a group at one facet.
type judgedLine struct {
	g  *styled
	at facet
	v  *verdicts
}

// judged lists the judgements of the groups that are asked for, by condition, corpus, style, agent, protocol and
// examples.
func (m *material) judged(which func(*styled) bool) []judgedLine {
	var list []judgedLine
	for i := range m.groups {
		g := &m.groups[i]
		if !g.judges() || !which(g) {
			continue
		}
		facets, counts := m.verdicts(g)
		for _, at := range facets {
			list = append(list, judgedLine{g, at, counts[at]})
		}
	}
	slices.SortStableFunc(list, func(a, b judgedLine) int {
		x, y := a.g.subject, b.g.subject
		return cmp.Or(cmp.Compare(a.at.condition, b.at.condition), cmp.Compare(a.at.corpus, b.at.corpus),
			compareStyles(a.g.style, b.g.style), cmp.Compare(x.Agent, y.Agent),
			cmp.Compare(slices.Index(judgingProtocols, x.Protocol), slices.Index(judgingProtocols, y.Protocol)),
			cmp.Compare(armOf(x.Arm).Shots, armOf(y.Arm).Shots), cmp.Compare(x.Run, y.Run))
	})
	return list
}

// judgedTable has accuracy and F1 of groups that are asked for.
func (m *material) judgedTable(needs string, which func(*styled) bool) *Table {
	t := &Table{Columns: append(shotColumns(), verdictColumns()...), Notes: []string{verdictNote}}
	starred := false
	for _, j := range m.judged(which) {
		l := j.g.shotLine(j.at)
		t.verdicts(l, j.v, m.options, j.g.names("judged", j.at.condition, j.at.corpus), &starred)
		t.add(l)
		t.left(&j)
	}
	return t.marked(starred).orNone("it takes " + needs)
}

func (t *Table) left(j *judgedLine) {
	if note := leftNote(j.g.String(), j.at, j.v); note != "" {
		t.Notes = append(t.Notes, note)
	}
}

func isPolicy(g *styled) bool {
	return g.subject.Protocol == protocolPolicy && g.subject.Agent != agentHuman
}

// feasibleTable is table 2: by condition, examples and agent. Policies stand beside models, to calibrate them.
func (m *material) feasibleTable() *Table {
	return m.judgedTable(needsFeasible, func(g *styled) bool {
		return isPolicy(g) ||
			g.subject.Protocol == protocolFeasible
	})
}

// promptingTable is table 7 and figure 5: at once, after reasoning, after Structured Verification; without examples.
func (m *material) promptingTable() *Table {
	return m.judgedTable(needsPrompting, func(g *styled) bool {
		return slices.Contains([]string{protocolFeasible, protocolFeasibleThought, protocolFeasibleVerify},
			g.subject.Protocol) &&
			armOf(g.subject.Arm).Shots == 0
	})
}

// humanTable is table 3: a person, by condition and over all of them.
func (m *material) humanTable() *Table {
	t := &Table{
		Columns: append([]Column{nameColumn("condition", "condition"), nameColumn("run", "run"),
			nameColumn("agent", "agent")}, verdictColumns()...),
		Notes: []string{verdictNote},
	}
	m.overCorpora(t, true, func(g *styled) bool { return g.subject.Agent == agentHuman })
	return t.orNone("it takes " + needsHuman)
}

// familyTable is table 8, where models of one family stand side by side: by condition, all corpora and styles together.
func (m *material) familyTable() *Table {
	t := &Table{
		Columns: append([]Column{nameColumn("condition", "condition"), nameColumn("run", "run"),
			nameColumn("agent", "agent")}, verdictColumns()...),
		Notes: []string{verdictNote},
	}
	m.overCorpora(t, false, func(g *styled) bool {
		return isPolicy(g) || g.subject.Protocol == protocolFeasible && armOf(g.subject.Arm).Shots == 0
	})
	return t.orNone("it takes " + needsFeasible)
}

// conditionAll stands for all conditions together.
const conditionAll = "all"

// overCorpora adds a line for each condition and agent, all corpora and styles together; with overall also one for all
// conditions.
func (m *material) overCorpora(t *Table, overall bool, which func(*styled) bool) {
	type key struct{ condition, run, agent, arm string }
	sums := map[key]*verdicts{}
	for _, j := range m.judged(which) {
		conditions := []string{j.at.condition}
		if overall {
			conditions = append(conditions, conditionAll)
		}
		for _, c := range conditions {
			k := key{c, j.g.subject.Run, j.g.subject.Agent, j.g.subject.Arm}
			if sums[k] == nil {
				sums[k] = newVerdicts()
			}
			sums[k].merge(j.v)
		}
		t.left(&j)
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(one(a.condition == conditionAll), one(b.condition == conditionAll)),
			cmp.Compare(a.condition, b.condition),
			cmp.Compare(a.agent, b.agent), cmp.Compare(a.run, b.run), cmp.Compare(a.arm, b.arm))
	})
	starred := false
	for _, k := range keys {
		l := newLine()
		l.text("condition", k.condition)
		l.text("run", k.run)
		l.text("agent", strings.TrimSuffix(k.agent+" "+k.arm, " "))
		t.verdicts(l, sums[k], m.options, []string{"judged overall", k.condition, k.run, k.agent, k.arm}, &starred)
		t.add(l)
	}
	t.marked(starred)
}

// implicitTable is table 5: what a free reply shows, and how often it is what the same agent says when it is asked.
func (m *material) implicitTable() *Table {
	t := &Table{
		Columns: slices.Concat(shotColumns(), verdictColumns(), []Column{
			column("agreement", 0, "agreement"), column("95 % interval", 4, intervalKeys("agreement_ci95")...),
			column("judged twice", 7, "agreement_instances"),
		}),
		Notes: []string{verdictNote, "agreement: the share of instances on which a free reply shows what the same agent says under " +
			protocolFeasible + " without examples (the paper's Corr.)."},
	}
	starred := false
	for _, j := range m.judged(func(g *styled) bool { return g.subject.Protocol == protocolFreeForm }) {
		names := j.g.names("implicit", j.at.condition, j.at.corpus)
		l := j.g.shotLine(j.at)
		t.verdicts(l, j.v, m.options, names, &starred)
		other, why := m.judgedBeside(j.g, protocolFeasible)
		var same map[string]cluster
		if other != nil {
			same, why = m.agreement(j.g, other)[j.at], whyNoJudged
		}
		t.agreement(l, "agreement", "agreement_instances", same, m.options, append(names, "agreement"), why, &starred)
		t.add(l)
		t.left(&j)
	}
	return t.marked(starred).orNone("it takes " + needsImplicit)
}

// agreement adds a share of clusters with its interval, and over how much it is.
func (t *Table) agreement(l *line, key, count string, of map[string]cluster, o Options, names []string, why string,
	starred *bool) {
	l.share(key, ratio(of), why)
	ci, method := interval(of, 0, o, names)
	l.interval(key+"_ci95", ci, method, plain)
	*starred = *starred || method == MethodWilson
	n := 0.0
	for _, c := range of {
		n += c.weight
	}
	l.count(count, int(n))
}

// feedbackTable is table 6: accuracy in each scenario after an attempt. No is right of incomplete requests, and yes of
// complete ones.
func (m *material) feedbackTable() *Table {
	scenarios := []struct {
		name, key, arm string
		incomplete     bool
	}{
		{"incomplete, error", "incomplete_error", scenarioError, true},
		{"incomplete, made-up result", "incomplete_invented", scenarioInvented, true},
		{"complete, error", "complete_error", scenarioError, false},
	}
	t := &Table{Columns: shotColumns(), Notes: []string{
		"Accuracy after an attempt that came back with an error, or with a made-up result. Right are no, no and yes, in the order of the columns.",
	}}
	for _, s := range scenarios {
		t.Columns = append(t.Columns, column(s.name, 0, s.key), column("95 % interval", 4, intervalKeys(s.key+"_ci95")...),
			column("episodes", 6, s.key+"_episodes"))
	}
	type key struct {
		facet
		style, suite, run, agent, arm string
	}
	type gathered struct {
		g    *styled
		sums [3]map[string]cluster
	}
	sums := map[key]*gathered{}
	for i := range m.groups {
		g := &m.groups[i]
		if g.subject.Protocol != protocolFeedback {
			continue
		}
		arm := armOf(g.subject.Arm)
		scenario := cmp.Or(arm.Scenario, scenarioError)
		arm.Scenario = ""
		byTrial, trials := g.byTrial()
		for _, p := range m.pairings(g.run)[g.style] {
			k := key{facet{p.condition, p.corpus}, g.style, m.sets[g.run].Suite.Manifest.Digest, g.subject.Run, g.subject.Agent,
				arm.String()}
			for at, s := range scenarios {
				instance := p.complete
				if s.incomplete {
					instance = p.incomplete
				}
				for _, trial := range trials {
					e := byTrial[trialKey{instance, trial}]
					if s.arm != scenario || e == nil || !e.Valid {
						continue
					}
					if sums[k] == nil {
						sums[k] = &gathered{g: g}
					}
					if sums[k].sums[at] == nil {
						sums[k].sums[at] = map[string]cluster{}
					}
					c := sums[k].sums[at][p.task]
					sums[k].sums[at][p.task] = cluster{c.sum + float64(one(e.Success)), c.weight + 1}
				}
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		return cmp.Or(cmp.Compare(a.condition, b.condition), cmp.Compare(a.corpus, b.corpus), compareStyles(a.style, b.style),
			cmp.Compare(a.agent, b.agent), cmp.Compare(a.run, b.run), cmp.Compare(a.arm, b.arm), cmp.Compare(a.suite, b.suite))
	})
	starred := false
	for _, k := range keys {
		l := sums[k].g.shotLine(k.facet)
		for at, s := range scenarios {
			t.agreement(l, s.key, s.key+"_episodes", sums[k].sums[at], m.options,
				sums[k].g.names("feedback", k.condition, k.corpus, s.key), whyNoEpisode, &starred)
		}
		t.add(l)
	}
	return t.marked(starred).orNone("it takes " + needsFeedback)
}

// explainTable is table 9: of the incomplete requests that were detected, how many were explained rightly, by what is
// known to be missing and by each judge model, and how often the two say the same.
func (m *material) explainTable() *Table {
	t := &Table{
		Columns: slices.Concat(shotColumns(), []Column{
			column("detected", 0, "detected"),
			column("explained", 0, "explained"), column("95 % interval", 4, intervalKeys("explained_ci95")...),
			column("something else", 2, "something_else"), column("not named", 2, "not_named"),
			nameColumn("judge", "judge"), column("judged", 1, "judge_explained"),
			column("95 % interval", 5, intervalKeys("judge_explained_ci95")...), column("opinions", 7, "judge_opinions"),
			column("agreement", 1, "judge_agreement"), column("95 % interval", 6, intervalKeys("judge_agreement_ci95")...),
			column("compared", 8, "judge_compared"),
		}),
		Notes: []string{"detected: incomplete requests that were answered with no. explained: the explanation names what is known to be " +
			"missing and nothing else. judged: a judge model calls it right. agreement: the two say the same."},
	}
	starred := false
	for _, j := range m.judged(func(g *styled) bool { return g.subject.Protocol == protocolExplain }) {
		rows := m.detected(&j)
		var judges []string
		for _, r := range rows {
			if r.Explained != nil {
				judges = slices.AppendSeq(judges, maps.Keys(r.Explained.Opinions))
			}
		}
		slices.Sort(judges)
		if judges = slices.Compact(judges); len(judges) == 0 {
			judges = []string{""}
		}
		for _, judge := range judges {
			l := j.g.shotLine(j.at)
			l.count("detected", len(rows))
			t.explained(l, rows, judge, m.options, j.g.names("explained", j.at.condition, j.at.corpus, judge), &starred)
			t.add(l)
		}
	}
	return t.marked(starred).orNone("it takes " + needsExplain)
}

// detected lists the episodes in which an incomplete request was answered with no.
func (m *material) detected(j *judgedLine) []*Row {
	incomplete := map[string]bool{}
	for _, p := range m.pairings(j.g.run)[j.g.style] {
		if p.condition == j.at.condition && p.corpus == j.at.corpus {
			incomplete[p.incomplete] = true
		}
	}
	var rows []*Row
	for i := range j.g.rows {
		if r := &j.g.rows[i]; incomplete[r.Grade.Instance] && r.Grade.Valid && r.Grade.Judged == grade.JudgedNo {
			rows = append(rows, r)
		}
	}
	return rows
}

func (t *Table) explained(l *line, rows []*Row, judge string, o Options, names []string, starred *bool) {
	known, judged, agreed := map[string]cluster{}, map[string]cluster{}, map[string]cluster{}
	count := func(into map[string]cluster, task string, right bool) {
		c := into[task]
		into[task] = cluster{c.sum + float64(one(right)), c.weight + 1}
	}
	other, unnamed, assessed := 0, 0, 0
	for _, r := range rows {
		e := r.Explained
		if e == nil {
			continue
		}
		right := e.Known == grade.ExplainedRight
		if e.Known != "" {
			assessed++
			count(known, r.Grade.Task, right)
			other += one(e.Known == grade.ExplainedOther)
			unnamed += one(e.Known == grade.ExplainedUnnamed)
		}
		if opinion, there := e.Opinions[judge]; there {
			count(judged, r.Grade.Task, opinion)
			if e.Known != "" {
				count(agreed, r.Grade.Task, opinion == right)
			}
		}
	}
	why, whyJudge := whyNotKnown, whyNoJudge
	if len(rows) == 0 {
		why, whyJudge = whyNoRightNo, whyNoRightNo
	}
	l.share("explained", ratio(known), why)
	ci, method := interval(known, 0, o, append(slices.Clone(names), "known"))
	l.interval("explained_ci95", ci, method, plain)
	*starred = *starred || method == MethodWilson
	l.share("something_else", share(float64(other), assessed), why)
	l.share("not_named", share(float64(unnamed), assessed), why)
	l.text("judge", judge)
	t.agreement(l, "judge_explained", "judge_opinions", judged, o, append(slices.Clone(names), "judge"), whyJudge, starred)
	t.agreement(l, "judge_agreement", "judge_compared", agreed, o, append(slices.Clone(names), "agreement"), whyJudge,
		starred)
}

// incompleteTable is table 1: what the incomplete instances are, as agents are shown them.
func (m *material) incompleteTable() *Table {
	t := &Table{
		Columns: append([]Column{nameColumn("suite", "suite"), nameColumn("condition", "condition"),
			nameColumn("corpus", "corpus"), nameColumn("style", "style")},
			column("instances", 0, "instances"), column("paired", 0, "paired"), column("turns", 0, "average_turns"),
			column("tools", 0, "average_tools"),
			column("words an utterance", 0, "average_words"), column("characters a tool", 0, "average_characters")),
		Notes: []string{"turns, tools: means over the instances. words an utterance: over the messages of their conversations. characters a tool: " +
			"of its specification as models are shown it, over the tools of all instances."},
	}
	for i := range m.suites {
		set := &m.suites[i]
		s := set.Suite
		tasks := s.Index()
		pairs, alone := s.Pairs()
		type key struct {
			facet
			style string
		}
		type count struct{ instances, paired, turns, words, tools, characters int }
		counts := map[key]*count{}
		lengths := map[*task.Tool]int{}
		add := func(in *suite.Instance, paired int) {
			task := tasks[in.Task]
			if task == nil {
				return
			}
			messages := task.Messages
			if shown, err := set.shown(in, task); err == nil {
				messages = shown.Messages
			}
			k := key{facet{conditionsOf(in), task.Corpus}, task.Style}
			if counts[k] == nil {
				counts[k] = &count{}
			}
			c := counts[k]
			c.instances++
			c.paired += paired
			for _, message := range messages {
				c.turns++
				c.words += len(strings.Fields(message.Content))
			}
			for _, tool := range s.Toolkit(in, task) {
				if lengths[tool] == 0 {
					lengths[tool] = specificationLength(tool)
				}
				c.tools++
				c.characters += lengths[tool]
			}
		}
		for _, p := range pairs {
			add(p.Incomplete, 1)
		}
		for _, in := range alone {
			add(in, 0)
		}
		keys := slices.SortedFunc(maps.Keys(counts), func(a, b key) int {
			return cmp.Or(cmp.Compare(a.condition, b.condition), cmp.Compare(a.corpus, b.corpus), compareStyles(a.style,
				b.style))
		})
		for _, k := range keys {
			c := counts[k]
			l, name := newLine(), ""
			if len(m.suites) > 1 {
				name = set.Name
			}
			l.text("suite", name)
			l.text("condition", k.condition)
			l.text("corpus", k.corpus)
			l.text("style", k.style)
			l.count("instances", c.instances)
			l.count("paired", c.paired)
			l.decimal("average_turns", share(float64(c.turns), c.instances), "")
			l.decimal("average_tools", share(float64(c.tools), c.instances), "")
			l.decimal("average_words", share(float64(c.words), c.turns), "no utterance")
			l.decimal("average_characters", share(float64(c.characters), c.tools), "no tool is shown")
			t.add(l)
		}
	}
	return t.orNone("no suite has an incomplete instance (build --condition drop-detail, --condition replace-tool, --fault distractors-only)")
}

// shown gives the task of an instance as its agent meets it.
func (s *Set) shown(in *suite.Instance, task *task.Task) (*task.Task, error) {
	if s.Shown == nil {
		return task, nil
	}
	return s.Shown(in)
}

// specificationLength counts the characters of a tool's specification as models are shown it.
func specificationLength(t *task.Tool) int { return utf8.RuneCountInString(specificationOf(t)) }

// specificationOf writes a tool's specification, "" where it cannot be written.
func specificationOf(t *task.Tool) string {
	text, err := task.Marshal(struct {
		Name        string       `json:"name"`
		Description string       `json:"description"`
		Parameters  *task.Schema `json:"parameters"`
	}{t.Name, t.Description, t.Parameters})
	if err != nil {
		return ""
	}
	return string(text)
}

// breadthTable is table 4: how broad the incomplete instances of each suite are.
func (m *material) breadthTable() *Table {
	t := &Table{
		Columns: []Column{nameColumn("suite", "suite"), column("domains", 0, "domains"), column("tools", 0, "tools"),
			column("examples", 0, "examples")},
		Notes: []string{"domains: databases with an incomplete instance; of tools that cannot be run, the categories that their corpus gives " +
			"them, or its parts. tools: different ones that are shown there. examples: incomplete instances."},
	}
	for i := range m.suites {
		s := m.suites[i].Suite
		tasks := s.Index()
		pairs, alone := s.Pairs()
		domains, tools, n := map[string]bool{}, map[string]bool{}, 0
		for _, p := range pairs {
			alone = append(alone, p.Incomplete)
		}
		for _, in := range alone {
			task := tasks[in.Task]
			if task == nil {
				continue
			}
			n++
			kit := s.Toolkit(in, task)
			for _, tool := range kit {
				domains[domainOf(task, tool)] = true
				tools[identityOf(tool)] = true
			}
			if len(kit) == 0 {
				domains[domainOf(task, nil)] = true
			}
		}
		if n == 0 {
			continue
		}
		l := newLine()
		l.text("suite", cmp.Or(s.Manifest.Name, m.suites[i].Name, strconv.Itoa(i+1)))
		l.count("domains", len(domains))
		l.count("tools", len(tools))
		l.count("examples", n)
		t.add(l)
	}
	return t.orNone("no suite has an incomplete instance")
}

// domainOf names what a tool is about: the category that its corpus gives it, else the part of the corpus where each
// question brings its own tools, else the database.
func domainOf(t *task.Task, tool *task.Tool) string {
	if t.Style != task.StyleStatic {
		return t.Database
	}
	if tool != nil {
		var document struct {
			Category string `json:"category_name"`
		}
		if err := json.Unmarshal([]byte(tool.Document), &document); err == nil && document.Category != "" {
			return document.Category
		}
	}
	return t.Corpus + "." + t.Facets["category"]
}

// identityOf tells tools apart: where questions bring their own, by what is specified, as several bring the same.
func identityOf(t *task.Tool) string {
	if t.Style == task.StyleStatic {
		return t.Name + "\n" + specificationOf(t)
	}
	return t.Database + "\n" + t.Style + "\n" + t.Name
}

// What single tables take.
const (
	needsFeasible  = needsPairs + ": policies, or the protocol " + protocolFeasible
	needsPrompting = needsPairs + ": the protocols " + protocolFeasible + ", " + protocolFeasibleThought + " and " +
		protocolFeasibleVerify
	needsHuman    = needsPairs + ": --agent " + agentHuman
	needsImplicit = needsPairs + ": the protocol " + protocolFreeForm + "; for the agreement, the same agent under " +
		protocolFeasible
	needsFeedback = needsPairs + ": the protocol " + protocolFeedback
	needsExplain  = needsPairs + ": the protocol " + protocolExplain + "; for judges, --judge PROVIDER/NAME"
)
