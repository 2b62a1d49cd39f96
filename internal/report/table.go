package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/judge/grade"
)

// Table is a part of a report for people: cells are text, already rounded. Columns whose cells are all empty are left
// out by every renderer.
type Table struct {
	Name    string // of a table that is asked for by name, else ""
	Title   string
	Columns []Column
	Cells   [][]string
	Notes   []string
	// Records holds the values behind the cells of a named table, unrounded: text, int or float64 by key, nil where there
	// is none; under the key `missing` a map from such keys to the reason.
	Records []map[string]any
}

// Column is a column of a table.
type Column struct {
	Name  string
	Right bool // aligned to the right, as numbers are
	// Rank decides what a narrow terminal leaves out: the columns with the highest rank first, those with rank 0 never.
	Rank int
	Keys []string // of the values behind its cells, in a named table
}

const (
	none       = "–" // there is nothing to measure
	wilsonMark = "*"
	wilsonNote = "* All tasks came out alike, so a bootstrap would show no spread: the interval allows for unseen tasks " +
		"by Wilson's score bound."
	informedNote = "Arms that are informed hold second tries after a failure alone, chosen by the verdict of the grader: their rates " +
		"do not compare with others. The table tts counts both tries."
)

// Tables gives the report as tables, in their order.
func (r *Report) Tables() []Table {
	tables := append([]Table{r.agentTable(), r.workflowTable()}, r.checkTables()...)
	if len(r.Conditions) > 0 {
		tables = append(tables, r.conditionTable())
	}
	if r.Robustness != nil {
		tables = append(tables, r.Robustness.robustTables()...)
	}
	if t := r.trialTable(); len(t.Cells) > 0 {
		tables = append(tables, t)
	}
	tables = append(tables, r.outcomeTable())
	if t := r.causeTable(); len(t.Cells) > 0 {
		tables = append(tables, t)
	}
	if len(r.Pairs) > 0 {
		tables = append(tables, r.pairTable())
	}
	return tables
}

func subjectColumns() []Column {
	return []Column{{Name: "run"}, {Name: "agent"}, {Name: "protocol"}, {Name: "hints"}}
}

func (s Subject) cells() []string {
	return []string{clean(s.Run), clean(s.Agent), clean(s.Protocol), clean(s.Arm)}
}

func (s Subject) String() string {
	parts := slices.DeleteFunc(s.cells(), func(c string) bool { return c == "" })
	return strings.Join(parts, " ")
}

// rateColumns are common to the tables that hold summaries.
func rateColumns() []Column {
	return []Column{
		{Name: "valid", Right: true}, {Name: "episodes", Right: true}, {Name: "successes", Right: true, Rank: 4},
		{Name: "success", Right: true}, {Name: "95 % interval", Right: true, Rank: 1},
	}
}

func (s *Summary) rateCells() []string {
	return []string{
		strconv.Itoa(s.Valid), strconv.Itoa(s.Episodes), strconv.Itoa(s.Successes), percent(s.Rate),
		percentInterval(s.CI95, s.Method),
	}
}

func effortColumns() []Column {
	return []Column{
		{Name: "lenient", Right: true, Rank: 3}, {Name: "turns", Right: true, Rank: 2}, {Name: "calls", Right: true, Rank: 2},
		{Name: "tokens", Right: true, Rank: 5}, {Name: "US$", Right: true, Rank: 6},
	}
}

// effortCells leaves tokens and cost empty where there are none: policies have neither.
func (s *Summary) effortCells() []string {
	cells := []string{percent(s.LenientRate), mean(s.Turns, 1), mean(s.Calls, 1), "", ""}
	if s.Tokens != nil && *s.Tokens > 0 {
		cells[3] = mean(s.Tokens, 0)
	}
	if s.CostUSD != nil && *s.CostUSD > 0 {
		cells[4] = mean(s.CostUSD, 4)
	}
	return cells
}

func (r *Report) agentTable() Table {
	t := Table{Title: "Success by agent", Columns: slices.Concat(subjectColumns(), rateColumns(), effortColumns())}
	starred := false
	for i := range r.Agents {
		a := &r.Agents[i]
		t.Cells = append(t.Cells, slices.Concat(a.cells(), a.rateCells(), a.effortCells()))
		starred = starred || a.Method == MethodWilson
		if note := invalidNote(a.Subject.String(), &a.Summary); note != "" {
			t.Notes = append(t.Notes, note)
		}
	}
	if r.FaultsApart {
		t.Notes = append(t.Notes, "Instances under faults, and what stands beside them, do not count here: they have tables of their own.")
	}
	if slices.ContainsFunc(r.Agents, func(a Agent) bool { return armOf(a.Arm).Informed }) {
		t.Notes = append(t.Notes, informedNote)
	}
	return t.starred(starred)
}

