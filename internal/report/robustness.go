package report

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/suite/transcript"
)

// Robustness is what conditions of the environment did (ToolBench-X; Hell or High Water §3.1 and §5). Lists are sorted
// by run, agent, protocol and arm, and within by what they are of; faults first by the aspect. Informed second tries
// are left out.
type Robustness struct {
	Faults   []Faulted  `json:"faults"`
	Harmless []Harmless `json:"harmless"`
	Hopeless []Hopeless `json:"hopeless,omitempty"`
	Hints    []HintGain `json:"hints,omitempty"`
	Volume   []Volume   `json:"volume"`
	Tactics  []Tactic   `json:"tactics,omitempty"`
}

// Aspects by which episodes under faults are grouped.
const (
	ByAll            = "all"
	ByHazard         = "hazard"
	ByKind           = "kind"
	ByWorkflow       = "workflow"
	ByBackup         = "backup" // whether the plan that the recovery policy fell back on makes one call or several
	byHazardWorkflow = "hazard and workflow"
)

// Aspect says which episodes a summary is of: By says which of the other fields do, and Within parts them besides.
type Aspect struct {
	By       string `json:"by"` // one of the By constants
	Hazard   string `json:"hazard,omitempty"`
	Kind     string `json:"kind,omitempty"`
	Workflow string `json:"workflow,omitempty"`
	Backup   string `json:"backup,omitempty"`
	// Within is the other conditions of the instances, as they are written on the command line, as open-world or
	// closed-world:9; "" for none.
	Within string `json:"within,omitempty"`
}

// Contrast compares instances with their clean pairs: the control of the same task under the same kinds, which shows
// the same tools, or where kinds add none the instance of the task without conditions of the environment. Rates are
// means over paired instances of the share of valid episodes that succeeded.
type Contrast struct {
	PairedInstances int         `json:"paired_instances"`
	PairedTasks     int         `json:"paired_tasks"`
	CleanRate       *float64    `json:"clean_rate"`
	PairedRate      *float64    `json:"paired_rate"` // of the instances that are paired
	Difference      *float64    `json:"paired_difference"`
	DifferenceCI95  *[2]float64 `json:"paired_difference_ci95"`
	Method          string      `json:"paired_difference_ci95_method,omitempty"`
	Test            Discordant  `json:"test"`
}

// Faulted is the summary of a subject's episodes under faults that can be survived, mirrors aside.
type Faulted struct {
	Subject
	Style string `json:"style,omitempty"`
	Aspect
	Summary
	Contrast
	Landed            int            `json:"landed"` // valid episodes in which a fault struck
	LandedRate        *float64       `json:"landed_rate"`
	Recovered         int            `json:"recovered"` // successes among them
	RecoveryRate      *float64       `json:"recovery_rate"`
	RecoveryCI95      *[2]float64    `json:"recovery_rate_ci95"`
	RecoveryMethod    string         `json:"recovery_rate_ci95_method,omitempty"`
	UnlandedSuccesses int            `json:"unlanded_successes"`  // successes in which no fault ever struck
	Reactions         map[string]int `json:"reactions,omitempty"` // landed failures by class
	Failures          map[string]int `json:"failures,omitempty"`  // landed failures by outcome
	// What landed episodes did about it, as means over them.
	Retries  *float64 `json:"retries"`
	Adapted  *float64 `json:"adaptations"`
	Switches *float64 `json:"switches"`
	Probes   *float64 `json:"probes"`
	Waits    *float64 `json:"waits"`
	// Means over recovered episodes of what they took less what the plan takes where nothing goes wrong, by the
	// certificate.
	ExtraTurns *float64 `json:"extra_turns"`
	ExtraCalls *float64 `json:"extra_calls"`
	// ExtraCostUSD is the mean over paired instances of what an episode cost less what one of its clean pair did.
	ExtraCostUSD *float64 `json:"extra_cost_usd"`
}

