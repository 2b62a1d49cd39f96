package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/seatrial/seatrial/internal/suite/transcript"
)

// armOf reads an arm; one of another form is all hint.
func armOf(text string) transcript.Arm {
	arm, err := transcript.ParseArm(text)
	if err != nil {
		return transcript.Arm{Hint: text}
	}
	return arm
}

// Ways of using several tries, as the tables name them.
const (
	methodSingle     = "one sample"
	methodMajority   = "majority vote"
	methodConsistent = "self-consistency"
	methodAny        = "any right (pass@n)"
	methodFirst      = "first try"
	methodInformed   = "informed retry (uses the verdict of the grader)"
)

// tally sums up what a way of using tries came to over instances or trials.
type tally struct {
	byTask               map[string]cluster
	units                int
	turns, calls, tokens int
	cost                 float64
	left                 int // units that had to be left out
}

func newTally() *tally { return &tally{byTask: map[string]cluster{}} }

// spend adds the cost of an episode, valid or not.
func (t *tally) spend(r *Row) {
	g := &r.Grade
	t.turns, t.calls, t.tokens, t.cost = t.turns+g.Turns, t.calls+g.Calls, t.tokens+g.Tokens, t.cost+g.CostUSD
}

// count adds a unit of a task.
func (t *tally) count(task string, success bool) {
	t.units++
	c := t.byTask[task]
	c.weight++
	if success {
		c.sum++
	}
	t.byTask[task] = c
}

// tallyColumns are those that [tally.write] fills.
func tallyColumns(unit string) []Column {
	return []Column{
		column(unit, 0, "units"), column("left out", 6, "left_out"), column("success", 0, "success"),
		column("95 % interval", 1, intervalKeys("success_ci95")...), column("turns", 4, "turns"),
		column("calls", 2, "calls"), column("tokens", 3, "tokens"), column("cost $", 2, "cost_usd"),
	}
}

func (t *tally) write(l *line, o Options, names []string) {
	l.count("units", t.units)
	l.count("left_out", t.left)
	l.value("success", ratio(t.byTask), percent, whyNoEpisode)
	ci, method := interval(t.byTask, 0, o, names)
	l.interval("success_ci95", ci, method, percent)
	per := func(key string, sum float64, digits int) {
		l.value(key, share(sum, t.units), func(v *float64) string { return mean(v, digits) }, whyNoEpisode)
	}
	per("turns", float64(t.turns), 1)
	per("calls", float64(t.calls), 1)
	per("tokens", float64(t.tokens), 0)
	per("cost_usd", t.cost, 4)
}

// scalingTable shows what several tries of an instance are worth together.
func (m *material) scalingTable() *Table {
	t := &Table{
		Columns: append(append(groupColumns(), nameColumn("tries used by", "method"), column("n", 0, "n")),
			tallyColumns("units")...),
	}
	starred := false
	informed := m.informedGroups()
	for i := range m.groups {
		g := &m.groups[i]
		if armOf(g.subject.Arm).Informed {
			continue
		}
		add := func(method string, n int, sum *tally) {
			l := g.line()
			l.text("method", method)
			l.count("n", n)
			sum.write(l, m.options, g.names("scaling", method, strconv.Itoa(n)))
			starred = starred || l.record["success_ci95_method"] == MethodWilson
			t.add(l)
		}
		trials := g.trials()
		most := 0
		for _, rows := range trials {
			most = max(most, len(rows))
		}
		for _, n := range sampleSizes(most) {
			if most == 1 {
				break
			}
			for _, method := range []string{methodMajority, methodConsistent, methodAny} {
				if n == 1 {
					add(methodSingle, 1, sampled(trials, 1, methodMajority))
					break
				}
				add(method, n, sampled(trials, n, method))
			}
		}
		if again := informed[keyOfInformed(g)]; again != nil {
			first, both := retried(g, again)
			add(methodFirst, 1, first)
			add(methodInformed, 2, both)
		}
	}
	t.Notes = []string{
		"Units are instances, or trials for the informed retry. Turns, calls, tokens and cost are sums over the tries of a " +
			"unit, invalid ones too, in the mean over units. n takes the first n trials of each instance that has as many.",
		"Majority vote: the final word of most trials; an answer counts as its rows in any order, declining is a word, and ties go " +
			"to the earliest. Self-consistency: the trial that agrees most with the others, by the mean of the Jaccard similarities of " +
			"its answer's rows and of the results that it had seen. Neither knows gold. Any right: the best that a choice could do.",
		"Informed retry: right at first, or right on a second try that was told of the failure. It uses the verdict of the grader, " +
			"so it is no result that an agent could reach by itself.",
		"Left out: units without a valid trial, or with a failure whose retry is invalid or missing.",
	}
	all := t.starred(starred)
	return all.orNone("there are no repeated trials and no informed retries")
}

// trials gives the rows of each instance by trial, as far as they follow one another from the first.
func (g *styled) trials() map[string][]Row {
	all := map[string]map[int]Row{}
	for _, r := range g.rows {
		trials := all[r.Grade.Instance]
		if trials == nil {
			trials = map[int]Row{}
			all[r.Grade.Instance] = trials
		}
		trials[r.Grade.Trial] = r
	}
	list := make(map[string][]Row, len(all))
	for instance, trials := range all {
		for n := range len(trials) {
			r, there := trials[n]
			if !there {
				break
			}
			list[instance] = append(list[instance], r)
		}
	}
	return list
}