// invalidNote says what left the denominator.
func invalidNote(subject string, s *Summary) string {
	if len(s.Invalid) == 0 {
		return ""
	}
	var parts []string
	for _, c := range counted(s.Invalid) {
		parts = append(parts, fmt.Sprintf("%s %d", c.name, c.count))
	}
	return fmt.Sprintf("%s: %d of %d episodes are invalid and do not count (%s).",
		subject, s.Episodes-s.Valid, s.Episodes, strings.Join(parts, ", "))
}

func (t Table) starred(starred bool) Table {
	if starred {
		t.Notes = append(t.Notes, wilsonNote)
	}
	return t
}

func (r *Report) workflowTable() Table {
	t := Table{
		Title:   "Success by workflow",
		Columns: slices.Concat(subjectColumns(), []Column{{Name: "workflow"}}, rateColumns(), effortColumns()),
	}
	starred := false
	for i := range r.Workflows {
		w := &r.Workflows[i]
		t.Cells = append(t.Cells, slices.Concat(w.cells(), []string{clean(w.Workflow)}, w.rateCells(), w.effortCells()))
		starred = starred || w.Method == MethodWilson
	}
	return t.starred(starred)
}

func (r *Report) conditionTable() Table {
	t := Table{
		Title: "Success by condition",
		Columns: slices.Concat([]Column{{Name: "condition"}, {Name: "role"}}, subjectColumns(), rateColumns(),
			[]Column{
				{Name: "landed", Right: true, Rank: 2}, {Name: "recovered", Right: true, Rank: 2},
				{Name: "less clean", Right: true, Rank: 1}, {Name: "95 % interval", Right: true, Rank: 3},
				{Name: "tasks", Right: true, Rank: 5},
			}),
		Notes: []string{"less clean: the mean over tasks of the rate under the condition less the rate without it, " +
			"in percentage points."},
	}
	starred := false
	for i := range r.Conditions {
		c := &r.Conditions[i]
		t.Cells = append(t.Cells, slices.Concat([]string{clean(c.Condition), clean(c.Role)}, c.cells(), c.rateCells(),
			[]string{
				strconv.Itoa(c.Landed), strconv.Itoa(c.Recovered), points(c.PairedDifference),
				pointsInterval(c.PairedCI95, c.PairedMethod), strconv.Itoa(c.PairedTasks),
			}))
		starred = starred || c.Method == MethodWilson || c.PairedMethod == MethodWilson
	}
	return t.starred(starred)
}

// maxPassColumns bounds how many pass^k stand in the table; JSON and CSV have all.
const maxPassColumns = 8

func (r *Report) trialTable() Table {
	most := 0
	for i := range r.Agents {
		if r.Agents[i].Trials > 1 {
			most = max(most, min(len(r.Agents[i].PassHatK), maxPassColumns))
		}
	}
	t := Table{
		Title: "Repeated trials",
		Columns: append(subjectColumns(),
			Column{Name: "trials", Right: true}, Column{Name: "between-trial sd", Right: true, Rank: 1}),
		Notes: []string{"pass^k: the chance that k trials of an instance all succeed, over the instances with at least " +
			"k valid trials. Between-trial sd: the standard deviation of the success rates of single trials, in " +
			"percentage points."},
	}
	for k := range most {
		t.Columns = append(t.Columns, Column{Name: fmt.Sprintf("pass^%d", k+1), Right: true, Rank: 1 + k})
	}
	for i := range r.Agents {
		a := &r.Agents[i]
		if a.Trials < 2 {
			continue
		}
		deviation := none
		if v := a.BetweenTrialVariance; v != nil {
			deviation = fmt.Sprintf("%.1f", 100*math.Sqrt(*v))
		}
		cells := append(a.cells(), strconv.Itoa(a.Trials), deviation)
		for k := range most {
			cell := none
			if k < len(a.PassHatK) {
				cell = percent(&a.PassHatK[k].Estimate)
			}
			cells = append(cells, cell)
		}
		t.Cells = append(t.Cells, cells)
	}
	return t
}

// outcomeTable has a column for each outcome that occurred.
func (r *Report) outcomeTable() Table {
	t := Table{Title: "How episodes ended", Columns: subjectColumns()}
	var occurred []string
	for rank, o := range grade.Outcomes() {
		if !slices.ContainsFunc(r.Agents, func(a Agent) bool { return a.Outcomes[o] > 0 }) {
			continue
		}
		occurred = append(occurred, o)
		if o == grade.OutcomeInvalid {
			rank = 0 // what left the denominator is never left out of the table
		}
		t.Columns = append(t.Columns, Column{Name: strings.ReplaceAll(o, "_", " "), Right: true, Rank: rank})
	}
	for i := range r.Agents {
		a := &r.Agents[i]
		cells := a.cells()
		for _, o := range occurred {
			cells = append(cells, strconv.Itoa(a.Outcomes[o]))
		}
		t.Cells = append(t.Cells, cells)
	}
	return t
}

