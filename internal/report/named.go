package report

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// TableFormat is the version of the JSON form of a named table.
const TableFormat = "seatrial.table/1"

// Input is what named tables are made of. Several runs of one or of several suites stand side by side: one may hold the
// episodes of one protocol, and another those of the next.
type Input struct {
	Sets    []Set
	Options Options
}

// Set is the episodes of one run, and the suite that it was run on. Its name tells it from other sets. Rows may be none
// where a table is about suites.
type Set struct {
	Name  string
	Suite *suite.Suite
	Rows  []Row
	// Shown gives the task of an instance as its agent meets it; nil where instances change no request.
	Shown func(in *suite.Instance) (*task.Task, error)
	// Labels are those that the run was given, by key.
	Labels map[string]string
	// LeftOut counts the instances that a run on fresh worlds did without, by reason.
	LeftOut map[string]int
}

// NamedTable is a table that can be asked for by its name.
type NamedTable struct {
	Name  string
	Title string
	Needs string // which runs it is made of
}

// namedTable is a row of the registry.
type namedTable struct {
	NamedTable
	build func(*material) *Table
}

// Episodes that tables are made of.
const (
	needsDirect = "episodes without conditions, under the protocol one-shot or of a policy"
	needsLoops  = "episodes without conditions, under the protocols react and tools or of a policy"
	needsSuites = "the suite alone"
	needsFaults = "episodes under faults"
)

