package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/judge/grade"
)

// Reasons why there is nothing under a name.
const (
	whyNoLanding     = "no fault landed"
	whyNoPair        = "no clean pair"
	whyNoCertificate = "no certificate says what the plan takes"
	whyNoFaults      = "it takes instances under faults"
	whyNoWhole       = "no run of " + policyRecover
	whyNotCompared   = "it is what others are compared with"
)

// plain writes a share as a percentage without its sign, for intervals.
func plain(v *float64) string { return strings.TrimSuffix(percent(v), " %") }

// share adds a share as a percentage.
func (l *line) share(key string, v *float64, why string) { l.value(key, v, percent, why) }

// mean adds a mean with that many digits.
func (l *line) mean(key string, v *float64, digits int, why string) {
	l.value(key, v, func(v *float64) string { return mean(v, digits) }, why)
}

// cost adds US dollars; where there are none to be paid the cell is empty.
func (l *line) cost(key string, v *float64, why string) {
	l.value(key, v, func(v *float64) string {
		if *v == 0 {
			return ""
		}
		return mean(v, 4)
	}, why)
}

// part adds a count with what share of a whole it is, in one cell.
func (l *line) part(key string, n, whole int, why string) {
	l.record[key] = n
	v := share(float64(n), whole)
	if v == nil {
		l.cell(strconv.Itoa(n))
		l.record[key+"_share"], l.missing[key+"_share"] = nil, why
		return
	}
	l.cell(strconv.Itoa(n) + " (" + percent(v) + ")")
	l.record[key+"_share"] = *v
}

func partColumn(name string, rank int, key string) Column {
	return column(name, rank, key, key+"_share")
}

// robustLine begins a line of a subject.
func robustLine(style string, s Subject) *line {
	l := newLine()
	l.text("style", style)
	l.text("run", s.Run)
	l.text("agent", s.Agent)
	l.text("protocol", s.Protocol)
	l.text("arm", s.Arm)
	return l
}

// counted adds the valid episodes, and all of them.
func (l *line) counted(s *Summary) {
	l.count("valid", s.Valid)
	l.count("episodes", s.Episodes)
}

func countedColumns() []Column {
	return []Column{column("valid", 0, "valid"), column("episodes", 9, "episodes")}
}

// rated adds the rate of successes.
func (l *line) rated(s *Summary, starred *bool) {
	l.share("rate", s.Rate, whyNoEpisode)
	l.interval("rate_ci95", s.CI95, s.Method, plain)
	*starred = *starred || s.Method == MethodWilson
}

func ratedColumns(name string) []Column {
	return []Column{column(name, 0, "rate"), column("95 % interval", 6, intervalKeys("rate_ci95")...)}
}

// contrasted adds the rate of successes, and the comparison with clean pairs.
func (l *line) contrasted(s *Summary, c *Contrast, why string, starred *bool) {
	l.counted(s)
	l.share("clean_rate", c.CleanRate, why)
	l.rated(s, starred)
	l.value("paired_difference", c.Difference, points, why)
	l.interval("paired_difference_ci95", c.DifferenceCI95, c.Method, points)
	l.count("paired_instances", c.PairedInstances)
	l.tested(&c.Test, "clean_only", "faulted_only", why)
	*starred = *starred || c.Method == MethodWilson
}

func contrastColumns(name string) []Column {
	return slices.Concat(countedColumns(), []Column{column("clean", 0, "clean_rate")}, ratedColumns(name), []Column{
		column("less clean", 1, "paired_difference"), column("95 % interval", 4, intervalKeys("paired_difference_ci95")...),
		column("paired", 8, "paired_instances"),
	}, testColumns("clean alone", "clean_only", "faulted alone", "faulted_only"))
}

// tested adds the exact test.
func (l *line) tested(d *Discordant, baseKey, key, why string) {
	if d.Pairs == 0 {
		l.absent(false, why, baseKey)
		l.absent(false, why, key)
		l.absent(false, why, "mcnemar_p")
		return
	}
	l.count(baseKey, d.BaseOnly)
	l.count(key, d.Only)
	l.value("mcnemar_p", &d.P, func(p *float64) string { return pValue(*p) }, why)
}

