package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// Protocols that tables tell apart. Policies have none.
const (
	protocolOneShot = "one-shot"
	protocolNative  = "one-shot-native"
	protocolTools   = "tools"
	protocolReact   = "react"
	protocolSQL     = "sql"
	protocolPolicy  = ""
)

// Conditions that tables tell apart, as they are written on the command line.
const (
	conditionObfuscate    = "obfuscate"
	conditionUniverseSize = "universe-size:"
)

// Reasons why there is nothing under a name, and what they are about.
const (
	whyNoEpisode = "no valid episode"
	whyNoCall    = "no call was made"
	whyNoIntent  = "no intent is right"
	whyNoPlan    = "no plan to compare with"
	whyNoFailure = "no failure has a class"
	whyPlanless  = "no task has a plan"
	noneNote     = none + ": nothing to measure."
)

// directly are the protocols of direct invocation (NL2API §4.1), looping those of agents that see results (§4.3).
var (
	directly = []string{protocolOneShot, protocolNative, protocolPolicy}
	looping  = []string{protocolReact, protocolTools, protocolPolicy}
)

// under gives the rows of a group that have exactly these conditions, as they are written.
func (g *styled) under(condition string) []Row {
	var rows []Row
	for i := range g.rows {
		if g.rows[i].Condition == condition {
			rows = append(rows, g.rows[i])
		}
	}
	return rows
}

// names name the stream from which the bootstrap of a table draws.
func (g *styled) names(more ...string) []string {
	return g.subject.names(append([]string{"table", g.style}, more...)...)
}

// clean summarises the episodes without conditions.
func (m *material) clean(g *styled) Summary {
	return summarise(g.under(""), m.options, g.names("clean"))
}

// beside finds the episodes of the same agent under another protocol, on tasks that the group has too: those of the
// same run, or else those of the only run of the same suite, or else of any. The reason says why there are none.
func (m *material) beside(g *styled, protocol string) (*styled, string) {
	mine := g.under("")
	tasks := make(map[string]bool, len(mine))
	for i := range mine {
		tasks[mine[i].Grade.Task] = true
	}
	var anywhere, nearer []*styled
	for i := range m.groups {
		o := &m.groups[i]
		if o.style != g.style || o.subject.Agent != g.subject.Agent || o.subject.Arm != g.subject.Arm ||
			o.subject.Protocol != protocol {
			continue
		}
		rows := o.under("")
		if !slices.ContainsFunc(rows, func(r Row) bool { return tasks[r.Grade.Task] }) {
			continue
		}
		if o.run == g.run {
			return o, ""
		}
		anywhere = append(anywhere, o)
		if rows[0].Grade.Suite == mine[0].Grade.Suite {
			nearer = append(nearer, o)
		}
	}
	switch {
	case len(anywhere) == 0:
		return nil, "no " + protocol + " run"
	case len(anywhere) == 1:
		return anywhere[0], ""
	case len(nearer) == 1:
		return nearer[0], ""
	default:
		return nil, "several " + protocol + " runs"
	}
}

// besides adds the completion of the same agent under another protocol, or why there is none.
func (m *material) besides(l *line, key string, g *styled, protocol string) {
	other, why := m.beside(g, protocol)
	if other == nil {
		l.absent(true, why, key)
		return
	}
	s := m.clean(other)
	l.decimal(key, s.Rate, whyNoEpisode)
}

// invalid adds a note where episodes of a group under a condition do not count.
func (t *Table) invalid(g *styled, condition string, s *Summary) {
	name := g.String()
	if condition != "" {
		name += " under " + condition
	}
	if note := invalidNote(name, s); note != "" {
		t.Notes = append(t.Notes, note)
	}
}

// completion adds the columns of a rate with its interval.
func (t *Table) completion(l *line, s *Summary, starred *bool) {
	l.decimal("completion", s.Rate, whyNoEpisode)
	l.interval("completion_ci95", s.CI95, s.Method, writeDecimal)
	*starred = *starred || s.Method == MethodWilson
}

