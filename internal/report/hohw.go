package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/judge/grade"
)

// What the tables of Hell or High Water are made of.
const (
	needsOpen       = "episodes under open-world, and under fault:open-world+exec.first-tried"
	needsClosed     = "episodes under closed-world:N, and under fault:closed-world:N+exec.first-tried"
	needsOpenFaults = "episodes under fault:open-world+exec.first-tried"
	needsRequests   = "episodes with the request changed (disambiguate, open-world+disambiguate, clarify, drop-detail), with and without exec.first-tried"
	needsSizes      = "runs with a label size (run --label size=7B), under open-world or closed-world:N"
	needsTurns      = "episodes under distractors-only and its control, or under open-world or closed-world:N"
	needsAgents     = "two agents or more on the same instances, under open-world or closed-world:N"
	needsFresh      = "runs of the same agents with --world K and without"
)

// Conditions of the experiment.
const (
	conditionOpen        = "open-world" // and those that search in another way: open-world-dense, …
	conditionClosed      = "closed-world:"
	conditionDistractors = "distractors-only"
	conditionFirstTried  = "exec.first-tried"
	labelSize            = "size"
)

const (
	whyNoClean  = "no valid episode without external errors"
	whyNoStruck = "no valid episode with external errors"
	whyAllRight = "nothing failed"
)

// setting is the instances of an experiment that differ in nothing but whether the first right tool that is tried fails
// for good.
type setting struct {
	world   string // open-world…, closed-world:N, or "" where the tools of the database are shown
	request string // the conditions of the request, "" for none
	clean   []Row
	struck  []Row
}

// settingOf takes the conditions of a row apart; ok is false where it has others.
func settingOf(r *Row) (world, request string, struck, ok bool) {
	specification := r.Condition
	if struck = r.Strike != nil; struck {
		if r.Strike.Variant != fault.VariantFault || len(r.Strike.Kinds) != 1 ||
			r.Strike.Kinds[0] != conditionFirstTried {
			return "", "", true, false
		}
		specification = r.Strike.Beside
	}
	var requests []string
	for part := range strings.SplitSeq(specification, "+") {
		name, _, _ := strings.Cut(part, ":")
		switch {
		case part == "":
		case isOpen(part) || strings.HasPrefix(part, conditionClosed):
			if world != "" {
				return "", "", struck, false
			}
			world = part
		case condition.Condition{Name: name}.OfRequest():
			requests = append(requests, part)
		default:
			return "", "", struck, false
		}
	}
	return world, strings.Join(requests, "+"), struck, true
}

func isOpen(world string) bool {
	return world == conditionOpen || strings.HasPrefix(world, conditionOpen+"-")
}

// settings parts the rows of a group. Where some tasks have an instance under errors, the rows without errors are those
// of the same tasks.
func (g *styled) settings() []*setting {
	known := map[[2]string]*setting{}
	for i := range g.rows {
		r := &g.rows[i]
		world, request, struck, ok := settingOf(r)
		if !ok {
			continue
		}
		key := [2]string{world, request}
		s := known[key]
		if s == nil {
			s = &setting{world: world, request: request}
			known[key] = s
		}
		if struck {
			s.struck = append(s.struck, *r)
		} else {
			s.clean = append(s.clean, *r)
		}
	}
	list := slices.SortedFunc(maps.Values(known), func(a, b *setting) int {
		return cmp.Or(compareWorlds(a.world, b.world), cmp.Compare(a.request, b.request))
	})
	for _, s := range list {
		if len(s.struck) > 0 {
			tasks := map[string]bool{}
			for i := range s.struck {
				tasks[s.struck[i].Grade.Task] = true
			}
			s.clean = slices.DeleteFunc(s.clean, func(r Row) bool { return !tasks[r.Grade.Task] })
		}
	}
	return list
}

// tools is the number of tools that a closed world shows, 0 for others.
func (s *setting) tools() int { return toolsOf(s.world) }

func toolsOf(world string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(world, conditionClosed)) // 0 where it is none
	return n
}

// compareWorlds puts worlds in order, with what else is said of them behind a plus: closed ones by the number of their
// tools, behind all others.
func compareWorlds(a, b string) int {
	x, _, _ := strings.Cut(a, "+")
	y, _, _ := strings.Cut(b, "+")
	return cmp.Or(cmp.Compare(toolsOf(x), toolsOf(y)), cmp.Compare(a, b))
}

