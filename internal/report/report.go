// Package report says what runs show: rates with their intervals, effort, how episodes ended, what conditions cost, and
// paired differences between runs, as values and as text, Markdown, CSV and JSON. It must never know how episodes were
// run or graded: it counts grades.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/suite"
)

// Format is the version of the JSON form.
const Format = "seatrial.report/1"

// roleClean is the role of instances that others are paired with; it is the suite's word.
const roleClean = "clean"

// Row is one graded episode with what its instance says of it.
type Row struct {
	Grade     grade.Grade
	Role      string  // of the instance
	Condition string  // the instance's conditions as they are written on the command line; "" where it has none
	Workflow  string  // of the instance's primary plan
	Sample    Sample  // what votes need; only the tables about repeated tries read it
	Strike    *Strike // nil where no condition of the instance is of the environment
	// Explained is there for a right no under the protocol explain.
	Explained *Explained
}

// RowOf pairs a grade with its instance and, where it has one, that one's certificate.
func RowOf(g grade.Grade, in *suite.Instance, c *suite.Certificate) Row {
	names := make([]string, len(in.Conditions))
	for i := range in.Conditions {
		names[i] = in.Conditions[i].String()
	}
	row := Row{
		Grade: g, Role: in.Role, Condition: strings.Join(names, "+"), Workflow: in.Workflow, Strike: strikeOf(in.Conditions),
	}
	if row.Strike != nil && c != nil {
		row.Strike.Proof = c.Fault
	}
	return row
}

// Run is the episodes of one run. Name tells runs apart where there are several.
type Run struct {
	Name string
	Rows []Row
}

const defaultResamples = 10_000

// Options decide how intervals are computed.
type Options struct {
	Seed      uint64
	Resamples int // of the bootstrap; 0 means 10,000
	// exact does without resamples where a bootstrap can be computed. The many small groups of the robustness section do.
	exact bool
}

// Report is what runs show. Lists are sorted by run, agent, protocol and arm.
type Report struct {
	Format    string `json:"format"`
	Seed      uint64 `json:"seed"`
	Resamples int    `json:"resamples"`
	// FaultsApart says that Agents and Workflows leave out episodes under faults and their variants.
	FaultsApart bool        `json:"faults_apart,omitempty"`
	Agents      []Agent     `json:"agents"`
	Workflows   []Workflow  `json:"workflows"`
	Conditions  []Condition `json:"conditions,omitempty"` // those of the environment are in Robustness
	Pairs       []Pair      `json:"pairs,omitempty"`
	Checks      []Checks    `json:"checks,omitempty"`     // where tools cannot be run
	Robustness  *Robustness `json:"robustness,omitempty"` // nil where no instance is under conditions of the environment
	// Notes are sentences on how runs came about, which who builds the report adds.
	Notes []string `json:"notes,omitempty"`
}

// Subject is what is measured: an agent under a protocol, in a hint arm. Run is empty where there is one run alone.
type Subject struct {
	Run      string `json:"run,omitempty"`
	Agent    string `json:"agent"`
	Protocol string `json:"protocol"`
	Arm      string `json:"arm,omitempty"`
}

// Summary counts episodes. Invalid ones are in Episodes and Invalid, and in nothing else. Rates are shares of Valid and
// means are over valid episodes; they are null where there is none.
type Summary struct {
	Episodes  int      `json:"episodes"`
	Valid     int      `json:"valid"`
	Successes int      `json:"successes"`
	Rate      *float64 `json:"rate"`
	// CI95 is a 95 % interval of Rate over tasks: the episodes of one task are drawn together. Method says how.
	CI95        *[2]float64    `json:"ci95"`
	Method      string         `json:"ci95_method,omitempty"` // MethodBootstrap or MethodWilson
	Tasks       int            `json:"tasks"`                 // with at least one valid episode
	LenientRate *float64       `json:"lenient_rate"`
	Turns       *float64       `json:"turns"`
	Calls       *float64       `json:"calls"`
	Tokens      *float64       `json:"tokens"`
	CostUSD     *float64       `json:"cost_usd"`
	Invalid     map[string]int `json:"invalid,omitempty"` // by reason
}