func completionColumns() []Column {
	return []Column{
		column("completion", 0, "completion"), column("95 % interval", 4, intervalKeys("completion_ci95")...),
	}
}

// tallies sums what the grades of valid rows count of calls; plans says whether any was compared.
func tallies(rows []Row) (c grade.Calling, plans bool) {
	for i := range rows {
		if one := rows[i].Grade.Calling; one != nil {
			plans = true
			c.Intent, c.Slots = c.Intent.Add(one.Intent), c.Slots.Add(one.Slots)
			c.ProvenSlots = c.ProvenSlots.Add(one.ProvenSlots)
		}
	}
	return c, plans
}

// directTable is table 1: intents and slots, micro-averaged, and completion.
func (m *material) directTable() *Table {
	t := &Table{
		Columns: slices.Concat(groupColumns(), []Column{
			column("episodes", 3, "episodes"),
			column("intent P", 1, "intent_precision"), column("R", 1, "intent_recall"), column("F1", 0, "intent_f1"),
			column("slot P", 1, "slot_precision"), column("R", 1, "slot_recall"), column("F1", 0, "slot_f1"),
			column("proven P", 2, "proven_slot_precision"), column("R", 2, "proven_slot_recall"),
			column("F1", 0, "proven_slot_f1"),
		}, completionColumns(), []Column{column("SQL completion", 0, "sql_completion")}),
		Notes: []string{
			"P, R and F1: precision, recall and their harmonic mean over all calls of a line together. Intent: the i-th call of " +
				"a function against the plan's i-th. Slot: arguments of right intents, by value; proven: values that are proven " +
				"to mean the same count too.",
			noneNote,
		},
	}
	starred := false
	for i := range m.groups {
		g := &m.groups[i]
		rows := g.under("")
		if !slices.Contains(directly, g.subject.Protocol) || len(rows) == 0 {
			continue
		}
		l, s := g.line(), m.clean(g)
		l.count("episodes", s.Valid)
		c, plans := tallies(rows)
		addTally(l, "intent", c.Intent, plans, whyNoCall)
		addTally(l, "slot", c.Slots, plans, whyNoIntent)
		addTally(l, "proven_slot", c.ProvenSlots, plans, whyNoIntent)
		t.completion(l, &s, &starred)
		m.besides(l, "sql_completion", g, protocolSQL)
		t.add(l)
		t.invalid(g, "", &s)
	}
	return t.marked(starred).orNone("it takes " + needsDirect)
}

func addTally(l *line, key string, tally grade.Tally, plans bool, why string) {
	if !plans {
		why = whyNoPlan
	}
	l.decimal(key+"_precision", tally.Precision(), why)
	l.decimal(key+"_recall", tally.Recall(), why)
	l.decimal(key+"_f1", tally.F1(), why)
}

// loopTable is table 2: what looping adds, and how loops fail. All shares are of valid episodes.
func (m *material) loopTable() *Table {
	t := &Table{
		Columns: slices.Concat(groupColumns(), []Column{
			column("episodes", 3, "episodes"), column("base completion", 0, "base_completion"),
		}, completionColumns(), []Column{
			column("loops", 1, "loops"), column("out of budget", 0, "out_of_budget"), column("stuck", 0, "stuck"),
			column("same arguments", 2, "stuck_same_arguments"), column("unclassified", 0, "unclassified"),
		}),
		Notes: []string{
			"base completion: of the same agent under one-shot. loops: mean number of replies. stuck: failed with two or more " +
				"consecutive calls of one function; same arguments: two such calls with the same arguments. unclassified: failed, " +
				"neither stuck nor out of budget. An episode can be stuck and out of budget.",
			noneNote,
		},
	}
	starred := false
	for i := range m.groups {
		g := &m.groups[i]
		rows := g.under("")
		if !slices.Contains(looping, g.subject.Protocol) || len(rows) == 0 {
			continue
		}
		l, s := g.line(), m.clean(g)
		l.count("episodes", s.Valid)
		m.besides(l, "base_completion", g, protocolOneShot)
		t.completion(l, &s, &starred)
		l.decimal("loops", s.Turns, whyNoEpisode)
		for _, of := range []struct {
			key string
			is  func(*grade.Grade) bool
		}{
			{"out_of_budget", func(g *grade.Grade) bool { return g.Outcome == grade.OutcomeOutOfBudget }},
			{"stuck", func(g *grade.Grade) bool { return g.Stuck }},
			{"stuck_same_arguments", func(g *grade.Grade) bool { return g.StuckSame }},
			{"unclassified", func(g *grade.Grade) bool { return g.Unclassified }},
		} {
			n := 0
			for j := range rows {
				if rows[j].Grade.Valid && of.is(&rows[j].Grade) {
					n++
				}
			}
			l.decimal(of.key, share(float64(n), s.Valid), whyNoEpisode)
		}
		t.add(l)
		t.invalid(g, "", &s)
	}
	return t.marked(starred).orNone("it takes " + needsLoops)
}