// labels writes the labels of the run of a group.
func (m *material) labels(g *styled) string {
	labels := m.sets[g.run].Labels
	var list []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		list = append(list, key+"="+labels[key])
	}
	return strings.Join(list, " ")
}

func settingColumns() []Column {
	return append(groupColumns(), nameColumn("labels", "labels"), nameColumn("world", "world"))
}

func (m *material) settingLine(g *styled, world string) *line {
	l := g.line()
	l.text("labels", m.labels(g))
	l.text("world", cmp.Or(world, "database"))
	return l
}

// errorColumns are those of [line.rates].
func errorColumns() []Column {
	var list []Column
	for _, side := range []struct{ name, key string }{{"errors N", "clean"}, {"errors Y", "struck"}} {
		list = append(list, column(side.name, 0, side.key), column("± s.e.", 1, side.key+"_se"),
			column("95 % interval", 3, intervalKeys(side.key+"_ci95")...), column("valid", 2, side.key+"_valid"))
	}
	return append(list, column("decrease", 0, "decrease"), column("tasks", 2, "tasks"))
}

const rateNote = "errors N: without external errors; errors Y: the first right tool that the agent tries fails for good, and another way to the " +
	"answer is left. decrease is relative to errors N. s.e.: the width of the 95 % interval over 3.92. Where there are instances with " +
	"errors, those without are of the same tasks."

// rates adds success without and with errors, as the paper writes it.
func (l *line) rates(s *setting, o Options, names []string) (starred bool) {
	tasks := map[string]bool{}
	side := func(key, why string, rows []Row) *float64 {
		sum := summarise(rows, o, append(names, s.world, s.request, key))
		for i := range rows {
			if rows[i].Grade.Valid {
				tasks[rows[i].Grade.Task] = true
			}
		}
		l.value(key, sum.Rate, percent, why)
		var deviation *float64
		if sum.CI95 != nil {
			v := (sum.CI95[1] - sum.CI95[0]) / 3.92
			deviation = &v
		}
		l.value(key+"_se", deviation, percent, why)
		l.interval(key+"_ci95", sum.CI95, sum.Method, percent)
		l.count(key+"_valid", sum.Valid)
		starred = starred || sum.Method == MethodWilson
		return sum.Rate
	}
	clean, struck := side("clean", whyNoClean, s.clean), side("struck", whyNoStruck, s.struck)
	switch {
	case clean == nil || struck == nil:
		l.absent(false, "one of the two rates is missing", "decrease")
	case *clean == 0:
		l.absent(false, whyNothingHeld, "decrease")
	default:
		v := (*clean - *struck) / *clean
		l.value("decrease", &v, percent, "")
	}
	l.count("tasks", len(tasks))
	return starred
}

// ratesOf makes a line of every setting that is wanted.
func (m *material) ratesOf(t *Table, wanted func(*styled, *setting) bool, more func(*line, *styled, *setting)) *Table {
	starred := false
	for i := range m.groups {
		g := &m.groups[i]
		for _, s := range g.settings() {
			if !wanted(g, s) {
				continue
			}
			l := m.settingLine(g, s.world)
			if more != nil {
				more(l, g, s)
			}
			starred = l.rates(s, m.options, g.names("hohw")) || starred
			t.add(l)
		}
	}
	return t.marked(starred)
}

// openTable is Hell or High Water's table 1.
func (m *material) openTable() *Table {
	t := &Table{Columns: append(settingColumns(), errorColumns()...), Notes: []string{rateNote}}
	return m.ratesOf(t, func(_ *styled, s *setting) bool { return isOpen(s.world) && s.request == "" },
		nil).orNone("it takes " + needsOpen)
}

// closedFigure is the data of figure 3: a line for each number of tools shown.
func (m *material) closedFigure() *Table {
	t := &Table{Columns: append(append(settingColumns(), column("tools", 0, "tools")), errorColumns()...),
		Notes: []string{rateNote}}
	more := func(l *line, _ *styled, s *setting) { l.count("tools", s.tools()) }
	return m.ratesOf(t, func(_ *styled, s *setting) bool { return s.tools() > 0 && s.request == "" },
		more).orNone("it takes " + needsClosed)
}