func testColumns(base, baseKey, other, key string) []Column {
	return []Column{column(base, 7, baseKey), column(other, 7, key), column("McNemar p", 3, "mcnemar_p")}
}

const (
	pairNote = "clean and less clean: the clean pairs of the same instances, and the mean paired difference in percentage points. The " +
		"pair of an instance shows the same tools. McNemar's exact test takes one pair of each task, drawn by the seed, as pairs of " +
		"one task are not independent; clean alone and faulted alone count among those."
	landedNote = "landed: valid episodes in which a fault struck; recovered: the successes among them. Right, not struck: successes in " +
		"which no fault ever struck."
	extraNote = "+ turns and + calls: what recovered episodes took beyond the plan where nothing goes wrong; + cost: an episode " +
		"less one of its clean pair."
)

// aspectColumns are the columns that say what a line is of.
func aspectColumns(by ...string) []Column {
	columns := make([]Column, len(by))
	for i, b := range by {
		columns[i] = nameColumn(b, b)
	}
	return columns
}

// aspect adds what a line is of; what is of all says so.
func (l *line) aspect(by []string, values map[string]string) {
	for _, b := range by {
		if v := values[b]; v != "" {
			l.text(b, v)
		} else {
			l.text(b, ByAll)
		}
	}
}

// columnWithin stands where some instances are under other conditions too.
const columnWithin = "within"

func (a Aspect) values() map[string]string {
	return map[string]string{ByHazard: a.Hazard, ByKind: a.Kind, ByWorkflow: a.Workflow, ByBackup: a.Backup,
		columnWithin: cmp.Or(a.Within, "alone")}
}

// parted adds to what lines are of the other conditions of their instances, where there are any.
func parted(list []Faulted, by []string) []string {
	if slices.ContainsFunc(list, func(f Faulted) bool { return f.Within != "" }) {
		return append(slices.Clone(by), columnWithin)
	}
	return by
}

// faultedTable shows success with and without faults.
func faultedTable(title string, list []Faulted, by ...string) Table {
	by = parted(list, by)
	t := Table{
		Title: title,
		Columns: slices.Concat(groupColumns(), aspectColumns(by...), contrastColumns("faulted"), []Column{
			partColumn("landed", 2, "landed"), column("recovered", 0, "recovery_rate"),
			column("95 % interval", 6, intervalKeys("recovery_rate_ci95")...),
			column("right, not struck", 5, "unlanded_successes"), column("+ turns", 5, "extra_turns"),
			column("+ calls", 5, "extra_calls"), column("+ cost $", 6, "extra_cost_usd"),
		}),
		Notes: []string{pairNote, landedNote, extraNote},
	}
	starred := false
	for i := range list {
		f := &list[i]
		l := robustLine(f.Style, f.Subject)
		l.aspect(by, f.values())
		l.contrasted(&f.Summary, &f.Contrast, whyNoPair, &starred)
		l.part("landed", f.Landed, f.Valid, whyNoEpisode)
		l.share("recovery_rate", f.RecoveryRate, whyNoLanding)
		l.interval("recovery_rate_ci95", f.RecoveryCI95, f.RecoveryMethod, plain)
		starred = starred || f.RecoveryMethod == MethodWilson
		l.count("unlanded_successes", f.UnlandedSuccesses)
		why := whyNoCertificate
		if f.Recovered == 0 {
			why = "nothing was recovered"
		}
		l.mean("extra_turns", f.ExtraTurns, 1, why)
		l.mean("extra_calls", f.ExtraCalls, 1, why)
		l.cost("extra_cost_usd", f.ExtraCostUSD, whyNoPair)
		t.add(l)
		t.leftOut(f.Style, f.Subject, f.Aspect == Aspect{By: f.By, Within: f.Within}, &f.Summary)
	}
	return t.starred(starred)
}

// leftOut adds a note on episodes that do not count, once for each subject.
func (t *Table) leftOut(style string, s Subject, all bool, summary *Summary) {
	if note := invalidNote(strings.TrimSpace(style+" "+s.String()), summary); all && note != "" {
		t.Notes = append(t.Notes, note)
	}
}