// Agent is the summary of all episodes of a subject, with and without conditions.
type Agent struct {
	Subject
	Summary
	TotalCostUSD float64        `json:"total_cost_usd"` // of all episodes, invalid ones too
	ToolErrors   *float64       `json:"tool_errors"`    // mean over valid episodes
	Unparsed     *float64       `json:"unparsed"`       // mean over valid episodes
	Outcomes     map[string]int `json:"outcomes"`
	Causes       map[string]int `json:"causes,omitempty"` // first causes of failures
	// The rest is there where instances were tried more than once.
	Trials   int        `json:"trials"` // the largest number of valid trials of an instance
	PassHatK []PassHatK `json:"pass_hat_k,omitempty"`
	// BetweenTrialVariance is the sample variance of the success rates of the single trials.
	BetweenTrialVariance *float64 `json:"between_trial_variance,omitempty"`
}

// PassHatK is the chance that k trials of an instance all succeed (pass^k; Yao et al. 2024, "τ-bench", section 3),
// estimated without bias as the mean of C(c,k)/C(n,k) over the instances that have n ≥ k valid trials, c of them right.
type PassHatK struct {
	K         int     `json:"k"`
	Estimate  float64 `json:"estimate"`
	Instances int     `json:"instances"`
}

// Workflow is the summary of a subject's episodes whose primary plan has that workflow.
type Workflow struct {
	Subject
	Workflow string `json:"workflow"`
	Summary
}

// Condition is the summary of a subject's episodes under a condition. PairedDifference is the mean over tasks of the
// rate under the condition less the rate without it; tasks that have both count. Without it means instances of the task
// without conditions, or, where the task has none, its other instances of the role clean.
type Condition struct {
	Condition string `json:"condition"`
	Role      string `json:"role"`
	Subject
	Summary
	Landed            int         `json:"landed"`             // valid episodes in which the condition was applied
	Recovered         int         `json:"recovered"`          // successes among them
	UnlandedSuccesses int         `json:"unlanded_successes"` // the other successes
	PairedDifference  *float64    `json:"paired_difference"`
	PairedCI95        *[2]float64 `json:"paired_difference_ci95"`
	PairedMethod      string      `json:"paired_difference_ci95_method,omitempty"`
	PairedTasks       int         `json:"paired_tasks"`
}

// DuplicateError says that an episode was given twice.
type DuplicateError struct{ Run, Episode string }

func (e *DuplicateError) Error() string {
	if e.Run == "" {
		return fmt.Sprintf("episode %s is there twice", e.Episode)
	}
	return fmt.Sprintf("episode %s is there twice in run %s", e.Episode, e.Run)
}

// Build makes the report of one run, or of several, which are then paired. The order of rows does not matter. Errors
// are [DuplicateError], or a name that two runs share.
func Build(runs []Run, o Options) (*Report, error) {
	if o.Resamples <= 0 {
		o.Resamples = defaultResamples
	}
	r := &Report{
		Format: Format, Seed: o.Seed, Resamples: o.Resamples, Agents: []Agent{}, Workflows: []Workflow{},
	}
	groups := make([][]group, len(runs))
	named := map[string]bool{}
	for i := range runs {
		name := ""
		if len(runs) > 1 {
			name = runs[i].Name
			if named[name] {
				return nil, fmt.Errorf("two runs have the name %q", name)
			}
			named[name] = true
		}
		rows, err := sorted(name, runs[i].Rows)
		if err != nil {
			return nil, err
		}
		groups[i] = grouped(name, rows)
		for _, g := range groups[i] {
			plain, apart := g.plain()
			r.FaultsApart = r.FaultsApart || apart
			r.Agents = append(r.Agents, plain.agent(o))
			r.Workflows = append(r.Workflows, plain.workflows(o)...)
			r.Conditions = append(r.Conditions, g.conditions(o)...)
			r.Checks = append(r.Checks, plain.checks()...)
		}
	}
	slices.SortStableFunc(r.Conditions, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Condition, b.Condition), cmp.Compare(a.Role, b.Role))
	})
	var benches []*bench
	for i := range groups {
		for j := range groups[i] {
			benches = append(benches, newBench("", runs[i].Name, groups[i][j], o))
		}
		for j := i + 1; j < len(groups); j++ {
			r.Pairs = append(r.Pairs, paired(groups[i], groups[j], o)...)
		}
	}
	r.Robustness = robustnessOf(benches)
	return r, nil
}