// Harmless is the summary of a subject's episodes in which nothing goes wrong that matters to the plan, with the alarms
// that it raised over nothing. Hazard and Kind are empty for all of a part.
type Harmless struct {
	Subject
	Style  string `json:"style,omitempty"`
	Part   string `json:"part"`
	Hazard string `json:"hazard,omitempty"`
	Kind   string `json:"kind,omitempty"`
	Summary
	Contrast
	Shown     int      `json:"shown"`    // valid episodes in which the trouble showed
	Retried   int      `json:"retried"`  // valid episodes with needless retries
	Switched  int      `json:"switched"` // with needless switches
	Declined  int      `json:"declined"`
	Alarmed   int      `json:"alarmed"` // with any of the three
	AlarmRate *float64 `json:"alarm_rate"`
}

// Proofs that nothing can be survived.
const (
	ProofTwin    = "twin"    // a world that nothing observable tells apart gives another answer
	ProofBounded = "bounded" // a search found no answer
)

// Hopeless is the summary of a subject's episodes in which declining is right: a success is a decline. Proof is empty
// for all together.
type Hopeless struct {
	Subject
	Style string `json:"style,omitempty"`
	Kind  string `json:"kind,omitempty"`
	Proof string `json:"proof,omitempty"`
	Summary
	Answered    int `json:"answered"`
	OutOfBudget int `json:"out_of_budget"`
	Other       int `json:"other"` // stopped without an act, or crashed
	// The clean pair is the same toolkit with the right tools in it.
	PairedInstances int      `json:"paired_instances"`
	CleanRate       *float64 `json:"clean_rate"`          // right answers there
	CleanDeclined   *float64 `json:"clean_declined_rate"` // refusals there
	// BothRate is the share of pairs of which, in the first shared trial, the hopeless side was declined and the other
	// solved.
	BothRate *float64 `json:"both_rate"`
}

// HintGain compares an arm of hints with the one that differs from it in having none, on the same instances. Hazard is
// empty for all of a part. Of Test, Only are tasks that the hint won and BaseOnly regressions.
type HintGain struct {
	Subject
	Style       string      `json:"style,omitempty"`
	Base        string      `json:"base"` // its arm
	Part        string      `json:"part"`
	Hazard      string      `json:"hazard,omitempty"`
	Instances   int         `json:"instances"`
	Tasks       int         `json:"tasks"`
	Hinted      int         `json:"hinted"` // valid episodes of the arm in which advice was given
	Valid       int         `json:"valid"`
	BaseRate    *float64    `json:"base_rate"`
	Rate        *float64    `json:"rate"`
	Gain        *float64    `json:"gain"`
	CI95        *[2]float64 `json:"gain_ci95"`
	Method      string      `json:"gain_ci95_method,omitempty"`
	Won         int         `json:"won"`         // instances wrong without and right with it, in the first shared trial
	Regressions int         `json:"regressions"` // right without and wrong with it
	Test        Discordant  `json:"test"`
	ExtraCost   *float64    `json:"extra_cost_usd"` // mean over instances
}

// Aspects of volume.
const (
	AgainstCalls      = "calls"
	AgainstBudget     = "budget"
	AgainstFailpoints = "failpoints"
)

// Volume is success under faults against calls made, budget or failpoints. In Acted are landed episodes in which the
// agent did anything about the trouble, in Passive the others: at the same volume they tell diagnosis from effort.
// Where Against is the budget, Arm is the arm without it.
type Volume struct {
	Subject
	Style            string      `json:"style,omitempty"`
	Against          string      `json:"against"`
	Value            string      `json:"value"`
	Valid            int         `json:"valid"`
	Successes        int         `json:"successes"`
	Rate             *float64    `json:"rate"`
	CI95             *[2]float64 `json:"ci95"`
	Method           string      `json:"ci95_method,omitempty"`
	Landed           int         `json:"landed"`
	RecoveryRate     *float64    `json:"recovery_rate"`
	Acted            int         `json:"acted"`
	ActedSuccesses   int         `json:"acted_successes"`
	ActedRate        *float64    `json:"acted_rate"`
	Passive          int         `json:"passive"`
	PassiveSuccesses int         `json:"passive_successes"`
	PassiveRate      *float64    `json:"passive_rate"`
	OutOfBudget      int         `json:"out_of_budget"`
}