// reactionTable shows what came of landed faults.
func reactionTable(title string, list []Faulted, by ...string) Table {
	by = parted(list, by)
	t := Table{
		Title: title,
		Columns: slices.Concat(groupColumns(), aspectColumns(by...), []Column{
			column("landed", 0, "landed"), partColumn("recovered", 0, "recovered"),
		}),
		Notes: []string{
			"Of the landed failures: unnoticed, the agent went on as if nothing had happened; noticed, it did something about it and " +
				"nothing of that went through, or gave up at once; unfinished, something went through, and the right result was not reached; " +
				"misreported, it had the right result and answered something else. Retries to waits: means over landed episodes.",
		},
	}
	for _, class := range grade.ReactionClasses() {
		t.Columns = append(t.Columns, partColumn(class, 0, class))
	}
	t.Columns = append(t.Columns,
		column("declined", 2, "declined"), column("silent", 4, "silent"), column("out of budget", 2, "out_of_budget"),
		column("retries", 3, "retries"), column("adaptations", 3, "adaptations"), column("switches", 3, "switches"),
		column("probes", 3, "probes"), column("waits", 3, "waits"))
	for i := range list {
		f := &list[i]
		l := robustLine(f.Style, f.Subject)
		l.aspect(by, f.values())
		l.count("landed", f.Landed)
		l.part("recovered", f.Recovered, f.Landed, whyNoLanding)
		for _, class := range grade.ReactionClasses() {
			l.part(class, f.Reactions[class], f.Landed-f.Recovered, "no landed failure")
		}
		for _, outcome := range []string{grade.OutcomeDeclined, grade.OutcomeSilent, grade.OutcomeOutOfBudget} {
			l.count(outcome, f.Failures[outcome])
		}
		for key, v := range []*float64{f.Retries, f.Adapted, f.Switches, f.Probes, f.Waits} {
			l.mean([]string{"retries", "adaptations", "switches", "probes", "waits"}[key], v, 2, whyNoLanding)
		}
		t.add(l)
	}
	return t
}

// harmlessTable shows false alarms beside success.
func harmlessTable(title string, list []Harmless, by ...string) Table {
	t := Table{
		Title: title,
		Columns: slices.Concat(groupColumns(), []Column{nameColumn("part", "part")}, aspectColumns(by...),
			contrastColumns("success"), []Column{
				column("shown", 5, "shown"), column("retried", 2, "retried"), column("switched", 2, "switched"),
				column("declined", 2, "declined"), partColumn("false alarms", 0, "alarmed"),
			}),
		Notes: []string{
			"False alarms: episodes in which a call was made again though it had gone through, another way was taken though all was well, or " +
				"the request was declined. In the mirror of a conflict it is the source that the plan does not use that is wrong. " +
				"control: the tools that a fault adds, and nothing goes wrong. shown: episodes in which the trouble, or what looks like it, showed.",
			pairNote,
		},
	}
	starred := false
	for i := range list {
		h := &list[i]
		l := robustLine(h.Style, h.Subject)
		l.text("part", h.Part)
		l.aspect(by, map[string]string{ByHazard: h.Hazard, ByKind: h.Kind})
		why := whyNoPair
		if h.Part == PartClean || h.Part == PartControl {
			why = whyNotCompared
		}
		l.contrasted(&h.Summary, &h.Contrast, why, &starred)
		l.count("shown", h.Shown)
		l.count("retried", h.Retried)
		l.count("switched", h.Switched)
		l.count("declined", h.Declined)
		l.part("alarmed", h.Alarmed, h.Valid, whyNoEpisode)
		t.add(l)
		t.leftOut(h.Style, h.Subject, h.Kind == "" && h.Part != PartClean, &h.Summary)
	}
	return t.starred(starred)
}