// sizeFigure is the data of figure 4: a line for each size of a model.
func (m *material) sizeFigure() *Table {
	t := &Table{Columns: append(append(settingColumns(), nameColumn("size", "size"), column("parameters", 2,
		"parameters")), errorColumns()...), Notes: []string{rateNote}}
	sized := func(g *styled, s *setting) bool {
		return s.world != "" && s.request == "" && m.sets[g.run].Labels[labelSize] != ""
	}
	m.ratesOf(t, sized, func(l *line, g *styled, _ *setting) {
		size := m.sets[g.run].Labels[labelSize]
		l.text("size", size)
		l.value("parameters", parameters(size), func(v *float64) string { return strconv.FormatFloat(*v, 'g', 4, 64) },
			"the size is no number")
	})
	t.sortBy(func(a, b map[string]any) int {
		text := func(r map[string]any, key string) string { s, _ := r[key].(string); return s }
		x, _ := a["parameters"].(float64)
		y, _ := b["parameters"].(float64)
		return cmp.Or(compareWorlds(text(a, "world"), text(b, "world")), cmp.Compare(x, y))
	})
	return t.orNone("it takes " + needsSizes)
}

// sortBy sorts the lines of a table by their records; equal ones keep their order.
func (t *Table) sortBy(compare func(a, b map[string]any) int) {
	order := make([]int, len(t.Records))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return compare(t.Records[a], t.Records[b]) })
	cells, records := make([][]string, len(order)), make([]map[string]any, len(order))
	for i, at := range order {
		cells[i], records[i] = t.Cells[at], t.Records[at]
	}
	t.Cells, t.Records = cells, records
}

// parameters reads a size as it is written of models, 7B or 0.5b or 350M, in parameters; nil for another form.
func parameters(size string) *float64 {
	unit := 1.0
	number := size
	if size != "" {
		switch size[len(size)-1] {
		case 'K', 'k':
			unit = 1e3
		case 'M', 'm':
			unit = 1e6
		case 'B', 'b':
			unit = 1e9
		case 'T', 't':
			unit = 1e12
		}
	}
	if unit > 1 {
		number = size[:len(size)-1]
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v >= 0) || v > 1e9 && unit > 1 {
		return nil
	}
	v *= unit
	return &v
}

// requestTable is table 4: success with the request as it is and with more or less said, without and with errors, and
// beside each success on the same tasks, in the same world, with the request as it is.
func (m *material) requestTable() *Table {
	t := &Table{Columns: append(append(settingColumns(), nameColumn("request", "request")), errorColumns()...),
		Notes: []string{
			rateNote, "request: how it was changed. as asked: success on the same tasks, in the same world, with the request as it is, over the tasks that have " +
				"both; gain: what the change adds to it, in percentage points; p is McNemar's exact test on these pairs. Where a detail is missing and " +
				"nobody can be asked, declining is right.",
		}}
	for _, side := range []struct{ name, key string }{{"N", "plain"}, {"Y", "plain_struck"}} {
		t.Columns = append(t.Columns, column("as asked "+side.name, 1, side.key), column("gain", 1, side.key+"_gain"),
			column("McNemar p", 2, side.key+"_p"))
	}
	starred := false
	for i := range m.groups {
		g := &m.groups[i]
		all := g.settings()
		if !slices.ContainsFunc(all, func(s *setting) bool { return s.request != "" }) {
			continue
		}
		plain := g.plain()
		for _, s := range all {
			l := m.settingLine(g, s.world)
			l.text("request", cmp.Or(s.request, "as it is"))
			starred = l.rates(s, m.options, g.names("hohw")) || starred
			for _, side := range []struct {
				key    string
				struck bool
				rows   []Row
			}{{"plain", false, s.clean}, {"plain_struck", true, s.struck}} {
				units := unitsOf(side.rows, func(r *Row) []Row { return plain[plainKey{s.world, r.Grade.Task, side.struck}] })
				c := compare(units, m.options, g.names("hohw-4", s.world, s.request, side.key))
				const why = "no task has an episode with the request as it is beside it"
				l.value(side.key, c.base, percent, why)
				if s.request == "" || c.base == nil {
					l.absent(false, why, side.key+"_gain")
					l.absent(false, why, side.key+"_p")
					continue
				}
				l.value(side.key+"_gain", c.difference, points, why)
				l.value(side.key+"_p", &c.discordants.P, func(v *float64) string { return pValue(*v) }, why)
			}
			t.add(l)
		}
	}
	return t.marked(starred).orNone("it takes " + needsRequests)
}

// plainKey says beside what an episode with the request as it is stands.
type plainKey struct {
	world, task string
	struck      bool
}