// Policies of which one tactic is left out have this before its name.
const (
	policyRecover  = "recover"
	recoverWithout = policyRecover + "-without:"
)

// Tactic compares the recovery policy without one of its tactics with the whole, on instances under faults that can be
// survived, mirrors among them. Kind is empty for all of them; only kinds with an instance that came out otherwise are
// listed.
type Tactic struct {
	Subject
	Style     string   `json:"style,omitempty"`
	Tactic    string   `json:"tactic"`
	Kind      string   `json:"kind,omitempty"`
	Instances int      `json:"instances"`   // that both have a valid episode of
	Whole     *float64 `json:"whole_rate"`  // recovered of what landed
	Rate      *float64 `json:"rate"`        // the same without the tactic
	Lost      int      `json:"lost"`        // instances that the whole solves alone
	Won       int      `json:"won"`         // instances that are solved without the tactic alone
	Landed    int      `json:"landed"`      // episodes without the tactic
	Kinds     int      `json:"kinds"`       // how many kinds changed
	Unchanged int      `json:"kinds_alike"` // how many did not
}

// bench is the sorted rows of one subject, on the tasks of one style where styles are kept apart.
type bench struct {
	style   string
	run     string
	subject Subject
	rows    []Row
	parts   map[string][]Row
	base    map[string][]Row // what instances are compared with, by the key of baseKey
	options Options
}

func newBench(style, run string, g group, o Options) *bench {
	o.exact = true
	b := &bench{style: style, run: run, subject: g.subject, rows: g.rows, options: o, parts: map[string][]Row{},
		base: map[string][]Row{}}
	for i := range g.rows {
		r := &g.rows[i]
		part := r.part()
		b.parts[part] = append(b.parts[part], *r)
		switch part {
		case PartClean:
			key := baseKey(r.Grade.Task, r.Condition, "")
			b.base[key] = append(b.base[key], *r)
		case PartControl:
			key := baseKey(r.Grade.Task, r.Strike.Beside, strings.Join(r.Strike.Kinds, "+"))
			b.base[key] = append(b.base[key], *r)
		}
	}
	return b
}

func baseKey(task, beside, control string) string { return task + "\n" + beside + "\n" + control }

// struck says whether any instance is under conditions of the environment.
func (b *bench) struck() bool {
	return slices.ContainsFunc(b.rows, func(r Row) bool { return r.Strike != nil })
}

// pairOf gives what an instance is compared with.
func (b *bench) pairOf(r *Row) []Row {
	if control := r.Strike.control(); control != "" {
		if rows := b.base[baseKey(r.Grade.Task, r.Strike.Beside, control)]; rows != nil {
			return rows
		}
	}
	return b.base[baseKey(r.Grade.Task, r.Strike.Beside, "")]
}

// names name the stream from which a bootstrap draws.
func (b *bench) names(more ...string) []string {
	return b.subject.names(append([]string{"robustness", b.style}, more...)...)
}

// robustnessOf makes all lists; nil where no instance is under conditions of the environment.
func robustnessOf(benches []*bench) *Robustness {
	if !slices.ContainsFunc(benches, (*bench).struck) {
		return nil
	}
	r := &Robustness{
		Faults:   []Faulted{},
		Harmless: each(benches, (*bench).harmless),
		Hopeless: each(benches, (*bench).hopeless),
		Hints:    each(benches, func(b *bench) []HintGain { return b.hints(benches) }),
		Volume:   append(each(benches, (*bench).volume), budgets(benches)...),
		Tactics:  each(benches, func(b *bench) []Tactic { return b.tactics(benches) }),
	}
	for _, by := range []string{ByAll, ByHazard, ByKind, ByWorkflow, ByBackup} {
		r.Faults = append(r.Faults, each(benches, func(b *bench) []Faulted { return b.faulted(by) })...)
	}
	return r
}

// unitsOf pairs the instances of rows.
func unitsOf(rows []Row, base func(*Row) []Row) []unit {
	instances, byInstance := partition(rows, func(r *Row) string { return r.Grade.Instance })
	units := make([]unit, 0, len(instances))
	for _, id := range instances {
		rows := byInstance[id]
		units = append(units, unit{task: rows[0].Grade.Task, instance: id, base: base(&rows[0]), rows: rows})
	}
	return units
}