// hopelessTable shows who gives up where that is right, and only there.
func hopelessTable(title string, list []Hopeless) Table {
	t := Table{
		Title: title,
		Columns: slices.Concat(groupColumns(), aspectColumns(ByKind), []Column{nameColumn("proof", "proof")},
			countedColumns(),
			ratedColumns("declined"), []Column{
				partColumn("answered", 0, "answered"), partColumn("out of budget", 0, "out_of_budget"), partColumn("other", 3,
					"other"),
				column("turns", 4, "turns"), column("calls", 4, "calls"), column("pairs", 5, "paired_instances"),
				column("clean right", 1, "clean_rate"), column("clean declined", 2, "clean_declined_rate"), column("both right", 1,
					"both_rate"),
			}),
		Notes: []string{
			"Declining is right. clean: the same tools with the right ones among them; both right: pairs of which one was declined and the " +
				"other solved. twin: another world in which all that can be observed is the same gives another answer; bounded: a search " +
				"over calls and chains of calls found none.",
		},
	}
	starred := false
	for i := range list {
		h := &list[i]
		l := robustLine(h.Style, h.Subject)
		l.aspect([]string{ByKind, "proof"}, map[string]string{ByKind: h.Kind, "proof": h.Proof})
		l.counted(&h.Summary)
		l.rated(&h.Summary, &starred)
		l.part("answered", h.Answered, h.Valid, whyNoEpisode)
		l.part("out_of_budget", h.OutOfBudget, h.Valid, whyNoEpisode)
		l.part("other", h.Other, h.Valid, whyNoEpisode)
		l.mean("turns", h.Turns, 1, whyNoEpisode)
		l.mean("calls", h.Calls, 1, whyNoEpisode)
		l.count("paired_instances", h.PairedInstances)
		l.share("clean_rate", h.CleanRate, whyNoPair)
		l.share("clean_declined_rate", h.CleanDeclined, whyNoPair)
		l.share("both_rate", h.BothRate, whyNoPair)
		t.add(l)
		t.leftOut(h.Style, h.Subject, h.Kind == "", &h.Summary)
	}
	return t.starred(starred)
}

// hintTable shows what hints are worth.
func hintTable(title string, list []HintGain) Table {
	const whyNoBase = "no episode without hints"
	t := Table{
		Title: title,
		Columns: slices.Concat(groupColumns(), []Column{nameColumn("part", "part")}, aspectColumns(ByHazard), []Column{
			column("instances", 0, "instances"), column("tasks", 7, "tasks"), partColumn("hinted", 5, "hinted"),
			column("without", 1, "base_rate"),
			column("with", 1, "rate"), column("gain", 0, "gain"), column("95 % interval", 2, intervalKeys("gain_ci95")...),
			column("won", 3, "won"), column("regressions", 0, "regressions"),
		}, testColumns("without alone", "base_only", "with alone", "with_only"),
			[]Column{column("+ cost $", 6, "extra_cost_usd")}),
		Notes: []string{
			"gain: the mean paired difference to the same instances without hints, in percentage points. won: wrong without and right " +
				"with the hint; regressions: the other way round. McNemar's exact test takes one instance of each task, drawn by the seed: " +
				"without alone and with alone count among those. hinted: valid episodes in which advice was given.",
		},
	}
	starred := false
	for i := range list {
		h := &list[i]
		l := robustLine(h.Style, h.Subject)
		l.text("part", h.Part)
		l.aspect([]string{ByHazard}, map[string]string{ByHazard: h.Hazard})
		l.count("instances", h.Instances)
		l.count("tasks", h.Tasks)
		l.part("hinted", h.Hinted, h.Valid, whyNoEpisode)
		l.share("base_rate", h.BaseRate, whyNoBase)
		l.share("rate", h.Rate, whyNoBase)
		l.value("gain", h.Gain, points, whyNoBase)
		l.interval("gain_ci95", h.CI95, h.Method, points)
		starred = starred || h.Method == MethodWilson
		l.count("won", h.Won)
		l.count("regressions", h.Regressions)
		l.tested(&h.Test, "base_only", "with_only", whyNoBase)
		l.cost("extra_cost_usd", h.ExtraCost, whyNoBase)
		t.add(l)
	}
	return t.starred(starred)
}