// plain gives the rows with the request as it is, those of tasks that have no instance under errors among them.
func (g *styled) plain() map[plainKey][]Row {
	rows := map[plainKey][]Row{}
	for i := range g.rows {
		r := &g.rows[i]
		if world, request, struck, ok := settingOf(r); ok && request == "" {
			key := plainKey{world, r.Grade.Task, struck}
			rows[key] = append(rows[key], *r)
		}
	}
	return rows
}

// failureTable breaks failures down by class, for the worlds that are wanted.
func (m *material) failureTable(wanted func(*setting) bool, classes []string) *Table {
	t := &Table{Columns: append(settingColumns(), nameColumn("errors", "errors"), column("failures", 0, "failures"))}
	for _, class := range classes {
		t.Columns = append(t.Columns, column(strings.ReplaceAll(class, "_", " "), 0, class))
	}
	t.Notes = []string{
		"Shares of the failed valid episodes; each falls in exactly one class (grade's rules, \"What an episode failed in\"). " +
			"reporting, which the paper does not have: the right result was there and the answer is another, or what the agent wrote could not be carried out.",
	}
	for i := range m.groups {
		g := &m.groups[i]
		for _, s := range g.settings() {
			if !wanted(s) || s.request != "" {
				continue
			}
			for _, side := range []struct {
				errors string
				rows   []Row
			}{{"N", s.clean}, {"Y", s.struck}} {
				if len(side.rows) == 0 {
					continue
				}
				l := m.settingLine(g, s.world)
				l.text("errors", side.errors)
				counts, n := failures(side.rows)
				l.count("failures", n)
				for _, class := range classes {
					l.value(class, share(float64(counts[class]), n), percent, whyAllRight)
				}
				t.add(l)
			}
		}
	}
	return t
}

func failures(rows []Row) (counts map[string]int, n int) {
	counts = map[string]int{}
	for i := range rows {
		if f := rows[i].Grade.Failure; f != nil {
			counts[f.Class]++
			n++
		}
	}
	return counts, n
}

// openFailureTable is table 2, closedFailureTable table 3, where no tool has to be found.
func (m *material) openFailureTable() *Table {
	return m.failureTable(func(s *setting) bool { return isOpen(s.world) }, grade.FailureClasses()).orNone("it takes " +
		needsOpen)
}

func (m *material) closedFailureTable() *Table {
	return m.failureTable(func(s *setting) bool { return s.tools() > 0 }, grade.FailureClasses()[1:]).orNone("it takes " +
		needsClosed)
}

// backupTable is table 5: success by the number of calls of the backup plan.
func (m *material) backupTable() *Table {
	t := &Table{Columns: append(settingColumns(), column("single call", 0, "single"), column("multi call", 0, "multi"),
		column("single", 1, "single_valid"), column("multi", 1, "multi_valid"), column("none", 2, "unstruck_valid"))}
	t.Notes = []string{
		"Success under exec.first-tried by the number of calls of the shortest way that was left; single and multi count the episodes. none: episodes " +
			"in which no right tool was tried, so that none failed; they are in neither rate.",
	}
	for i := range m.groups {
		g := &m.groups[i]
		for _, s := range g.settings() {
			if s.world == "" || s.request != "" || len(s.struck) == 0 {
				continue
			}
			var right, valid [3]int // none, single, multi
			for j := range s.struck {
				if e := &s.struck[j].Grade; e.Valid {
					k := min(e.Backup, 2)
					valid[k]++
					right[k] += one(e.Success)
				}
			}
			l := m.settingLine(g, s.world)
			l.value("single", share(float64(right[1]), valid[1]), percent, "no backup plan of one call was left")
			l.value("multi", share(float64(right[2]), valid[2]), percent, "no backup plan of several calls was left")
			l.count("single_valid", valid[1])
			l.count("multi_valid", valid[2])
			l.count("unstruck_valid", valid[0])
			t.add(l)
		}
	}
	return t.orNone("it takes " + needsOpenFaults)
}

// stay is the valid episodes of one side of figure 5.
type stay struct {
	world, side string
	rows        []*grade.Grade
}

// Sides of figure 5.
const (
	sideDistractors = "distractors only"
	sideControl     = "right tools too"
	sideRight       = "right"
	sideWrong       = "wrong"
)