// compared is what paired units come to.
type compared struct {
	units       []unit // that have a valid episode on both sides
	tasks       int
	base, rate  *float64
	difference  *float64
	ci          *[2]float64
	method      string
	won, lost   int // by the first shared trial: the second side alone, the first alone
	extraCost   *float64
	discordants Discordant
}

func compare(units []unit, o Options, names []string) compared {
	c := compared{}
	byTask := map[string]cluster{}
	var base, rate, cost float64
	for _, u := range units {
		first, okBase := successRate(u.base)
		second, ok := successRate(u.rows)
		if !ok || !okBase {
			continue
		}
		c.units = append(c.units, u)
		base, rate = base+first, rate+second
		cost += meanCost(u.rows) - meanCost(u.base)
		k := byTask[u.task]
		byTask[u.task] = cluster{sum: k.sum + second - first, weight: k.weight + 1}
		if x, y, both := firstShared(u.base, u.rows); both && x != y {
			if y {
				c.won++
			} else {
				c.lost++
			}
		}
	}
	n := len(c.units)
	c.tasks, c.base, c.rate, c.extraCost = len(byTask), share(base, n), share(rate, n), share(cost, n)
	c.difference = ratio(byTask)
	c.ci, c.method = interval(byTask, -1, o, names)
	c.discordants = discordant(c.units, o.Seed)
	return c
}

// meanCost gives the mean cost of valid episodes; there is one.
func meanCost(rows []Row) float64 {
	sum, n := 0.0, 0
	for i := range rows {
		if g := &rows[i].Grade; g.Valid {
			sum += g.CostUSD
			n++
		}
	}
	return sum / float64(n)
}

func (c *compared) contrast() Contrast {
	return Contrast{
		PairedInstances: len(c.units), PairedTasks: c.tasks, CleanRate: c.base, PairedRate: c.rate, Difference: c.difference,
		DifferenceCI95: c.ci, Method: c.method, Test: c.discordants,
	}
}

// aspects gives the groups of a row by an aspect: none where nothing is known of it.
func aspects(by string, r *Row) []Aspect {
	s := r.Strike
	switch by {
	case ByHazard:
		return []Aspect{{By: by, Hazard: s.hazard()}}
	case ByKind:
		return []Aspect{{By: by, Hazard: s.hazard(), Kind: s.kind()}}
	case ByWorkflow:
		return []Aspect{{By: by, Workflow: r.Workflow}}
	case ByBackup:
		if s.Proof == nil || s.Proof.Backup == "" {
			return nil
		}
		return []Aspect{{By: by, Backup: s.Proof.Backup}}
	case byHazardWorkflow:
		return []Aspect{
			{By: by}, {By: by, Hazard: s.hazard()}, {By: by, Workflow: r.Workflow}, {By: by, Hazard: s.hazard(),
				Workflow: r.Workflow},
		}
	default:
		return []Aspect{{By: by}}
	}
}

func (a Aspect) compare(c Aspect) int {
	workflow := func(w string) int {
		if w == "" {
			return -1 // all of them
		}
		return workflowOrder(w)
	}
	return cmp.Or(cmp.Compare(hazardOrder(a.Hazard), hazardOrder(c.Hazard)), compareKinds(a.Kind, c.Kind),
		cmp.Compare(workflow(a.Workflow), workflow(c.Workflow)), cmp.Compare(a.Workflow, c.Workflow),
		cmp.Compare(c.Backup, a.Backup),
		compareWorlds(a.Within, c.Within))
}

// faulted gives the summaries of episodes under faults, grouped by an aspect.
func (b *bench) faulted(by string) []Faulted {
	groups := map[Aspect][]Row{}
	for i := range b.parts[PartFault] {
		r := &b.parts[PartFault][i]
		for _, a := range aspects(by, r) {
			a.Within = r.Strike.Beside
			groups[a] = append(groups[a], *r)
		}
	}
	list := make([]Faulted, 0, len(groups))
	for _, a := range slices.SortedFunc(maps.Keys(groups), Aspect.compare) {
		list = append(list, b.faultedOf(a, groups[a]))
	}
	return list
}