// marked adds the note on marked intervals.
func (t *Table) marked(starred bool) *Table {
	*t = t.starred(starred)
	return t
}

// suiteColumns are common to the tables about suites. The suite is named where there are several.
func suiteColumns() []Column {
	return []Column{nameColumn("suite", "suite"), nameColumn("style", "style")}
}

func (m *material) suiteLine(set *Set, style string) *line {
	l, name := newLine(), ""
	if len(m.suites) > 1 {
		name = set.Name
	}
	l.text("suite", name)
	l.text("style", style)
	return l
}

// stylesOf lists the styles that a suite has tasks of, with the tasks.
func stylesOf(s *suite.Suite) ([]string, map[string][]*task.Task) {
	byStyle := map[string][]*task.Task{}
	var styles []string
	for _, task := range s.Tasks {
		if byStyle[task.Style] == nil {
			styles = append(styles, task.Style)
		}
		byStyle[task.Style] = append(byStyle[task.Style], task)
	}
	slices.SortFunc(styles, compareStyles)
	return styles, byStyle
}

// datasetTable is table 3. Means are over the first plans of the tasks.
func (m *material) datasetTable() *Table {
	t := &Table{
		Columns: slices.Concat(suiteColumns(), []Column{
			column("samples", 0, "samples"), column("tools", 0, "tools"),
			column("calls a sample", 0, "sequence_length"), column("slots a call", 0, "slots_per_call"),
		}),
		Notes: []string{"calls a sample: mean length of the first plan. slots a call: mean number of its calls' arguments, the " +
			"data source among them. Variants of a sample do not count."},
	}
	for i := range m.suites {
		styles, byStyle := stylesOf(m.suites[i].Suite)
		for _, style := range styles {
			samples, planned, calls, slots := 0, 0, 0, 0
			for _, task := range byStyle[style] {
				if task.Variant != "" {
					continue
				}
				samples++
				if len(task.Plans) == 0 {
					continue
				}
				planned++
				for _, c := range task.Plans[0].Calls {
					calls++
					slots += len(c.Arguments)
				}
			}
			l := m.suiteLine(&m.suites[i], style)
			l.count("samples", samples)
			l.count("tools", len(m.suites[i].Suite.Tools[style]))
			l.decimal("sequence_length", share(float64(calls), planned), whyPlanless)
			l.decimal("slots_per_call", share(float64(slots), calls), whyPlanless)
			t.add(l)
		}
	}
	return t.orNone("no suite has a task")
}

// universePercents are the shares of table 4.
var universePercents = []int{10, 25, 50, 75, 100}