// namedTables is the registry, in the order in which tables are listed.
var namedTables = []namedTable{
	{NamedTable{"nl2api-1", "Direct invocation by style and agent (NL2API, table 1)",
		needsDirect + "; for SQL completion, the same agent under the protocol sql"}, (*material).directTable},
	{NamedTable{"nl2api-2", "Looping agents by style (NL2API, table 2)",
		needsLoops + "; for base completion, the same agent under one-shot"}, (*material).loopTable},
	{NamedTable{"nl2api-3", "Dataset statistics by style (NL2API, table 3)", needsSuites}, (*material).datasetTable},
	{NamedTable{"nl2api-4", "Number of tools at shares of the universe, by database (NL2API, table 4)", needsSuites},
		(*material).universeTable},
	{NamedTable{"nl2api-fig2", "Error classes by style and agent (NL2API, figure 2)", needsDirect},
		(*material).classTable},
	{NamedTable{"nl2api-fig3", "Completion with and without obfuscated names (NL2API, figure 3)",
		"episodes with and without the condition obfuscate"}, (*material).obfuscationTable},
	{NamedTable{"nl2api-fig4", "Completion by the share of the universe that is shown (NL2API, figure 4)",
		"episodes with and without the condition universe-size"}, (*material).universeSizeTable},
	{NamedTable{"tbx-1", "Success by hazard and workflow, clean and faulted (ToolBench-X)", needsFaults},
		(*material).hazardTable},
	{NamedTable{"tbx-2", "What hints are worth (ToolBench-X)", needsFaults + " in several arms (--hints)"},
		(*material).hintGainTable},
	{NamedTable{"tbx-3", "What came of faults that landed, by hazard (ToolBench-X)", needsFaults},
		(*material).reactionsTable},
	{NamedTable{"tbx-4", "Success against calls, failpoints and budget (ToolBench-X)", needsFaults},
		(*material).volumesTable},
	{NamedTable{"tbx-5", "Success by kind of fault", needsFaults}, (*material).kindTable},
	{NamedTable{"tbx-6", "False alarms at look-alikes, mirrors and controls", needsFaults}, (*material).alarmTable},
	{NamedTable{"tbx-7", "Giving up where it is right (Hell or High Water, section 5)", "hopeless instances"},
		(*material).givingUpTable},
	{NamedTable{"tbx-8", "The recovery policy with one tactic left out", "episodes of " + policyRecover + " and " +
		recoverWithout + "TACTIC"},
		(*material).leaveOutTable},
	{NamedTable{"rfc-2", "Calls with the request rephrased and the toolkit expanded (Robustness of Agentic Function Calling, table 2)", needsScores},
		(*material).callRobustnessTable},
	{NamedTable{"rfc-errors", "What a changed request or toolkit breaks and repairs in calls (Robustness of Agentic Function Calling, section 3.2)",
		needsScores}, (*material).brokenTable},
	{NamedTable{"ict-1", "Incomplete instances (Incomplete Conditions, table 1)", needsSuites},
		(*material).incompleteTable},
	{NamedTable{"ict-2", "Accuracy and F1 by condition and examples (Incomplete Conditions, table 2)", needsFeasible},
		(*material).feasibleTable},
	{NamedTable{"ict-3", "A person's accuracy and F1 (Incomplete Conditions, table 3)", needsHuman},
		(*material).humanTable},
	{NamedTable{"ict-4", "Breadth of the incomplete instances (Incomplete Conditions, table 4)", needsSuites},
		(*material).breadthTable},
	{NamedTable{"ict-5", "Implicit judgements in free replies (Incomplete Conditions, table 5)", needsImplicit},
		(*material).implicitTable},
	{NamedTable{"ict-6", "Judgements after an attempt (Incomplete Conditions, table 6)", needsFeedback},
		(*material).feedbackTable},
	{NamedTable{"ict-7", "Accuracy and F1 by the way of asking (Incomplete Conditions, table 7 and figure 5)",
		needsPrompting}, (*material).promptingTable},
	{NamedTable{"ict-8", "Accuracy and F1 over all corpora, model by model (Incomplete Conditions, table 8)",
		needsFeasible}, (*material).familyTable},
	{NamedTable{"ict-9", "Explanations of incomplete requests (Incomplete Conditions, table 9)", needsExplain},
		(*material).explainTable},
	{NamedTable{"hohw-1", "Success in the open world with and without external errors (Hell or High Water, table 1)",
		needsOpen}, (*material).openTable},
	{NamedTable{"hohw-2", "What failed episodes failed in, in the open world (Hell or High Water, table 2)", needsOpen},
		(*material).openFailureTable},
	{NamedTable{"hohw-3", "What failed episodes failed in, by the number of tools shown (Hell or High Water, table 3)",
		needsClosed}, (*material).closedFailureTable},
	{NamedTable{"hohw-4", "Success with more or less said in the request (Hell or High Water, table 4)", needsRequests},
		(*material).requestTable},
	{NamedTable{"hohw-5", "Success by the number of calls of the backup plan (Hell or High Water, table 5)",
		needsOpenFaults}, (*material).backupTable},
	{NamedTable{"hohw-fig-3", "Success by the number of tools shown (Hell or High Water, figure 3)", needsClosed},
		(*material).closedFigure},
	{NamedTable{"hohw-fig-4", "Success by the size of the model (Hell or High Water, figure 4)", needsSizes},
		(*material).sizeFigure},
	{NamedTable{"hohw-fig-5", "Turns of episodes, one by one (Hell or High Water, figure 5)", needsTurns},
		(*material).turnsFigure},
	{NamedTable{"hohw-turns", "Turns of episodes and giving up (Hell or High Water, figure 5, summed up)", needsTurns},
		(*material).staysTable},
	{NamedTable{"hohw-kappa", "Whether agents fail on the same instances (Hell or High Water, appendix B)", needsAgents},
		(*material).kappaTable},
	{NamedTable{"fresh-worlds", "Success on fresh worlds against the published databases: what was memorised", needsFresh},
		(*material).freshTable},
	{NamedTable{"tts", "Test-time scaling: votes over repeated trials, and informed retries",
		"repeated trials (--trials) or informed retries (--informed-retry)"}, (*material).scalingTable},
	{NamedTable{"budgets", "Success by the scale of the budget", "episodes of several budgets (--budgets)"},
		(*material).budgetTable},
}

// Tables lists the tables that [BuildTable] makes.
func Tables() []NamedTable {
	list := make([]NamedTable, len(namedTables))
	for i := range namedTables {
		list[i] = namedTables[i].NamedTable
	}
	return list
}

// BuildTable makes the table of that name. What is not there to be counted is said in its place. Errors are an unknown
// name, with the nearest known one; two sets of one name; an episode that stands twice in a set ([DuplicateError]); and
// one whose task is not in the set's suite.
func BuildTable(name string, in Input) (*Table, error) {
	known := make([]string, len(namedTables))
	for i := range namedTables {
		known[i] = namedTables[i].Name
		if known[i] != name {
			continue
		}
		m, err := newMaterial(in)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", name, err)
		}
		t := namedTables[i].build(m)
		t.Name, t.Title = name, namedTables[i].Title
		return t, nil
	}
	return nil, diag.Unknown("table", name, known)
}

// material is the input in the form that tables are counted from.
type material struct {
	options Options
	groups  []styled
	suites  []Set           // one for each suite
	sets    map[string]*Set // by name
	pairs   map[string]map[string][]pairing
}

// styled is the episodes of one subject on the tasks of one style.
type styled struct {
	style string
	run   string // where they stand, also where the subject need not name it
	group
}