func (b *bench) faultedOf(a Aspect, rows []Row) Faulted {
	names := func(what string) []string {
		list := []string{a.By, a.Hazard, a.Kind, a.Workflow, a.Backup, what}
		if a.Within != "" {
			list = append(list, a.Within)
		}
		return b.names(list...)
	}
	c := compare(unitsOf(rows, b.pairOf), b.options, names("difference"))
	f := Faulted{
		Subject: b.subject, Style: b.style, Aspect: a, Summary: summarise(rows, b.options, names("rate")),
		Contrast: c.contrast(), ExtraCostUSD: c.extraCost,
	}
	var retries, adapted, switches, probes, waits, turns, calls, known int
	byTask := map[string]cluster{}
	for i := range rows {
		g := &rows[i].Grade
		switch {
		case !g.Valid:
			continue
		case !g.Landed:
			if g.Success {
				f.UnlandedSuccesses++
			}
			continue
		}
		f.Landed++
		k := byTask[g.Task]
		k.weight++
		if r := g.Reaction; r != nil {
			retries, adapted, switches = retries+r.Retries, adapted+r.Adaptations, switches+r.Switches
			probes, waits = probes+r.Probes, waits+r.Waits
		}
		if g.Success {
			f.Recovered++
			k.sum++
			if proof := rows[i].Strike.Proof; proof != nil && proof.CleanTurns > 0 {
				known++
				turns, calls = turns+g.Turns-proof.CleanTurns, calls+g.Calls-proof.CleanCalls
			}
		} else {
			f.failed(g)
		}
		byTask[g.Task] = k
	}
	f.LandedRate, f.RecoveryRate = share(float64(f.Landed), f.Valid), share(float64(f.Recovered), f.Landed)
	f.RecoveryCI95, f.RecoveryMethod = interval(byTask, 0, b.options, names("recovery"))
	f.Retries, f.Adapted, f.Switches = share(float64(retries), f.Landed), share(float64(adapted), f.Landed),
		share(float64(switches), f.Landed)
	f.Probes, f.Waits = share(float64(probes), f.Landed), share(float64(waits), f.Landed)
	f.ExtraTurns, f.ExtraCalls = share(float64(turns), known), share(float64(calls), known)
	return f
}

// failed counts a landed failure.
func (f *Faulted) failed(g *grade.Grade) {
	if f.Failures == nil {
		f.Failures, f.Reactions = map[string]int{}, map[string]int{}
	}
	f.Failures[g.Outcome]++
	if g.Reaction != nil {
		f.Reactions[g.Reaction.Class]++
	}
}

// harmless gives the summaries of episodes in which nothing goes wrong that matters, and of clean ones beside them.
func (b *bench) harmless() []Harmless {
	var list []Harmless
	for _, part := range []string{PartClean, PartControl, PartLookalike, PartMirror} {
		rows := b.parts[part]
		if part == PartClean {
			rows = slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Condition != "" })
		}
		if len(rows) == 0 {
			continue
		}
		list = append(list, b.harmlessOf(Harmless{Part: part}, rows))
		if part == PartClean {
			continue
		}
		type key struct{ hazard, kind string }
		groups := map[key][]Row{}
		for i := range rows {
			k := key{rows[i].Strike.hazard(), rows[i].Strike.kind()}
			groups[k] = append(groups[k], rows[i])
		}
		keys := slices.SortedFunc(maps.Keys(groups), func(x, y key) int {
			return cmp.Or(cmp.Compare(hazardOrder(x.hazard), hazardOrder(y.hazard)), compareKinds(x.kind, y.kind))
		})
		for _, k := range keys {
			list = append(list, b.harmlessOf(Harmless{Part: part, Hazard: k.hazard, Kind: k.kind}, groups[k]))
		}
	}
	return list
}