// volumeTable tells diagnosis from volume.
func volumeTable(title string, list []Volume) Table {
	t := Table{
		Title: title,
		Columns: slices.Concat(groupColumns(), []Column{
			nameColumn("against", "against"), column("value", 0, "value"), column("valid", 0, "valid"),
			column("success", 0, "rate"),
			column("95 % interval", 2, intervalKeys("rate_ci95")...), column("landed", 4, "landed"), column("recovered", 1,
				"recovery_rate"),
			column("acted", 1, "acted"), column("success, acted", 0, "acted_rate"), column("passive", 1, "passive"),
			column("success, passive", 0, "passive_rate"), column("out of budget", 3, "out_of_budget"),
		}),
		Notes: []string{
			"Episodes under faults. acted: landed episodes in which the agent did anything about the trouble; passive: the others. Where " +
				"volume alone helped, success would rise down the lines in both.",
		},
	}
	starred := false
	for i := range list {
		v := &list[i]
		l := robustLine(v.Style, v.Subject)
		l.text("against", v.Against)
		l.text("value", v.Value)
		l.count("valid", v.Valid)
		l.share("rate", v.Rate, whyNoEpisode)
		l.interval("rate_ci95", v.CI95, v.Method, plain)
		starred = starred || v.Method == MethodWilson
		l.count("landed", v.Landed)
		l.share("recovery_rate", v.RecoveryRate, whyNoLanding)
		l.count("acted", v.Acted)
		l.share("acted_rate", v.ActedRate, "no agent acted")
		l.count("passive", v.Passive)
		l.share("passive_rate", v.PassiveRate, "every agent acted")
		l.count("out_of_budget", v.OutOfBudget)
		t.add(l)
	}
	return t.starred(starred)
}

// tacticTable shows what the recovery policy is worth without a tactic.
func tacticTable(title string, list []Tactic) Table {
	t := Table{
		Title: title,
		Columns: slices.Concat(groupColumns(), []Column{nameColumn("left out", "tactic")}, aspectColumns(ByKind), []Column{
			column("instances", 0, "instances"), column("landed", 3, "landed"), column("whole", 0, "whole_rate"),
			column("without", 0, "rate"),
			column("lost", 1, "lost"), column("won", 2, "won"), column("kinds changed", 2, "kinds"), column("kinds alike", 3,
				"kinds_alike"),
		}),
		Notes: []string{
			"Recovered of what landed, by the whole policy and without the tactic. Only kinds are listed of which some instance came out " +
				"otherwise. lost: instances that the whole policy solves alone.",
		},
	}
	for i := range list {
		x := &list[i]
		l := robustLine(x.Style, x.Subject)
		l.text("tactic", x.Tactic)
		l.aspect([]string{ByKind}, map[string]string{ByKind: x.Kind})
		l.count("instances", x.Instances)
		l.count("landed", x.Landed)
		l.share("whole_rate", x.Whole, whyNoWhole)
		l.share("rate", x.Rate, whyNoLanding)
		l.count("lost", x.Lost)
		l.count("won", x.Won)
		l.count("kinds", x.Kinds)
		l.count("kinds_alike", x.Unchanged)
		t.add(l)
	}
	return t
}