// sampled tallies a way of choosing among the first n trials of every instance that has so many.
func sampled(trials map[string][]Row, n int, method string) *tally {
	sum := newTally()
	for _, instance := range slices.Sorted(maps.Keys(trials)) {
		rows := trials[instance]
		if len(rows) < n {
			continue
		}
		rows = rows[:n]
		if !slices.ContainsFunc(rows, func(r Row) bool { return r.Grade.Valid }) {
			sum.left++
			continue
		}
		samples := make([]Sample, n)
		for i := range rows {
			sum.spend(&rows[i])
			if rows[i].Grade.Valid {
				samples[i] = rows[i].Sample
			}
		}
		success := false
		switch method {
		case methodAny:
			success = slices.ContainsFunc(rows, succeeded)
		case methodConsistent:
			success = chosen(rows, consistent(samples))
		default:
			success = chosen(rows, majority(samples))
		}
		sum.count(rows[0].Grade.Task, success)
	}
	return sum
}

func succeeded(r Row) bool { return r.Grade.Valid && r.Grade.Success }

func chosen(rows []Row, at int) bool { return at >= 0 && succeeded(rows[at]) }

// informedKey tells which first tries informed retries belong to.
type informedKey struct {
	style, run, agent, protocol string
	arm                         transcript.Arm
}

func keyOfInformed(g *styled) informedKey {
	arm := armOf(g.subject.Arm)
	arm.Informed = false
	return informedKey{g.style, g.run, g.subject.Agent, g.subject.Protocol, arm}
}

func (m *material) informedGroups() map[informedKey]*styled {
	groups := map[informedKey]*styled{}
	for i := range m.groups {
		if g := &m.groups[i]; armOf(g.subject.Arm).Informed {
			groups[keyOfInformed(g)] = g
		}
	}
	return groups
}

// retried tallies first tries alone, and together with their informed retries, over the same trials.
func retried(first, again *styled) (alone, both *tally) {
	type try struct {
		instance string
		trial    int
	}
	second := make(map[try]*Row, len(again.rows))
	for i := range again.rows {
		r := &again.rows[i]
		second[try{r.Grade.Instance, r.Grade.Trial}] = r
	}
	alone, both = newTally(), newTally()
	for i := range first.rows {
		r := &first.rows[i]
		retry := second[try{r.Grade.Instance, r.Grade.Trial}]
		if !r.Grade.Valid || !r.Grade.Success && (retry == nil || !retry.Grade.Valid) {
			alone.left++
			both.left++
			continue
		}
		alone.spend(r)
		alone.count(r.Grade.Task, r.Grade.Success)
		both.spend(r)
		if r.Grade.Success {
			both.count(r.Grade.Task, true)
			continue
		}
		both.spend(retry)
		both.count(r.Grade.Task, retry.Grade.Success)
	}
	return alone, both
}

// budgetTable shows success by the scale of the budget, the smallest first, for each role of instances.
func (m *material) budgetTable() *Table {
	t := &Table{
		Columns: append(append(groupColumns(), nameColumn("instances", "role"), column("budget ×", 0, "budget"),
			column("out of budget", 2, "out_of_budget")), tallyColumns("episodes")...),
		Notes: []string{"Turns, calls, tokens and cost are means over episodes. The base budget of a task is 8 turns and 3 for each level of its deepest plan, 8 calls and 4 for each call of " +
			"its largest; scales round up. Left out: invalid episodes."},
	}
	groups := slices.Clone(m.groups)
	slices.SortStableFunc(groups, func(a, b styled) int {
		x, y := armOf(a.subject.Arm), armOf(b.subject.Arm)
		return cmp.Or(compareStyles(a.style, b.style), cmp.Compare(a.subject.Agent, b.subject.Agent),
			cmp.Compare(a.subject.Protocol, b.subject.Protocol), cmp.Compare(x.Hint, y.Hint), cmp.Compare(a.run, b.run),
			cmp.Compare(x.Budget, y.Budget))
	})
	starred := false
	for i := range groups {
		g := &groups[i]
		arm := armOf(g.subject.Arm)
		if arm.Budget == 0 || arm.Informed {
			continue
		}
		roles, byRole := partition(g.rows, func(r *Row) string { return r.part() })
		for _, role := range roles {
			sum := newTally()
			spent := 0
			for _, r := range byRole[role] {
				if !r.Grade.Valid {
					sum.left++
					continue
				}
				sum.spend(&r)
				sum.count(r.Grade.Task, r.Grade.Success)
				if r.Grade.Budget != "" {
					spent++
				}
			}
			plain := *g
			plain.subject.Arm = arm.Hint // the scale has a column of its own
			l := plain.line()
			l.text("role", role)
			l.cell(strconv.FormatFloat(arm.Budget, 'g', -1, 64))
			l.record["budget"] = arm.Budget
			l.value("out_of_budget", share(float64(spent), sum.units), percent, whyNoEpisode)
			sum.write(l, m.options, g.names("budget", role))
			starred = starred || l.record["success_ci95_method"] == MethodWilson
			t.add(l)
		}
	}
	all := t.starred(starred)
	return all.orNone("no run was made with --budgets")
}