// stays parts the valid episodes of a group as figure 5 does: by whether there is anything but distractors, and, where
// there is, by whether the answer is right.
func (g *styled) stays() []*stay {
	known := map[[2]string]*stay{}
	add := func(world, side string, e *grade.Grade) {
		key := [2]string{world, side}
		if known[key] == nil {
			known[key] = &stay{world: world, side: side}
		}
		known[key].rows = append(known[key].rows, e)
	}
	for i := range g.rows {
		r := &g.rows[i]
		if !r.Grade.Valid || r.Strike == nil || len(r.Strike.Kinds) != 1 || r.Strike.Kinds[0] != conditionDistractors {
			continue
		}
		switch r.Strike.Variant {
		case fault.VariantFault:
			add(conditionDistractors, sideDistractors, &r.Grade)
		case fault.VariantControl:
			add(conditionDistractors, sideControl, &r.Grade)
		}
	}
	for _, s := range g.settings() {
		if s.request != "" {
			continue
		}
		for _, errors := range []struct {
			name string
			rows []Row
		}{{"", s.clean}, {"+" + conditionFirstTried, s.struck}} {
			world := cmp.Or(s.world, "database") + errors.name
			for i := range errors.rows {
				switch e := &errors.rows[i].Grade; {
				case !e.Valid:
				case e.Success:
					add(world, sideRight, e)
				default:
					add(world, sideWrong, e)
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(known), func(a, b *stay) int {
		return cmp.Or(compareWorlds(a.world, b.world),
			cmp.Compare(a.side, b.side))
	})
}

// turnsFigure is the data of figure 5: how many episodes took how many turns.
func (m *material) turnsFigure() *Table {
	t := &Table{Columns: append(settingColumns(), nameColumn("episodes", "side"), column("turns", 0, "turns"),
		column("number", 0, "episodes"), column("share", 0, "share"))}
	for i := range m.groups {
		g := &m.groups[i]
		for _, s := range g.stays() {
			counts := map[int]int{}
			for _, e := range s.rows {
				counts[e.Turns]++
			}
			for _, turns := range slices.Sorted(maps.Keys(counts)) {
				l := m.settingLine(g, s.world)
				l.text("side", s.side)
				l.count("turns", turns)
				l.count("episodes", counts[turns])
				l.value("share", share(float64(counts[turns]), len(s.rows)), percent, "")
				t.add(l)
			}
		}
	}
	return t.orNone("it takes " + needsTurns)
}

// staysTable sums figure 5 up: the distribution of turns, and how episodes ended.
func (m *material) staysTable() *Table {
	t := &Table{Columns: append(settingColumns(), nameColumn("episodes", "side"), column("valid", 0, "valid"),
		column("mean turns", 0, "turns"))}
	quantiles := []int{5, 25, 50, 75, 95}
	for _, q := range quantiles {
		t.Columns = append(t.Columns, column(fmt.Sprintf("p%d", q), 1, fmt.Sprintf("turns_p%d", q)))
	}
	t.Columns = append(t.Columns, column("gave up", 0, "gave_up"), column("answered", 0, "answered"),
		column("out of budget", 0, "out_of_budget"))
	t.Notes = []string{
		"gave up: declined, or stopped without an act, before the budget was spent; out of budget: it was spent; answered: all others. Quantiles are " +
			"the least number of turns that so many per cent of the episodes do not exceed.",
	}
	for i := range m.groups {
		g := &m.groups[i]
		for _, s := range g.stays() {
			var turns []int
			sum, gaveUp, spent := 0, 0, 0
			for _, e := range s.rows {
				turns = append(turns, e.Turns)
				sum += e.Turns
				gaveUp += one(gaveUpEarly(e, s.side))
				spent += one(e.Outcome == grade.OutcomeOutOfBudget)
			}
			slices.Sort(turns)
			n := len(turns)
			l := m.settingLine(g, s.world)
			l.text("side", s.side)
			l.count("valid", n)
			l.decimal("turns", share(float64(sum), n), "")
			for _, q := range quantiles {
				l.count(fmt.Sprintf("turns_p%d", q), turns[max(0, (q*n+99)/100-1)])
			}
			l.value("gave_up", share(float64(gaveUp), n), percent, "")
			l.value("answered", share(float64(n-gaveUp-spent), n), percent, "")
			l.value("out_of_budget", share(float64(spent), n), percent, "")
			t.add(l)
		}
	}
	return t.orNone("it takes " + needsTurns)
}

// gaveUpEarly says whether an episode ended because its agent saw no way on. With distractors only that is success.
func gaveUpEarly(e *grade.Grade, side string) bool {
	return e.Outcome == grade.OutcomeDeclined || e.Outcome == grade.OutcomeSilent || side == sideDistractors && e.Success
}