// universeTable is table 4. Shares are rounded down, as the paper's are.
func (m *material) universeTable() *Table {
	t := &Table{
		Columns: append(suiteColumns(), nameColumn("database", "database")),
		Notes: []string{"Shares are rounded down; a task whose plans need more tools is shown all that they need. Where the " +
			"tools depend on the task's starting tables, the number is the mean over tasks."},
	}
	for _, p := range universePercents {
		t.Columns = append(t.Columns, column(fmt.Sprintf("%d %%", p), 0, universeKey(p)))
	}
	for i := range m.suites {
		s := m.suites[i].Suite
		styles, byStyle := stylesOf(s)
		for _, style := range styles {
			sizes := map[string][]int{} // by database, a task each
			var databases []string
			for _, task := range byStyle[style] {
				known := sizes[task.Database]
				if known == nil {
					databases = append(databases, task.Database)
				}
				if known == nil || len(task.Starts) > 0 {
					sizes[task.Database] = append(known, len(s.Toolkit(&suite.Instance{}, task)))
				}
			}
			slices.Sort(databases)
			for _, database := range databases {
				l := m.suiteLine(&m.suites[i], style)
				l.text("database", database)
				for _, p := range universePercents {
					sum := 0
					for _, n := range sizes[database] {
						sum += n * p / 100
					}
					l.value(universeKey(p), share(float64(sum), len(sizes[database])), writeCount, "")
				}
				t.add(l)
			}
		}
	}
	return t.orNone("no suite has a task")
}

func universeKey(percent int) string { return fmt.Sprintf("tools_%d", percent) }

// writeCount writes a mean of counts: whole where it is whole.
func writeCount(v *float64) string {
	if *v == math.Trunc(*v) {
		return mean(v, 0)
	}
	return mean(v, 1)
}

// classTable is the data of figure 2: for each group every class, also those that no episode has.
func (m *material) classTable() *Table {
	t := &Table{
		Columns: append(groupColumns(), nameColumn("error class", "error_class"), column("episodes", 0, "episodes"),
			column("of failures", 0, "share_of_failures"), column("of episodes", 1, "share_of_episodes")),
		Notes: []string{"Classes exclude each other; the first that applies counts, in the order of the lines.", noneNote},
	}
	for i := range m.groups {
		g := &m.groups[i]
		rows := g.under("")
		if !slices.Contains(directly, g.subject.Protocol) || len(rows) == 0 {
			continue
		}
		s := m.clean(g)
		counts, failures := map[string]int{}, 0
		for j := range rows {
			if class := rows[j].Grade.ErrorClass; class != "" {
				counts[class]++
				failures++
			}
		}
		for _, class := range grade.ErrorClasses() {
			l := g.line()
			l.text("error_class", class)
			l.count("episodes", counts[class])
			l.decimal("share_of_failures", share(float64(counts[class]), failures), whyNoFailure)
			l.decimal("share_of_episodes", share(float64(counts[class]), s.Valid), whyNoEpisode)
			t.add(l)
		}
		t.invalid(g, "", &s)
	}
	return t.orNone("it takes " + needsDirect)
}

// differenceColumns are those of a paired difference.
func differenceColumns() []Column {
	return []Column{
		column("less clean", 1, "paired_difference"), column("95 % interval", 3, intervalKeys("paired_difference_ci95")...),
		column("tasks", 4, "paired_tasks"),
	}
}

const differenceNote = "less clean: the mean over tasks of the completion under the condition less that without it."

// difference adds a paired difference.
func (t *Table) difference(l *line, c *Condition, starred *bool) {
	l.value("paired_difference", c.PairedDifference, signed, "no task has both")
	l.interval("paired_difference_ci95", c.PairedCI95, c.PairedMethod, signed)
	l.count("paired_tasks", c.PairedTasks)
	*starred = *starred || c.PairedMethod == MethodWilson
}

// compared gives what a condition cost a group.
func (m *material) compared(g *styled, condition string) Condition {
	_, byTask := partition(g.rows, func(r *Row) string { return r.Grade.Task })
	named := g.group
	named.subject.Agent = g.style + " " + named.subject.Agent // a stream of its own for each style
	return named.condition(condition, roleClean, g.under(condition), byTask, m.options)
}