func newMaterial(in Input) (*material, error) {
	m := &material{options: in.Options, sets: map[string]*Set{}}
	if m.options.Resamples <= 0 {
		m.options.Resamples = defaultResamples
	}
	named, seen := map[string]bool{}, map[string]bool{}
	for i := range in.Sets {
		set := &in.Sets[i]
		if named[set.Name] {
			return nil, fmt.Errorf("two runs have the name %q", set.Name)
		}
		named[set.Name] = true
		m.sets[set.Name] = set
		if set.Suite == nil {
			return nil, errors.New("run " + strconv.Quote(set.Name) + " has no suite")
		}
		if digest := set.Suite.Manifest.Digest; !seen[digest] {
			seen[digest] = true
			m.suites = append(m.suites, *set)
		}
		if err := m.add(set); err != nil {
			return nil, err
		}
	}
	m.forgetRuns()
	slices.SortStableFunc(m.groups, func(a, b styled) int {
		x, y := a.subject, b.subject
		return cmp.Or(compareStyles(a.style, b.style), cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.Protocol, y.Protocol),
			cmp.Compare(x.Arm, y.Arm), cmp.Compare(x.Run, y.Run))
	})
	return m, nil
}

// add groups the rows of a set by style and subject.
func (m *material) add(set *Set) error {
	rows, err := sorted(set.Name, set.Rows)
	if err != nil {
		return err
	}
	tasks := set.Suite.Index()
	byStyle := map[string][]Row{}
	for i := range rows {
		task := tasks[rows[i].Grade.Task]
		if task == nil {
			return fmt.Errorf("episode %s of run %s: the suite has no task %q", rows[i].Grade.Episode, set.Name,
				rows[i].Grade.Task)
		}
		byStyle[task.Style] = append(byStyle[task.Style], rows[i])
	}
	for _, style := range slices.Sorted(maps.Keys(byStyle)) {
		for _, g := range grouped(set.Name, byStyle[style]) {
			m.groups = append(m.groups, styled{style, set.Name, g})
		}
	}
	return nil
}

// forgetRuns drops the name of the run from every subject that stands in one run alone.
func (m *material) forgetRuns() {
	type key struct{ style, agent, protocol, arm string }
	keyOf := func(g *styled) key { return key{g.style, g.subject.Agent, g.subject.Protocol, g.subject.Arm} }
	count := map[key]int{}
	for i := range m.groups {
		count[keyOf(&m.groups[i])]++
	}
	for i := range m.groups {
		if count[keyOf(&m.groups[i])] == 1 {
			m.groups[i].subject.Run = ""
		}
	}
}

// compareStyles orders styles as the paper does, those that it does not have behind.
func compareStyles(a, b string) int {
	order := []string{task.StyleSlot, task.StyleSel, task.StyleRest}
	place := func(style string) int {
		if i := slices.Index(order, style); i >= 0 {
			return i
		}
		return len(order)
	}
	return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b))
}

// line is a row of a named table in the making: the cells that people read, and the values behind them.
type line struct {
	cells   []string
	record  map[string]any
	missing map[string]string
}

func newLine() *line { return &line{record: map[string]any{}, missing: map[string]string{}} }

func (l *line) cell(text string) { l.cells = append(l.cells, text) }

func (l *line) text(key, text string) {
	l.cell(clean(text))
	l.record[key] = text
}

func (l *line) count(key string, n int) {
	l.cell(strconv.Itoa(n))
	l.record[key] = n
}

// absent says why there is no value under the keys of a column. The reason is its cell where it is to be shown, else a
// dash.
func (l *line) absent(shown bool, why string, keys ...string) {
	if shown {
		l.cell(why)
	} else {
		l.cell(none)
	}
	for _, key := range keys {
		l.record[key], l.missing[key] = nil, why
	}
}

// value adds a number, written by write, or why there is none.
func (l *line) value(key string, v *float64, write func(*float64) string, why string) {
	if v == nil {
		l.absent(false, why, key)
		return
	}
	l.cell(write(v))
	l.record[key] = *v
}

// decimal adds a share or a mean with two digits, as the paper writes them.
func (l *line) decimal(key string, v *float64, why string) {
	l.value(key, v, func(v *float64) string { return mean(v, 2) }, why)
}

// interval adds the interval of a value. Without one nothing is missing but what the value lacks too.
func (l *line) interval(key string, ci *[2]float64, method string, write func(*float64) string) {
	low, high, how := key+"_low", key+"_high", key+"_method"
	if ci == nil {
		l.cell(none)
		l.record[low], l.record[high], l.record[how] = nil, nil, nil
		return
	}
	l.cell(write(&ci[0]) + " to " + write(&ci[1]) + star(method))
	l.record[low], l.record[high], l.record[how] = ci[0], ci[1], method
}