func (b *bench) harmlessOf(h Harmless, rows []Row) Harmless {
	names := func(what string) []string { return b.names(h.Part, h.Hazard, h.Kind, what) }
	h.Subject, h.Style, h.Summary = b.subject, b.style, summarise(rows, b.options, names("rate"))
	if h.Part == PartLookalike || h.Part == PartMirror {
		c := compare(unitsOf(rows, b.pairOf), b.options, names("difference"))
		h.Contrast = c.contrast()
	}
	for i := range rows {
		g := &rows[i].Grade
		if !g.Valid {
			continue
		}
		declined := refused(g)
		h.Shown += one(g.Lookalike || g.Landed)
		h.Retried += one(g.NeedlessRetries > 0)
		h.Switched += one(g.NeedlessSwitches > 0)
		h.Declined += one(declined)
		h.Alarmed += one(g.NeedlessRetries > 0 || g.NeedlessSwitches > 0 || declined)
	}
	h.AlarmRate = share(float64(h.Alarmed), h.Valid)
	return h
}

// refused says whether an agent gave up on a request that can be met: it declined, or judged that it cannot be met.
func refused(g *grade.Grade) bool {
	return g.Outcome == grade.OutcomeDeclined || g.Outcome == grade.OutcomeWrongNo
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// hopeless gives the summaries of episodes in which declining is right: all of them, and by kind and proof.
func (b *bench) hopeless() []Hopeless {
	type key struct{ kind, proof string }
	groups := map[key][]Row{}
	for i := range b.parts[PartHopeless] {
		r := &b.parts[PartHopeless][i]
		k := key{kind: r.Strike.kind()}
		if p := r.Strike.Proof; p != nil {
			k.proof = ProofBounded
			if p.Twin != "" {
				k.proof = ProofTwin
			}
		}
		groups[k], groups[key{}] = append(groups[k], *r), append(groups[key{}], *r)
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(x, y key) int {
		return cmp.Or(compareKinds(x.kind, y.kind), cmp.Compare(y.proof, x.proof))
	})
	list := make([]Hopeless, 0, len(keys))
	for _, k := range keys {
		list = append(list, b.hopelessOf(k.kind, k.proof, groups[k]))
	}
	return list
}

func (b *bench) hopelessOf(kind, proof string, rows []Row) Hopeless {
	names := b.names(PartHopeless, kind, proof)
	h := Hopeless{Subject: b.subject, Style: b.style, Kind: kind, Proof: proof, Summary: summarise(rows, b.options,
		append(names, "rate"))}
	for i := range rows {
		switch g := &rows[i].Grade; {
		case !g.Valid || g.Success:
		case g.Outcome == grade.OutcomeWrong, g.Outcome == grade.OutcomeWrongYes:
			h.Answered++
		case g.Outcome == grade.OutcomeOutOfBudget:
			h.OutOfBudget++
		default:
			h.Other++
		}
	}
	c := compare(unitsOf(rows, b.pairOf), b.options, append(names, "difference"))
	h.PairedInstances, h.CleanRate = len(c.units), c.base
	declined, both, shared := 0.0, 0, 0
	for _, u := range c.units {
		refusals, valid := 0, 0
		for i := range u.base {
			valid += one(u.base[i].Grade.Valid)
			refusals += one(refused(&u.base[i].Grade))
		}
		declined += float64(refusals) / float64(valid)
		if first, second, ok := firstShared(u.base, u.rows); ok {
			shared++
			both += one(first && second)
		}
	}
	h.CleanDeclined, h.BothRate = share(declined, len(c.units)), share(float64(both), shared)
	return h
}

// beside finds the rows of the same agent, protocol and style under another name or arm: those of the same run, or else
// those of the only run that has any.
func (b *bench) beside(benches []*bench, agent, arm string) *bench {
	var others []*bench
	for _, o := range benches {
		if o.style != b.style || o.subject.Protocol != b.subject.Protocol || o.subject.Agent != agent ||
			o.subject.Arm != arm {
			continue
		}
		if o.run == b.run {
			return o
		}
		others = append(others, o)
	}
	if len(others) == 1 {
		return others[0]
	}
	return nil
}

// armNone is the arm of hints in which none are given, where it is written out.
const armNone = "none"

// plainArms gives the arms that differ from one in having no hints; nothing for an arm that has none.
func plainArms(arm string) []string {
	a := armOf(arm)
	if a.Hint == "" || a.Hint == armNone {
		return nil
	}
	return []string{
		transcript.Arm{Budget: a.Budget, World: a.World}.String(), transcript.Arm{Hint: armNone, Budget: a.Budget,
			World: a.World}.String(),
	}
}

// hints compares an arm with the one without hints: each part, and faults by hazard.
func (b *bench) hints(benches []*bench) []HintGain {
	var base *bench
	for _, arm := range plainArms(b.subject.Arm) {
		if base = b.beside(benches, b.subject.Agent, arm); base != nil {
			break
		}
	}
	if base == nil {
		return nil
	}
	var list []HintGain
	for _, part := range []string{PartFault, PartMirror, PartLookalike, PartHopeless, PartClean} {
		rows := b.parts[part]
		if len(rows) == 0 {
			continue
		}
		list = append(list, b.hintGain(base, part, "", rows))
		if part != PartFault {
			continue
		}
		for _, hazard := range hazards {
			of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Strike.hazard() != hazard })
			if len(of) > 0 {
				list = append(list, b.hintGain(base, part, hazard, of))
			}
		}
	}
	return list
}