// sorted puts rows into an order that depends on nothing but what they are, so that sums come out the same.
func sorted(run string, rows []Row) ([]Row, error) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b Row) int {
		g, h := &a.Grade, &b.Grade
		return cmp.Or(cmp.Compare(g.Agent, h.Agent), cmp.Compare(g.Protocol, h.Protocol), cmp.Compare(g.Arm, h.Arm),
			cmp.Compare(g.Task, h.Task), cmp.Compare(g.Instance, h.Instance), cmp.Compare(g.Trial, h.Trial),
			cmp.Compare(g.Episode, h.Episode))
	})
	seen := make(map[string]bool, len(rows))
	for i := range rows {
		id := rows[i].Grade.Episode
		if seen[id] {
			return nil, &DuplicateError{Run: run, Episode: id}
		}
		seen[id] = true
	}
	return rows, nil
}

// group is the sorted rows of one subject.
type group struct {
	subject Subject
	rows    []Row
}

func grouped(run string, rows []Row) []group {
	var groups []group
	for _, row := range rows {
		s := Subject{Run: run, Agent: row.Grade.Agent, Protocol: row.Grade.Protocol, Arm: row.Grade.Arm}
		if n := len(groups); n == 0 || groups[n-1].subject != s {
			groups = append(groups, group{subject: s})
		}
		last := &groups[len(groups)-1]
		last.rows = append(last.rows, row)
	}
	return groups
}

// plain gives the rows under no condition of the environment, and whether there are others beside them. Where there is
// nothing else than such conditions it gives all: then there is nothing to set apart.
func (g group) plain() (group, bool) {
	rest := group{subject: g.subject}
	for i := range g.rows {
		if g.rows[i].Strike == nil {
			rest.rows = append(rest.rows, g.rows[i])
		}
	}
	if len(rest.rows) == 0 || len(rest.rows) == len(g.rows) {
		return g, false
	}
	return rest, true
}

func (s Subject) names(more ...string) []string {
	return append([]string{"report", s.Run, s.Agent, s.Protocol, s.Arm}, more...)
}

// summarise counts rows. names name the stream from which the bootstrap draws.
func summarise(rows []Row, o Options, names []string) Summary {
	s := Summary{Episodes: len(rows)}
	var lenient, turns, calls, tokens int
	var cost float64
	byTask := map[string]cluster{}
	for i := range rows {
		g := &rows[i].Grade
		if !g.Valid {
			if s.Invalid == nil {
				s.Invalid = map[string]int{}
			}
			s.Invalid[g.Invalid]++
			continue
		}
		s.Valid++
		c := byTask[g.Task]
		c.weight++
		if g.Success {
			s.Successes++
			c.sum++
		}
		byTask[g.Task] = c
		if g.Lenient {
			lenient++
		}
		turns, calls, tokens, cost = turns+g.Turns, calls+g.Calls, tokens+g.Tokens, cost+g.CostUSD
	}
	s.Tasks = len(byTask)
	s.Rate = share(float64(s.Successes), s.Valid)
	s.LenientRate = share(float64(lenient), s.Valid)
	s.Turns, s.Calls = share(float64(turns), s.Valid), share(float64(calls), s.Valid)
	s.Tokens, s.CostUSD = share(float64(tokens), s.Valid), share(cost, s.Valid)
	s.CI95, s.Method = interval(byTask, 0, o, append(names, "rate"))
	return s
}

func share(sum float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	v := sum / float64(n)
	return &v
}