func writeDecimal(v *float64) string { return mean(v, 2) }

// signed writes a difference of shares. A sign stands in front of all but zero.
func signed(v *float64) string {
	text := fmt.Sprintf("%+.2f", *v)
	if text == "+0.00" || text == "-0.00" {
		return "0.00"
	}
	return text
}

func intervalKeys(key string) []string { return []string{key + "_low", key + "_high", key + "_method"} }

func (t *Table) add(l *line) {
	t.Cells = append(t.Cells, l.cells)
	if len(l.missing) > 0 {
		l.record[missingKey] = l.missing
	}
	t.Records = append(t.Records, l.record)
}

// missingKey names what a record lacks, and why.
const missingKey = "missing"

// none of the rows: the table says so, and nothing of lines that are not there.
func (t *Table) orNone(why string) *Table {
	if len(t.Cells) == 0 {
		t.Notes = []string{"Nothing to show: " + why + "."}
	}
	return t
}

// column makes a column of a named table. Keys are the names of its values in CSV and JSON.
func column(name string, rank int, keys ...string) Column {
	return Column{Name: name, Right: true, Rank: rank, Keys: keys}
}

func nameColumn(name, key string) Column { return Column{Name: name, Keys: []string{key}} }

// groupColumns are common to the tables that have a line for each group of episodes.
func groupColumns() []Column {
	return []Column{
		nameColumn("style", "style"), nameColumn("run", "run"), nameColumn("agent", "agent"),
		nameColumn("protocol", "protocol"), nameColumn("hints", "arm"),
	}
}

func (g *styled) line() *line {
	l := newLine()
	l.text("style", g.style)
	l.text("run", g.subject.Run)
	agent := g.subject.Agent
	if g.subject.Protocol == protocolNative {
		agent += " (native)" // a line of its own beside the same model's with specifications in the prompt
	}
	l.text("agent", agent)
	l.text("protocol", g.subject.Protocol)
	l.text("arm", g.subject.Arm)
	return l
}

// String names the group in a note.
func (g *styled) String() string { return g.style + " " + g.subject.String() }

// Text writes the table, aligned, as [Report.Text] does.
func (t *Table) Text(terminal Terminal) string {
	var b strings.Builder
	t.text(&b, terminal)
	return b.String()
}

// Markdown writes the table as Markdown.
func (t *Table) Markdown() string {
	var b strings.Builder
	t.markdown(&b)
	return b.String()
}

// keys are the names of the values of a named table, in the order of its columns.
func (t *Table) keys() []string {
	var keys []string
	for _, c := range t.Columns {
		keys = append(keys, c.Keys...)
	}
	return keys
}

// CSV writes the unrounded values of a named table, a line each, under the names of JSON's fields. The last column
// names the values that are not there, and why: `name: reason`, separated by semicolons.
func (t *Table) CSV() (string, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	keys := t.keys()
	lines := [][]string{append(slices.Clone(keys), missingKey)}
	for _, record := range t.Records {
		fields := make([]string, len(keys)+1)
		for i, key := range keys {
			fields[i] = csvText(record[key])
		}
		if missing, ok := record[missingKey].(map[string]string); ok {
			var reasons []string
			for _, key := range slices.Sorted(maps.Keys(missing)) {
				reasons = append(reasons, key+": "+missing[key])
			}
			fields[len(keys)] = strings.Join(reasons, "; ")
		}
		lines = append(lines, fields)
	}
	if err := w.WriteAll(lines); err != nil {
		return "", fmt.Errorf("table %s: %w", t.Name, err)
	}
	return b.String(), nil
}

// JSON writes the unrounded values of a named table in the encoding of artefacts, with a newline at the end. A value
// that is not there is null; the field `missing` of its row says why.
func (t *Table) JSON() ([]byte, error) {
	form := struct {
		Format  string           `json:"format"`
		Name    string           `json:"name"`
		Title   string           `json:"title"`
		Columns []string         `json:"columns"`
		Rows    []map[string]any `json:"rows"`
		Notes   []string         `json:"notes,omitempty"`
	}{TableFormat, t.Name, t.Title, t.keys(), t.Records, t.Notes}
	if form.Rows == nil {
		form.Rows = []map[string]any{}
	}
	text, err := task.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	return append(text, '\n'), nil
}