func (b *bench) hintGain(base *bench, part, hazard string, rows []Row) HintGain {
	_, byInstance := partition(base.rows, func(r *Row) string { return r.Grade.Instance })
	c := compare(unitsOf(rows, func(r *Row) []Row { return byInstance[r.Grade.Instance] }), b.options,
		b.names("hint", part, hazard))
	h := HintGain{
		Subject: b.subject, Style: b.style, Base: base.subject.Arm, Part: part, Hazard: hazard, Instances: len(c.units),
		Tasks:    c.tasks,
		BaseRate: c.base, Rate: c.rate, Gain: c.difference, CI95: c.ci, Method: c.method, Won: c.won, Regressions: c.lost,
		Test: c.discordants, ExtraCost: c.extraCost,
	}
	for i := range rows {
		h.Valid += one(rows[i].Grade.Valid)
		h.Hinted += one(rows[i].Grade.Valid && rows[i].Grade.Hints > 0)
	}
	return h
}

// volume gives success under faults against calls made and against failpoints.
func (b *bench) volume() []Volume {
	type key struct {
		against string
		order   int
	}
	groups := map[key][]Row{}
	for i := range b.parts[PartFault] {
		r := &b.parts[PartFault][i]
		for _, k := range []key{{AgainstCalls, bits.Len(uint(max(r.Grade.Calls-1, 0))) + one(r.Grade.Calls > 0)},
			{AgainstFailpoints, r.Strike.Points}} {
			groups[k] = append(groups[k], *r)
		}
	}
	keys := slices.SortedFunc(maps.Keys(groups), func(x, y key) int {
		return cmp.Or(cmp.Compare(x.against, y.against), cmp.Compare(x.order, y.order))
	})
	var list []Volume
	for _, k := range keys {
		value := strconv.Itoa(k.order)
		if k.against == AgainstCalls {
			value = callsBucket(k.order)
		}
		list = append(list, b.volumeOf(Volume{Subject: b.subject, Against: k.against, Value: value}, groups[k]))
	}
	return list
}

// callsBucket names the n-th bucket of calls: 0, 1, 2, 3–4, 5–8, …, each as wide as all before it but the first.
func callsBucket(n int) string {
	if n <= 2 {
		return strconv.Itoa(n)
	}
	return strconv.Itoa(1<<(n-2)+1) + "–" + strconv.Itoa(1<<(n-1))
}

func (b *bench) volumeOf(v Volume, rows []Row) Volume {
	v.Style = b.style
	s := summarise(rows, b.options, b.names(v.Arm, v.Against, v.Value))
	v.Valid, v.Successes, v.Rate, v.CI95, v.Method = s.Valid, s.Successes, s.Rate, s.CI95, s.Method
	for i := range rows {
		g := &rows[i].Grade
		v.OutOfBudget += one(g.Outcome == grade.OutcomeOutOfBudget)
		switch r := g.Reaction; {
		case !g.Valid || r == nil:
		case r.Acted():
			v.Acted++
			v.ActedSuccesses += one(g.Success)
		default:
			v.Passive++
			v.PassiveSuccesses += one(g.Success)
		}
	}
	v.Landed = v.Acted + v.Passive
	v.RecoveryRate = share(float64(v.ActedSuccesses+v.PassiveSuccesses), v.Landed)
	v.ActedRate, v.PassiveRate = share(float64(v.ActedSuccesses), v.Acted), share(float64(v.PassiveSuccesses), v.Passive)
	return v
}