// robustTables are the tables of the section, in their order. The recovery policy without a tactic has lines in the
// last one alone. Parts are listed for arms with the budget as it is and, but for hazards, without hints: JSON has all.
func (r *Robustness) robustTables() []Table {
	whole := func(s *Subject) bool { return !strings.HasPrefix(s.Agent, recoverWithout) }
	of := func(by string) []Faulted {
		return keep(r.Faults, func(f *Faulted) bool { return f.By == by && whole(&f.Subject) })
	}
	plainBudget := func(f *Faulted) bool {
		budget := armOf(f.Arm).Budget
		return budget == 0 || budget == 1
	}
	plainArm := func(f *Faulted) bool { return plainBudget(f) && plainArms(f.Arm) == nil }
	tables := []Table{
		faultedTable("Success under faults", of(ByAll)),
		reactionTable("What came of faults that landed", of(ByAll)),
		faultedTable("Success under faults, by hazard", keep(of(ByHazard), plainBudget), ByHazard),
		faultedTable("Success under faults, by workflow", keep(of(ByWorkflow), plainArm), ByWorkflow),
		faultedTable("Success under faults, by the plan to fall back on", keep(of(ByBackup), plainArm), ByBackup),
		faultedTable("Success under faults, by kind", keep(of(ByKind), plainArm), ByKind),
		harmlessTable("False alarms", keep(r.Harmless, func(h *Harmless) bool { return h.Kind == "" && whole(&h.Subject) })),
		hopelessTable("Giving up where it is right", keep(r.Hopeless, func(h *Hopeless) bool { return whole(&h.Subject) })),
		hintTable("What hints are worth", r.Hints),
		volumeTable("Diagnosis and volume", keep(r.Volume, func(v *Volume) bool { return whole(&v.Subject) })),
		tacticTable("One tactic left out", r.Tactics),
	}
	if slices.ContainsFunc(r.Faults, func(f Faulted) bool { return !plainArm(&f) }) {
		tables[0].Notes = append(tables[0].Notes,
			"Below, parts are listed for arms with the budget as it is and, but for hazards, without hints; "+
				"tbx-1, tbx-3 and tbx-5 have all.")
	}
	if len(r.Tactics) > 0 {
		tables[0].Notes = append(tables[0].Notes, recoverWithout+"TACTIC stands in the table of tactics left out alone.")
	}
	for i := range tables[:6] {
		if i > 0 {
			tables[i].Notes = slices.DeleteFunc(tables[i].Notes, func(n string) bool {
				return n == pairNote || n == landedNote ||
					n == extraNote
			})
		}
	}
	return slices.DeleteFunc(tables, func(t Table) bool { return len(t.Cells) == 0 })
}

func keep[T any](list []T, is func(*T) bool) []T {
	var kept []T
	for i := range list {
		if is(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

// benches makes what the tables about faults are counted from.
func (m *material) benches() []*bench {
	list := make([]*bench, len(m.groups))
	for i := range m.groups {
		g := &m.groups[i]
		list[i] = newBench(g.style, g.run, g.group, m.options)
	}
	return list
}

// each collects what benches with faults give; second tries are made of failures alone and are left out.
func each[T any](benches []*bench, give func(*bench) []T) []T {
	var list []T
	for _, b := range benches {
		if b.struck() && !armOf(b.subject.Arm).Informed {
			list = append(list, give(b)...)
		}
	}
	return list
}

func (m *material) hazardTable() *Table {
	list := each(m.benches(), func(b *bench) []Faulted { return b.faulted(byHazardWorkflow) })
	t := faultedTable("", list, ByHazard, ByWorkflow)
	return t.orNone(whyNoFaults)
}

func (m *material) hintGainTable() *Table {
	benches := m.benches()
	t := hintTable("", each(benches, func(b *bench) []HintGain { return b.hints(benches) }))
	return t.orNone("it takes instances under faults, with hints and without")
}

func (m *material) reactionsTable() *Table {
	list := each(m.benches(), func(b *bench) []Faulted { return append(b.faulted(ByAll), b.faulted(ByHazard)...) })
	t := reactionTable("", list, ByHazard)
	return t.orNone(whyNoFaults)
}

func (m *material) volumesTable() *Table {
	benches := m.benches()
	t := volumeTable("", append(each(benches, (*bench).volume), budgets(benches)...))
	return t.orNone(whyNoFaults)
}

func (m *material) kindTable() *Table {
	t := faultedTable("", each(m.benches(), func(b *bench) []Faulted { return b.faulted(ByKind) }), ByHazard, ByKind)
	return t.orNone(whyNoFaults)
}

func (m *material) alarmTable() *Table {
	t := harmlessTable("", each(m.benches(), (*bench).harmless), ByHazard, ByKind)
	return t.orNone("it takes look-alikes, mirrors or controls")
}

func (m *material) givingUpTable() *Table {
	t := hopelessTable("", each(m.benches(), (*bench).hopeless))
	return t.orNone("it takes hopeless instances")
}

func (m *material) leaveOutTable() *Table {
	benches := m.benches()
	t := tacticTable("", each(benches, func(b *bench) []Tactic { return b.tactics(benches) }))
	return t.orNone("it takes episodes of " + recoverWithout + "TACTIC under faults")
}