func (g *group) agent(o Options) Agent {
	a := Agent{Subject: g.subject, Summary: summarise(g.rows, o, g.subject.names("agent")), Outcomes: map[string]int{}}
	var toolErrors, unparsed int
	for i := range g.rows {
		e := &g.rows[i].Grade
		a.Outcomes[e.Outcome]++
		a.TotalCostUSD += e.CostUSD
		if !e.Valid {
			continue
		}
		toolErrors, unparsed = toolErrors+e.ToolErrors, unparsed+e.Unparsed
		if e.Cause != "" {
			if a.Causes == nil {
				a.Causes = map[string]int{}
			}
			a.Causes[e.Cause]++
		}
	}
	a.ToolErrors, a.Unparsed = share(float64(toolErrors), a.Valid), share(float64(unparsed), a.Valid)
	a.PassHatK, a.Trials = passHatK(g.rows)
	if a.Trials > 1 {
		a.BetweenTrialVariance = betweenTrials(g.rows)
	} else {
		a.PassHatK = nil
	}
	return a
}

// partition splits rows by a key and gives the keys in order.
func partition(rows []Row, key func(*Row) string) ([]string, map[string][]Row) {
	parts := map[string][]Row{}
	for i := range rows {
		k := key(&rows[i])
		parts[k] = append(parts[k], rows[i])
	}
	keys := make([]string, 0, len(parts))
	for k := range parts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys, parts
}

func (g *group) workflows(o Options) []Workflow {
	keys, parts := partition(g.rows, func(r *Row) string { return r.Workflow })
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(workflowOrder(a), workflowOrder(b)) })
	list := make([]Workflow, 0, len(keys))
	for _, k := range keys {
		if k == "" { // instances without a plan have none
			continue
		}
		list = append(list, Workflow{
			Subject: g.subject, Workflow: k, Summary: summarise(parts[k], o, g.subject.names("workflow", k)),
		})
	}
	return list
}

func (g *group) conditions(o Options) []Condition {
	_, byTask := partition(g.rows, func(r *Row) string { return r.Grade.Task })
	_, byCondition := partition(g.rows, func(r *Row) string { return r.Condition })
	var list []Condition
	for condition, rows := range byCondition {
		if condition == "" || rows[0].Strike != nil {
			continue
		}
		_, byRole := partition(rows, func(r *Row) string { return r.Role })
		for role, rows := range byRole {
			list = append(list, g.condition(condition, role, rows, byTask, o))
		}
	}
	slices.SortFunc(list, func(a, b Condition) int {
		return cmp.Or(cmp.Compare(a.Condition, b.Condition), cmp.Compare(a.Role, b.Role))
	})
	return list
}

func (g *group) condition(condition, role string, rows []Row, byTask map[string][]Row, o Options) Condition {
	names := g.subject.names("condition", condition, role)
	c := Condition{Condition: condition, Role: role, Subject: g.subject, Summary: summarise(rows, o, names)}
	for i := range rows {
		switch e := &rows[i].Grade; {
		case !e.Valid:
		case e.Landed && e.Success:
			c.Landed++
			c.Recovered++
		case e.Landed:
			c.Landed++
		case e.Success:
			c.UnlandedSuccesses++
		}
	}
	differences := map[string]cluster{}
	_, mine := partition(rows, func(r *Row) string { return r.Grade.Task })
	for task, rows := range mine {
		with, ok := successRate(rows)
		without, paired := successRate(baseline(byTask[task], condition))
		if ok && paired {
			differences[task] = cluster{sum: with - without, weight: 1}
		}
	}
	c.PairedTasks = len(differences)
	c.PairedDifference = ratio(differences)
	c.PairedCI95, c.PairedMethod = interval(differences, -1, o, append(names, "paired difference"))
	return c
}

// baseline gives the rows of a task that a condition is compared with.
func baseline(rows []Row, condition string) []Row {
	var without, clean []Row
	for _, r := range rows {
		switch {
		case r.Condition == "":
			without = append(without, r)
		case r.Condition != condition && r.Role == roleClean && r.Strike == nil:
			clean = append(clean, r)
		}
	}
	if without != nil {
		return without
	}
	return clean
}

// successRate gives the share of successes among the valid rows, and whether there is any.
func successRate(rows []Row) (float64, bool) {
	valid, successes := 0, 0
	for i := range rows {
		if rows[i].Grade.Valid {
			valid++
			if rows[i].Grade.Success {
				successes++
			}
		}
	}
	if valid == 0 {
		return 0, false
	}
	return float64(successes) / float64(valid), true
}