// budgets gives success under faults against the scale of the budget, for subjects that have several.
func budgets(benches []*bench) []Volume {
	type scaled struct {
		*bench
		scale float64
	}
	type key struct{ style, run, agent, protocol, arm string }
	arms := map[key][]scaled{}
	var keys []key
	for _, b := range benches {
		a := armOf(b.subject.Arm)
		if a.Informed || len(b.parts[PartFault]) == 0 {
			continue
		}
		scale := a.Budget
		a.Budget = 0
		k := key{b.style, b.subject.Run, b.subject.Agent, b.subject.Protocol, a.String()}
		if arms[k] == nil {
			keys = append(keys, k)
		}
		arms[k] = append(arms[k], scaled{b, scale})
	}
	var list []Volume
	for _, k := range keys {
		if len(arms[k]) < 2 {
			continue
		}
		slices.SortStableFunc(arms[k], func(x, y scaled) int {
			return cmp.Compare(cmp.Or(x.scale, 1), cmp.Or(y.scale, 1))
		})
		for _, s := range arms[k] {
			value := "×" + strconv.FormatFloat(s.scale, 'g', -1, 64)
			if s.scale == 0 {
				value = "as it is"
			}
			subject := s.subject
			subject.Arm = k.arm
			list = append(list, s.volumeOf(Volume{Subject: subject, Against: AgainstBudget, Value: value}, s.parts[PartFault]))
		}
	}
	return list
}

// tactics compares the recovery policy without a tactic with the whole.
func (b *bench) tactics(benches []*bench) []Tactic {
	name, without := strings.CutPrefix(b.subject.Agent, recoverWithout)
	if !without {
		return nil
	}
	survivable := func(b *bench) []Row { return slices.Concat(b.parts[PartFault], b.parts[PartMirror]) }
	whole := b.beside(benches, policyRecover, b.subject.Arm)
	var wholeRows []Row
	if whole != nil {
		wholeRows = survivable(whole)
	}
	ofKind := func(r *Row) string { return r.Strike.kind() }
	kinds, byKind := partition(survivable(b), ofKind)
	_, wholeByKind := partition(wholeRows, ofKind)
	slices.SortFunc(kinds, compareKinds)
	all := b.tactic(name, "", survivable(b), wholeRows)
	list := []Tactic{all}
	for _, kind := range kinds {
		t := b.tactic(name, kind, byKind[kind], wholeByKind[kind])
		if t.Lost+t.Won > 0 {
			list = append(list, t)
			list[0].Kinds++
		} else {
			list[0].Unchanged++
		}
	}
	return list
}

func (b *bench) tactic(name, kind string, rows, whole []Row) Tactic {
	_, byInstance := partition(whole, func(r *Row) string { return r.Grade.Instance })
	t := Tactic{Subject: b.subject, Style: b.style, Tactic: name, Kind: kind}
	for _, u := range unitsOf(rows, func(r *Row) []Row { return byInstance[r.Grade.Instance] }) {
		first, second, ok := firstShared(u.base, u.rows)
		if !ok {
			continue
		}
		t.Instances++
		t.Lost += one(first && !second)
		t.Won += one(second && !first)
	}
	_, t.Whole = recovery(whole)
	t.Landed, t.Rate = recovery(rows)
	return t
}

// recovery gives the share of successes among the episodes in which a fault struck.
func recovery(rows []Row) (landed int, rate *float64) {
	recovered := 0
	for i := range rows {
		if g := &rows[i].Grade; g.Valid && g.Landed {
			landed++
			recovered += one(g.Success)
		}
	}
	return landed, share(float64(recovered), landed)
}