// obfuscationTable is the data of figure 3.
func (m *material) obfuscationTable() *Table {
	t := &Table{
		Columns: slices.Concat(groupColumns(), []Column{column("episodes", 3, "episodes")}, completionColumns(), []Column{
			column("obfuscated episodes", 3, "obfuscated_episodes"), column("obfuscated", 0, "obfuscated_completion"),
			column("95 % interval", 4, intervalKeys("obfuscated_completion_ci95")...),
		}, differenceColumns()),
		Notes: []string{differenceNote, noneNote},
	}
	starred := false
	for i := range m.groups {
		g := &m.groups[i]
		if g.subject.Protocol == protocolSQL || len(g.under(""))+len(g.under(conditionObfuscate)) == 0 {
			continue
		}
		l, s := g.line(), m.clean(g)
		l.count("episodes", s.Valid)
		t.completion(l, &s, &starred)
		if len(g.under(conditionObfuscate)) == 0 {
			l.count("obfuscated_episodes", 0)
			l.absent(true, "none obfuscated", "obfuscated_completion")
			l.interval("obfuscated_completion_ci95", nil, "", nil)
			t.difference(l, &Condition{}, &starred)
		} else {
			c := m.compared(g, conditionObfuscate)
			l.count("obfuscated_episodes", c.Valid)
			l.decimal("obfuscated_completion", c.Rate, whyNoEpisode)
			l.interval("obfuscated_completion_ci95", c.CI95, c.Method, writeDecimal)
			starred = starred || c.Method == MethodWilson
			t.difference(l, &c, &starred)
			t.invalid(g, conditionObfuscate, &c.Summary)
		}
		t.add(l)
		t.invalid(g, "", &s)
	}
	return t.marked(starred).orNone("there are no episodes")
}

// universeSizeTable is the data of figure 4: a line for each share, 100 % being the episodes without conditions.
func (m *material) universeSizeTable() *Table {
	t := &Table{
		Columns: slices.Concat(groupColumns(), []Column{
			column("universe", 0, "percent"), column("episodes", 3, "episodes"),
		}, completionColumns(), differenceColumns()),
		Notes: []string{"universe: the share of the database's tools that is shown. " + differenceNote, noneNote},
	}
	starred, without := false, true
	for i := range m.groups {
		g := &m.groups[i]
		if g.subject.Protocol == protocolSQL {
			continue
		}
		for _, percent := range g.percents() {
			without = false
			condition := conditionUniverseSize + strconv.Itoa(percent)
			c := m.compared(g, condition)
			l := universeLine(t, g, percent, &c.Summary, &starred)
			t.invalid(g, condition, &c.Summary)
			t.difference(l, &c, &starred)
			t.add(l)
		}
		if len(g.under("")) == 0 {
			continue
		}
		s := m.clean(g)
		l := universeLine(t, g, 100, &s, &starred)
		t.invalid(g, "", &s)
		l.absent(false, "this is what the others are compared with", "paired_difference")
		l.interval("paired_difference_ci95", nil, "", nil)
		l.count("paired_tasks", 0)
		t.add(l)
	}
	if without {
		t.Notes = append(t.Notes, "No episode has the condition universe-size.")
	}
	return t.marked(starred).orNone("there are no episodes")
}

func universeLine(t *Table, g *styled, percent int, s *Summary, starred *bool) *line {
	l := g.line()
	l.cell(strconv.Itoa(percent) + " %")
	l.record["percent"] = percent
	l.count("episodes", s.Valid)
	t.completion(l, s, starred)
	return l
}

// percents lists the shares under which a group has episodes, the smallest first.
func (g *styled) percents() []int {
	var list []int
	for i := range g.rows {
		text, sized := strings.CutPrefix(g.rows[i].Condition, conditionUniverseSize)
		if percent, err := strconv.Atoi(text); sized && err == nil && !slices.Contains(list, percent) {
			list = append(list, percent)
		}
	}
	slices.Sort(list)
	return list
}
