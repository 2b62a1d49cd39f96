package proof

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/request"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/embedding"
	"golang.org/x/sync/errgroup"
)

// DefaultTimeout bounds a statement.
const DefaultTimeout = time.Minute

// Options say how a suite is verified.
type Options struct {
	Workers          int
	StatementTimeout time.Duration
	Progress         func(done, total, drifted int) // may be nil
}

// Outcome is what verifying a suite showed.
type Outcome struct {
	Suite        string  `json:"suite"`
	Certificates int     `json:"certificates"`
	Drift        []Drift `json:"drift"`
	Seconds      float64 `json:"seconds"`
}

// Drift is a certificate that does not hold any more.
type Drift struct {
	Instance string `json:"instance"`
	Message  string `json:"message"`
}

// Suite proves every task of a suite again, on the databases in its folder, and compares what it finds with the
// certificates: gold, plans, determinacy, neighbours, mutants and chance levels. It also checks that every example that
// was read is accounted for. A certificate that does not hold is drift, not an error.
func Suite(ctx context.Context, s *suite.Suite, o Options) (*Outcome, error) {
	out := &Outcome{Suite: s.Manifest.Digest, Certificates: len(s.Certificates), Drift: []Drift{}}
	v := &suiteVerifier{
		suite: s, options: o, total: len(s.Instances), drift: map[string]string{},
		instances: map[string]*suite.Instance{}, certificates: map[string]*suite.Certificate{},
		hopeless: map[int]*HopelessMade{}, ways: map[string]*FoundPaths{}, requests: map[int]*RequestMade{},
		toolkits: map[int]*ToolkitsMade{},
	}
	v.settleMade()
	worlds := NewWorlds(v.suite, 0)
	defer worlds.Close()
	v.stage = episode.NewStage(v.suite, worlds, environment.Limits{})
	v.faulty = NewFaultCertifier(v.stage)
	v.account()
	v.settings()
	if v.vectors != nil {
		v.stage.Embed(v.vectors)
	}
	byDatabase := map[string][]int{}
	var names []string
	for i, t := range s.Tasks {
		if t.Proof == task.ProofStatic {
			continue
		}
		if byDatabase[t.Database] == nil {
			names = append(names, t.Database)
		}
		byDatabase[t.Database] = append(byDatabase[t.Database], i)
	}
	slices.SortStableFunc(names, func(x, y string) int { return len(byDatabase[y]) - len(byDatabase[x]) })
	outer := ctx
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(o.Workers, 1))
	for _, name := range names {
		group.Go(func() error {
			if err := v.database(ctx, name, byDatabase[name]); err != nil {
				return fmt.Errorf("database %s: %w", name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		var limit *database.LimitError
		if errors.As(err, &limit) && limit.Kind == database.LimitTime {
			e := &diag.Error{Exit: diag.ExitFailed, Message: err.Error()}
			return nil, e.WithHint("raise --statement-timeout: a time limit never decides whether a certificate holds")
		}
		return nil, err
	}
	if err := v.static(outer); err != nil {
		return nil, err
	}
	if err := v.makeStatic(outer); err != nil {
		return nil, err
	}
	if err := v.conditions(outer); err != nil {
		return nil, err
	}
	for _, c := range s.Certificates {
		if message, drifted := v.drift[c.Instance]; drifted {
			out.Drift = append(out.Drift, Drift{Instance: c.Instance, Message: message})
			delete(v.drift, c.Instance)
		}
	}
	for _, key := range slices.Sorted(keysOf(v.drift)) {
		out.Drift = append(out.Drift, Drift{Instance: key, Message: v.drift[key]})
	}
	return out, nil
}

func keysOf[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

type suiteVerifier struct {
	suite   *suite.Suite
	options Options

	mu    sync.Mutex
	done  int
	total int
	drift map[string]string // by instance, or "suite" for what concerns it all

	instances    map[string]*suite.Instance    // the clean one, by task
	certificates map[string]*suite.Certificate // by instance
	bases        map[string]*suite.Instance    // all instances, by their ids

	vectors *embedding.Vectors // by which meanings were compared; nil for none
	scribe  *Scribe            // of the suite's writer; nil for none
	written []request.Written  // by it

	combinations [][]condition.Condition
	faults       [][]condition.Fault
	limit        int  // tasks under one combination of faults
	needPaths    bool // some fault needs to know every right way

	stage    *episode.Stage
	faulty   *FaultCertifier
	kinds    []string               // that nothing survives
	hopeless map[int]*HopelessMade  // by the position of the task
	ways     map[string]*FoundPaths // by task
	requests map[int]*RequestMade   // under conditions of the request, by the position of the task
	toolkits map[int]*ToolkitsMade  // under conditions whose toolkits are chosen, by the position of the task
	twins    []*suite.Twin          // that were found again
}

func (v *suiteVerifier) report(instance, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.drift[instance]; !known {
		v.drift[instance] = fmt.Sprintf(format, args...)
	}
}

func (v *suiteVerifier) step() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.done++
	if v.options.Progress != nil {
		v.options.Progress(v.done, v.total, len(v.drift))
	}
}

// account checks that nothing was dropped in silence, and that every instance has a task and a certificate.
func (v *suiteVerifier) account() {
	if made := v.suite.Manifest.Generator; made != suite.Generator {
		v.report("suite", "it was made by %s and this is %s: neighbours and mutants may differ", made, suite.Generator)
	}
	c := v.suite.Manifest.Counts
	read := 0
	for _, corpus := range v.suite.Manifest.Corpora {
		read += corpus.Examples
	}
	for _, style := range slices.Sorted(keysOf(c.Styles)) {
		v.accountStyle(style, c.Styles[style], read)
	}
	if c.Read != read || c.Published+c.Rejected != read || len(v.suite.Tasks) != c.Tasks {
		v.report("suite", "%d examples were read, and %d are counted as published and %d as rejected; %d of %d tasks stand in it",
			read, c.Published, c.Rejected, len(v.suite.Tasks), c.Tasks)
	}
	v.accountInstances()
	v.pair()
}

// accountInstances checks what is counted of instances under conditions.
func (v *suiteVerifier) accountInstances() {
	certified, refused := map[string]int{}, map[string]int{}
	for _, in := range v.suite.Instances {
		certified[strings.TrimPrefix(in.ID, in.Task+"/")]++
	}
	for _, r := range v.suite.Rejected {
		if r.What == "instance" {
			refused[r.ID[strings.LastIndexByte(r.ID, '/')+1:]]++
		}
	}
	counts := v.suite.Manifest.Counts.Instances
	for _, name := range slices.Sorted(keysOf(counts)) {
		c := counts[name]
		if c.Certified != certified[name] || c.Made != certified[name] || c.Refused != refused[name] {
			v.report("suite", "under %s, %d instances are counted as certified and %d as refused; %d and %d stand in it",
				name, c.Certified, c.Refused, certified[name], refused[name])
		}
	}
}

// accountStyle checks that every example that was read is a task of the style or rejected in it.
func (v *suiteVerifier) accountStyle(style string, c *suite.Counts, read int) {
	published, variants, rejected := 0, 0, 0
	for _, t := range v.suite.Tasks {
		switch {
		case t.Style != style:
		case t.Variant == "":
			published++
		default:
			variants++
		}
	}
	for _, r := range v.suite.Rejected {
		if r.What == "example" && (r.Style == "" || r.Style == style) {
			rejected++
		}
	}
	if published+rejected != read {
		v.report("suite", "in the style %s, %d examples were read, %d published and %d rejected", style, read, published,
			rejected)
	}
	if published != c.Published || variants != c.Variants || published+variants != c.Tasks {
		v.report("suite", "in the style %s, %d tasks (%d of them variants) are counted and %d (%d) stand in it",
			style, c.Tasks, c.Variants, published+variants, variants)
	}
}

// pair finds the clean instance and the certificate of every task.
func (v *suiteVerifier) pair() {
	tasks := v.suite.Index()
	for _, c := range v.suite.Certificates {
		if v.certificates[c.Instance] != nil {
			v.report(c.Instance, "there are two certificates")
		}
		v.certificates[c.Instance] = c
	}
	made := map[string]bool{}
	v.bases = make(map[string]*suite.Instance, len(v.suite.Instances))
	for _, in := range v.suite.Instances {
		made[in.ID], v.bases[in.ID] = true, in
		switch {
		case tasks[in.Task] == nil:
			v.report(in.ID, "there is no task %s", in.Task)
		case isClean(in) && v.instances[in.Task] != nil:
			v.report(in.ID, "task %s has another clean instance, %s", in.Task, v.instances[in.Task].ID)
		case v.certificates[in.ID] == nil:
			v.report(in.ID, "there is no certificate")
		}
		if isClean(in) && v.instances[in.Task] == nil {
			v.instances[in.Task] = in
		}
	}
	for _, c := range v.suite.Certificates {
		if !made[c.Instance] {
			v.report(c.Instance, "the certificate is of no instance")
		}
	}
	for _, t := range v.suite.Tasks {
		if v.instances[t.ID] == nil {
			v.report(t.ID, "the task has no clean instance")
		}
	}
}

// isClean says whether an instance is a task as it is, under no condition.
func isClean(in *suite.Instance) bool {
	return in.Role == condition.RoleClean && len(in.Conditions) == 0
}

// conditions derives the instances under conditions again, plays their plans with what they show, and compares.
func (v *suiteVerifier) conditions(ctx context.Context) error {
	for _, t := range v.suite.Tasks {
		if v.instances[t.ID] == nil {
			return nil // which is reported: nothing can be derived from it
		}
	}
	differences, dropped, err := instances.Compare(v.suite, v.combinations, v.faults,
		instances.FaultOptions{Limit: v.limit, Workers: v.options.Workers})
	if err != nil {
		v.report("suite", "its instances cannot be derived again: %v", err)
		return nil
	}
	for _, d := range differences {
		v.report(d.ID, "%s", d.Message)
	}
	v.compareHopeless()
	v.compareToolkits()
	v.compareTwins()
	v.compareRequests()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(v.options.Workers, 1))
	for _, in := range v.suite.Instances {
		was := v.certificates[in.ID]
		if isClean(in) || was == nil || instances.OfHopeless(in) || instances.OfRequest.Holds(in) ||
			instances.OfChoice.Holds(in) {
			continue
		}
		group.Go(func() error {
			found, reason, err := v.certify(ctx, in)
			if err != nil {
				return fmt.Errorf("instance %s: %w", in.ID, err)
			}
			v.step()
			if reason != "" {
				v.report(in.ID, "%s", reason)
				return nil
			}
			a, err := task.Marshal(was)
			if err != nil {
				return err
			}
			b, err := task.Marshal(found)
			if err == nil && string(a) != string(b) {
				v.report(in.ID, "the certificate was %s and is %s", shorten(a), shorten(b))
			}
			return err
		})
	}
	reasons := map[string]string{}
	for _, r := range v.suite.Rejected {
		reasons[r.ID] = r.Reason
	}
	out := map[string]bool{}
	for _, in := range dropped {
		out[in.ID] = true
	}
	for _, in := range v.suite.Instances {
		if isFaulted(in) && out[instances.FaultOf(in)] {
			v.report(in.ID, "the instance stands in the suite, and the fault that it is a variant of is refused")
		}
	}
	for _, in := range dropped {
		if reasons[in.ID] == ReasonAlone {
			if !out[instances.FaultOf(in)] {
				v.report(in.ID, "the instance is refused as %s, and the fault is certified", ReasonAlone)
			}
			continue
		}
		group.Go(func() error {
			_, reason, err := v.certify(ctx, in)
			switch {
			case err != nil:
				return fmt.Errorf("instance %s: %w", in.ID, err)
			case reason == "":
				v.report(in.ID, "the suite refuses the instance as %s, and its certificate holds", reasons[in.ID])
			case isFaulted(in) && !strings.HasPrefix(reason, reasons[in.ID]+": "):
				v.report(in.ID, "the instance is refused as %s, not as %s", reason, reasons[in.ID])
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return v.transcripts()
}

// settings reads what the suite was built with.
func (v *suiteVerifier) settings() {
	settings := v.suite.Manifest.Settings
	list := func(name string) []string {
		if settings[name] == "" {
			return nil
		}
		return strings.Split(settings[name], ",")
	}
	var errs [3]error
	if v.suite.Manifest.Counts.Static > 0 {
		v.combinations, errs[0] = condition.ParseAsked(list(SettingCondition))
	} else {
		v.combinations, errs[0] = condition.ParseCombinations(list(SettingCondition))
	}
	v.faults, errs[1] = condition.ParseFaults(list(SettingFault))
	if len(v.faults) > 0 {
		v.limit, errs[2] = strconv.Atoi(settings[SettingFaultLimit])
	}
	if err := errors.Join(errs[:]...); err != nil {
		v.report("suite", "its settings cannot be read: %v", err)
	}
	v.needPaths = condition.NeedPaths(v.faults) || condition.ChoiceNeedsPaths(v.combinations)
	v.kinds = instances.HopelessKinds(v.faults)
	v.readTexts()
}

// readTexts makes ready what the suite keeps of those who wrote and compared texts, so that nobody has to be asked.
func (v *suiteVerifier) readTexts() {
	settings := v.suite.Manifest.Settings
	if name := settings[SettingEmbeddings]; name != "" {
		records := make([]embedding.Record, len(v.suite.Vectors))
		for i, r := range v.suite.Vectors {
			records[i] = *r
		}
		var err error
		if v.vectors, err = embedding.New(name, records, nil); err != nil {
			v.report("suite", "%v", err)
		}
	}
	if name := settings[SettingWriter]; name != "" {
		var written []request.Written
		for i, line := range v.suite.Written {
			w, ofRequest, err := request.ReadWritten(*line)
			if err != nil {
				v.report("suite", "%s, line %d: %v", suite.FileWritten, i+1, err)
			} else if ofRequest {
				written = append(written, w)
			}
		}
		v.scribe = NewScribe(name, written, nil, v.vectors)
		v.written = written
	}
}

// certify certifies an instance again, as its conditions want it. A request of whose words the suite has no vector,
// where tools are found by their meaning, is one that nobody certified.
func (v *suiteVerifier) certify(ctx context.Context, in *suite.Instance) (*suite.Certificate, string, error) {
	cert, reason, err := v.certifyAgain(ctx, in)
	var missing *embedding.MissingError
	if errors.As(err, &missing) {
		return nil, missing.Error(), nil
	}
	return cert, reason, err
}

func (v *suiteVerifier) certifyAgain(ctx context.Context, in *suite.Instance) (*suite.Certificate, string, error) {
	if !isFaulted(in) {
		return Certify(ctx, v.stage, in)
	}
	certified, err := v.faulty.Certify(ctx, in, v.bases[instances.Base(in)])
	if err != nil || certified.Reason != "" {
		return nil, certifiedReason(certified), err
	}
	return certified.Certificate, "", nil
}

func isFaulted(in *suite.Instance) bool {
	return slices.ContainsFunc(in.Conditions, condition.Condition.OfEnvironment)
}

func certifiedReason(c *Certified) string {
	if c == nil {
		return ""
	}
	return c.Reason + ": " + c.Message
}

// transcripts compares the transcripts that the suite holds with the digests that the certificates give of them.
func (v *suiteVerifier) transcripts() error {
	missing := map[[2]string]bool{}
	for _, c := range v.suite.Certificates {
		if c.Fault != nil {
			for policy := range c.Transcript {
				missing[[2]string{c.Instance, policy}] = true
			}
		}
	}
	err := v.suite.Played(func(p *suite.Played) error {
		key := [2]string{p.Instance, p.Policy}
		if !missing[key] {
			v.report(p.Instance, "the transcript of %s is of no certificate, or stands in the suite twice", p.Policy)
			return nil
		}
		delete(missing, key)
		var text []byte
		for _, line := range p.Lines {
			text = append(append(text, line...), '\n')
		}
		record, err := transcript.Decode(text)
		if err != nil {
			v.report(p.Instance, "the transcript of %s cannot be read: %v", p.Policy, err)
			return nil
		}
		digest, err := record.Digest()
		if err == nil && digest != v.certificates[p.Instance].Transcript[p.Policy] {
			v.report(p.Instance, "the transcript of %s is not the one that the certificate speaks of", p.Policy)
		}
		return err
	})
	var corrupt *suite.CorruptError
	if errors.As(err, &corrupt) {
		v.report("suite", "its transcripts cannot be read: %v", err)
		return nil
	}
	for key := range missing {
		v.report(key[0], "the transcript of %s is missing", key[1])
	}
	return err
}

// Settings of a suite that say what its tasks were put under: combinations of conditions and of faults, parted by
// commas, and how many tasks a combination of faults was placed on at most.
const (
	SettingCondition  = "condition"
	SettingWriter     = "writer"     // PROVIDER/NAME
	SettingEmbeddings = "embeddings" // the name of the model that compares texts by meaning
	SettingFault      = "fault"
	SettingFaultLimit = "fault_limit"
)

// database proves the tasks of one database again.
func (v *suiteVerifier) database(ctx context.Context, name string, tasks []int) error {
	path, err := v.suite.DatabasePath(name)
	if err != nil {
		return err
	}
	w, err := database.Open(path, database.Options{Timeout: v.options.StatementTimeout, Rows: MaxRows})
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }() // read-only: nothing can be lost
	sch, err := w.Schema(ctx)
	if err != nil {
		return err
	}
	sch.Name = name
	recipe := recipeOf(v.suite, name)
	if recipe == nil {
		v.report("suite", "the neighbours of %s have no recipe", name)
		return nil
	}
	queries, err := parseAll(recipe.SQL, sch)
	if err != nil {
		return err
	}
	examiner, err := NewExaminer(ctx, w, v.suite.Manifest.Seed)
	if err != nil {
		return err
	}
	defer examiner.Close()
	var tools []*task.Tool
	for _, style := range slices.Sorted(keysOf(v.suite.Tools)) {
		for _, t := range v.suite.Tools[style] {
			if t.Database == name || t.Database == "" {
				tools = append(tools, t)
			}
		}
	}
	var sources []*task.Source
	for _, table := range v.suite.Sources {
		if table.Database == name {
			sources = append(sources, table)
		}
	}
	prover, err := NewProver(ctx, ProverConfig{
		Database: name, World: w, Schema: sch, Tools: tools, Sources: sources, Recipe: queries, Seed: recipe.Seed,
		Neighbours:  recipe.Neighbours,
		LongestGold: v.longest(tasks),
	})
	if err != nil {
		return err
	}
	defer prover.Close()
	for _, i := range tasks {
		if err := v.task(ctx, examiner, prover, i); err != nil {
			return fmt.Errorf("task %s: %w", v.suite.Tasks[i].ID, err)
		}
		v.step()
	}
	if len(v.kinds) > 0 {
		if err := v.makeHopeless(ctx, w, sch, tools, tasks); err != nil {
			return err
		}
	}
	if err := v.makeToolkits(ctx, w, sch, tools, tasks); err != nil {
		return err
	}
	return v.makeRequests(ctx, w, name, tasks)
}

// longest gives the number of rows of the longest gold.
func (v *suiteVerifier) longest(tasks []int) int {
	n := 0
	for _, i := range tasks {
		n = max(n, v.suite.Tasks[i].Gold.Longest())
	}
	return n
}

// task proves one task again and compares.
func (v *suiteVerifier) task(ctx context.Context, x *Examiner, p *Prover, i int) error {
	t := v.suite.Tasks[i]
	in := v.instances[t.ID]
	if in == nil || v.certificates[in.ID] == nil {
		return nil // reported with the account
	}
	cert := v.certificates[in.ID]
	if primary := t.Plan(in.Primary); primary == nil || primary.Workflow != in.Workflow {
		v.report(in.ID, "the task has no %s plan with a %s workflow", in.Primary, in.Workflow)
		return nil
	}
	q, err := sqlast.Parse(t.SQL, p.config.Schema)
	if err != nil {
		v.report(in.ID, "the SQL cannot be read: %v", err)
		return nil
	}
	columns := Columns(q) // what gold says of its columns is a claim, too
	found, err := x.Examine(ctx, q, columns)
	if err != nil {
		return err
	}
	if found.Reason != "" {
		v.report(in.ID, "%s: %s", found.Reason, found.Message)
		return nil
	}
	claim := &Claim{
		Style: t.Style, Query: q, Columns: columns, Plans: t.Plans, Literals: t.Literals, Starts: t.Starts, Finding: found,
	}
	proof, err := p.Prove(ctx, claim)
	if err != nil {
		return err
	}
	if proof.Reason != "" {
		v.report(in.ID, "%s: %s", proof.Reason, proof.Message)
		return nil
	}
	proof.Certificate.Instance = in.ID
	paths := &FoundPaths{}
	if v.needPaths && HasPaths(t.Style) {
		if paths, err = p.Paths(ctx, claim, proof); err != nil {
			return err
		}
		v.mu.Lock()
		v.ways[t.ID] = paths
		v.mu.Unlock()
	}
	for _, c := range []struct {
		what       string
		was, found any
	}{
		{"gold", &t.Gold, &proof.Gold},
		{"the plans", t.Plans, proof.Plans},
		{"the list of other right ways", t.Paths, paths.Paths},
		{"the chance level", t.Chance, proof.Chance},
		{"the certificate", cert, &proof.Certificate},
	} {
		was, err := task.Marshal(c.was)
		if err != nil {
			return err
		}
		found, err := task.Marshal(c.found)
		if err != nil {
			return err
		}
		if string(was) != string(found) {
			v.report(in.ID, "%s was %s and is %s", c.what, shorten(was), shorten(found))
			return nil
		}
	}
	return nil
}

// Columns gives the columns of a query's result under the names that the query itself gives them.
func Columns(q *sqlast.Query) []task.Column {
	output := q.Output(q.Stmt)
	names := make([]string, len(output))
	for i, c := range output {
		names[i] = c.Name
	}
	columns := make([]task.Column, len(output))
	for i, name := range task.UniqueNames(names) {
		c := output[i]
		columns[i] = task.Column{Name: name, Type: c.Type, Computed: c.Computed, Table: c.Table, Column: c.Column}
	}
	return columns
}

func shorten(text []byte) string {
	const most = 200
	if len(text) <= most {
		return string(text)
	}
	return string(text[:most]) + "…"
}