func (r *Report) causeTable() Table {
	t := Table{
		Title: "First causes of failure",
		Columns: append(subjectColumns(),
			Column{Name: "cause"}, Column{Name: "episodes", Right: true}, Column{Name: "of failures", Right: true, Rank: 1}),
	}
	for i := range r.Agents {
		a := &r.Agents[i]
		for _, c := range counted(a.Causes) {
			part := float64(c.count) / float64(a.Valid-a.Successes)
			t.Cells = append(t.Cells,
				append(a.cells(), strings.ReplaceAll(c.name, "_", " "), strconv.Itoa(c.count), percent(&part)))
		}
	}
	return t
}

func (r *Report) pairTable() Table {
	t := Table{
		Title: "Paired differences",
		Columns: []Column{
			{Name: "a"}, {Name: "b"}, {Name: "unit", Rank: 7}, {Name: "shared", Right: true},
			{Name: "only a", Right: true, Rank: 6}, {Name: "only b", Right: true, Rank: 6},
			{Name: "success a", Right: true, Rank: 2},
			{Name: "success b", Right: true, Rank: 2}, {Name: "b less a", Right: true},
			{Name: "95 % interval", Right: true, Rank: 1}, {Name: "a alone", Right: true, Rank: 4},
			{Name: "b alone", Right: true, Rank: 4}, {Name: "McNemar p", Right: true, Rank: 3},
		},
		Notes: []string{"b less a: the mean paired difference, in percentage points. a alone and b alone count the " +
			"units that one side alone got right in the first shared trial; p is McNemar's exact test on them."},
	}
	starred := false
	for i := range r.Pairs {
		p := &r.Pairs[i]
		t.Cells = append(t.Cells, []string{
			p.A.String(), p.B.String(), p.Unit, strconv.Itoa(p.Units), strconv.Itoa(p.OnlyA), strconv.Itoa(p.OnlyB),
			percent(p.RateA), percent(p.RateB), points(p.Difference), pointsInterval(p.CI95, p.Method),
			strconv.Itoa(p.AOnly), strconv.Itoa(p.BOnly), pValue(p.McNemarP),
		})
		starred = starred || p.Method == MethodWilson
	}
	return t.starred(starred)
}

// count is a name and how often it occurred.
type count struct {
	name  string
	count int
}

// counted lists counts, the largest first.
func counted(m map[string]int) []count {
	list := make([]count, 0, len(m))
	for name, n := range m {
		list = append(list, count{name, n})
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.name, b.name))
	})
	return list
}

func percent(v *float64) string {
	if v == nil {
		return none
	}
	return fmt.Sprintf("%.1f %%", 100**v)
}

func percentInterval(ci *[2]float64, method string) string {
	if ci == nil {
		return none
	}
	return fmt.Sprintf("%.1f–%.1f", 100*ci[0], 100*ci[1]) + star(method)
}

// points writes a difference in percentage points. A sign stands in front of all but zero.
func points(v *float64) string {
	if v == nil {
		return none
	}
	text := fmt.Sprintf("%+.1f", 100**v)
	if text == "+0.0" || text == "-0.0" {
		return "0.0"
	}
	return text
}

func pointsInterval(ci *[2]float64, method string) string {
	if ci == nil {
		return none
	}
	return points(&ci[0]) + " to " + points(&ci[1]) + star(method)
}

// star marks an interval that is no bootstrap; the others get a blank, so that digits stay aligned.
func star(method string) string {
	if method == MethodWilson {
		return wilsonMark
	}
	return " "
}

func mean(v *float64, digits int) string {
	if v == nil {
		return none
	}
	return strconv.FormatFloat(*v, 'f', digits, 64)
}

func pValue(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return fmt.Sprintf("%.3f", p)
}

// present leaves out the columns whose cells are all empty.
func (t *Table) present() Table {
	keep := make([]bool, len(t.Columns))
	for _, row := range t.Cells {
		for i, c := range row {
			keep[i] = keep[i] || c != ""
		}
	}
	return t.keeping(func(i int) bool { return keep[i] })
}

func (t *Table) keeping(keep func(i int) bool) Table {
	out := Table{Title: t.Title, Notes: t.Notes, Cells: make([][]string, len(t.Cells))}
	for i, c := range t.Columns {
		if !keep(i) {
			continue
		}
		out.Columns = append(out.Columns, c)
		for r := range t.Cells {
			out.Cells[r] = append(out.Cells[r], t.Cells[r][i])
		}
	}
	return out
}
