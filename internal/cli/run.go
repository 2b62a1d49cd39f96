package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runOptions are the flags of `run`. Those in settings() decide what is run; the others only how.
type runOptions struct {
	suite       string
	location    string // where the suite is, if no longer where it was
	out         string
	agents      []string
	models      []string
	protocols   []string
	style       string
	split       string
	conditions  []string
	limit       int
	trials      int
	seed        uint64
	temperature string
	maxTokens   int
	loops       int
	budget      task.Budget
	neighbours  int
	evidence    string
	handles     string
	baseURL     string
	extra       []string
	labels      []string // KEY=VALUE, for reports
	scaling     scaling
	judging     judging

	tables        []string // printed in place of the report
	workers       int
	concurrency   int
	rates         model.Rates
	maxCost       float64
	prices        string
	record        string
	replay        string
	timeout       time.Duration
	attempts      int
	plainHistory  bool
	embeddingsURL string // of the server that makes vectors of what agents search for
	code          codeOptions
	command       commandOptions
}

// What becomes of a task's evidence.
const (
	evidenceShown  = "shown"
	evidenceHidden = "hidden"
)

func (a *app) runCommand() *cobra.Command {
	o := runOptions{}
	cmd := &cobra.Command{
		Use:   "run SUITE --agent POLICY | --model PROVIDER/NAME",
		Short: "Run agents on a suite, each episode kept as soon as it has ended",
		Long: "Runs reference policies, or models under a protocol, on every instance of a suite. The run is one SQLite file.\n\n" +
			"Policies:\n" + policyHelp() + commandHelp + "\nProtocols:\n" + protocolHelp() +
			"\nKeys are read from OPENAI_API_KEY and ANTHROPIC_API_KEY. Any OpenAI-compatible server: --base-url http://127.0.0.1:8000/v1.",
		Args: oneArgument("SUITE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.suite = args[0]
			return a.run(cmd.Context(), &o, false)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "file of the run")
	f.StringArrayVar(&o.agents, "agent", nil,
		"reference policy (`NAME`), or a command as 'cmd: python my_agent.py' or 'mcp: CLIENT {config} {request}'; may be given several times")
	f.StringArrayVar(&o.models, "model", nil, "model as PROVIDER/NAME (openai, anthropic); may be given several times")
	f.StringSliceVar(&o.protocols, "protocol", []string{"tools"}, "protocols for models")
	f.StringVar(&o.style, "style", "", "only tasks of that style")
	f.StringVar(&o.split, "split", "", "only tasks of that side: validation or test")
	f.StringArrayVar(&o.conditions, "condition", nil,
		"only instances under the condition or fault `NAME`: clean, obfuscate, fault:exec.timeout, fault:*; may be given several times")
	f.IntVar(&o.limit, "limit", 0, "only the first instances; 0 runs all")
	f.IntVar(&o.trials, "trials", 1, "episodes of each instance and agent")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the policies' draws and of sampling, where the provider takes one")
	f.StringVar(&o.temperature, "temperature", "0", "sampling temperature; default leaves it to the provider")
	f.IntVar(&o.maxTokens, "max-tokens", 0, "longest reply in tokens; 0 leaves it to the provider")
	f.IntVar(&o.loops, "loops", 0, "replies in an episode; 0 takes the protocol's own number: 10 (codeact 15), and 30 where tools have to be found")
	f.IntVar(&o.budget.Turns, "max-turns", 0, "budget of turns of an episode; 0 is none")
	f.IntVar(&o.budget.Calls, "max-calls", 0, "budget of tool calls of an episode; 0 is none")
	f.IntVar(&o.budget.Tokens, "token-budget", 0, "budget of tokens of an episode, in and out; 0 is none")
	f.Float64Var(&o.budget.WallSeconds, "wall", 0,
		"budget of seconds of an episode; 0 is none, and ten minutes for commands")
	f.IntVar(&o.neighbours, "neighbours", 2,
		"neighbours on which each call is repeated, so that grading can tell arguments apart")
	f.StringVar(&o.evidence, "evidence", evidenceShown,
		"what the corpus says for a person to understand a question: "+evidenceShown+" or "+evidenceHidden)
	f.StringVar(&o.handles, "handles", environment.HandlesReference,
		"what agents see of a data handle: "+environment.HandlesReference+
			", or "+environment.HandlesPreview+" for keys, row count and first rows")
	f.StringVar(&o.baseURL, "base-url", "", "address of an OpenAI- or Anthropic-compatible server")
	f.StringArrayVar(&o.extra, "extra", nil, "FIELD=JSON to set in every request, in the provider's own form")
	f.StringArrayVar(&o.labels, "label", nil,
		"KEY=VALUE that tables name the run by, as size=7B; may be given several times")
	o.scaling.flags(cmd)
	o.judging.flags(cmd)
	o.command.flags(f)
	a.howFlags(cmd, &o)
	return cmd
}

// howFlags are those that do not decide what is run.
func (a *app) howFlags(cmd *cobra.Command, o *runOptions) {
	workersFlag(cmd, &o.workers)
	o.judging.judgeFlag(cmd)
	cmd.Flags().StringVar(&o.embeddingsURL, "embeddings-url", "",
		"address of the server that makes vectors of what agents search for, where tools are found by their meaning")
	o.code.flags(cmd.Flags())
	o.providerFlags(cmd.Flags())
}

// providerFlags say how models are reached.
func (o *runOptions) providerFlags(f *pflag.FlagSet) {
	f.IntVar(&o.concurrency, "concurrency", 8, "episodes of models side by side")
	f.IntVar(&o.rates.RequestsPerMinute, "rpm", 0, "requests a minute to the provider; 0 is no limit")
	f.IntVar(&o.rates.TokensPerMinute, "tpm", 0, "tokens a minute to the provider; 0 is no limit")
	f.Float64Var(&o.maxCost, "max-cost", 0, "stop before this is spent, in US dollars; 0 is no limit")
	f.StringVar(&o.prices, "prices", "", "YAML file of prices, for costs and --max-cost")
	f.StringVar(&o.record, "record", "", "file in which every exchange with a provider is recorded")
	f.StringVar(&o.replay, "replay", "", "file of recorded exchanges to answer from, offline")
	f.DurationVar(&o.timeout, "timeout", 5*time.Minute, "longest wait for one reply")
	f.IntVar(&o.attempts, "attempts", 0, "tries of one request; 0 takes the default")
	f.BoolVar(&o.plainHistory, "plain-history", false,
		"send earlier replies as text and calls alone, for servers that refuse more")
}

func policyHelp() string {
	var b strings.Builder
	for _, p := range policy.List() {
		fmt.Fprintf(&b, "  %-15s %s\n", p.Name, p.Description)
	}
	fmt.Fprintf(&b, "  %-15s %s\n", protocol.HumanName,
		"a person at the terminal: judges (yes, no), calls, answers or declines, one episode at a time")
	return b.String()
}

func protocolHelp() string {
	var b strings.Builder
	for _, p := range protocol.List() {
		fmt.Fprintf(&b, "  %-15s %s\n", p.Name, p.Description)
	}
	return b.String()
}

// settings lists what decides the content of a run, flag by flag.
func (o *runOptions) settings() map[string]string {
	list := func(s []string) string { return strings.Join(s, ",") }
	policies, commands := commandsOf(o.agents)
	settings := map[string]string{
		"suite": o.suite, "agent": list(policies), "model": list(o.models), "protocol": list(o.protocols), "style": o.style,
		"split": o.split, "limit": strconv.Itoa(o.limit), "trials": strconv.Itoa(o.trials), "seed": strconv.FormatUint(o.seed,
			10),
		"temperature": o.temperature, "max_tokens": strconv.Itoa(o.maxTokens), "loops": strconv.Itoa(o.loops),
		"max_turns": strconv.Itoa(o.budget.Turns),
		"max_calls": strconv.Itoa(o.budget.Calls), "token_budget": strconv.Itoa(o.budget.Tokens),
		"wall": strconv.FormatFloat(o.budget.WallSeconds, 'g', -1, 64), "neighbours": strconv.Itoa(o.neighbours),
		"condition": list(o.conditions), "evidence": o.evidence, "handles": o.handles, "base_url": o.baseURL,
		"extra": strings.Join(o.extra, "\n"),
	}
	o.scaling.settings(settings)
	o.judging.settings(settings)
	o.command.settings(settings, commands)
	o.code.settings(settings)
	if len(o.labels) > 0 {
		settings[settingLabels] = list(o.labels)
	}
	return settings
}

// restore is the inverse of settings.
func (o *runOptions) restore(s map[string]string) error {
	split := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, ",")
	}
	o.suite, o.agents, o.models, o.protocols = s["suite"], split(s["agent"]), split(s["model"]), split(s["protocol"])
	o.conditions, o.labels = split(s["condition"]), split(s[settingLabels])
	o.scaling.restore(s)
	o.judging.restore(s)
	o.agents = append(o.agents, o.command.restore(s)...)
	o.code.restore(s)
	o.style, o.split, o.temperature, o.baseURL = s["style"], s["split"], s["temperature"], s["base_url"]
	o.evidence, o.handles = cmp.Or(s["evidence"], evidenceShown), cmp.Or(s["handles"], environment.HandlesReference)
	if s["extra"] != "" {
		o.extra = strings.Split(s["extra"], "\n")
	}
	var errs []error
	number := func(name string, into *int) {
		n, err := strconv.Atoi(s[name])
		*into = n
		errs = append(errs, err)
	}
	number("limit", &o.limit)
	number("trials", &o.trials)
	number("max_tokens", &o.maxTokens)
	number("loops", &o.loops)
	number("max_turns", &o.budget.Turns)
	number("max_calls", &o.budget.Calls)
	number("token_budget", &o.budget.Tokens)
	number("neighbours", &o.neighbours)
	var err error
	o.seed, err = strconv.ParseUint(s["seed"], 10, 64)
	errs = append(errs, err)
	o.budget.WallSeconds, err = strconv.ParseFloat(s["wall"], 64)
	return errors.Join(append(errs, err)...)
}

func (o *runOptions) check() error {
	switch {
	case len(o.agents)+len(o.models) == 0:
		return diag.Usagef("no agent is given").WithHint("--agent gold, or --model openai/NAME")
	case o.out == "":
		return diag.Usagef("no file for the run is given").WithHint("--out out/run")
	case o.trials < 1:
		return diag.Usagef("--trials %d: at least one is needed", o.trials)
	case o.limit < 0:
		return diag.Usagef("--limit %d is negative", o.limit)
	case o.concurrency < 1:
		return diag.Usagef("--concurrency %d: at least one is needed", o.concurrency)
	case o.neighbours < 0:
		return diag.Usagef("--neighbours %d is negative", o.neighbours)
	case o.budget.Turns < 0 || o.budget.Calls < 0 || o.budget.Tokens < 0 || !(o.budget.WallSeconds >= 0):
		return diag.Usagef("a budget is negative, or no number")
	case o.record != "" && o.replay != "":
		return diag.Usagef("--record and --replay exclude each other")
	case o.evidence != evidenceShown && o.evidence != evidenceHidden:
		return diag.Unknown("way with evidence", o.evidence, []string{evidenceShown, evidenceHidden})
	case o.handles != environment.HandlesReference && o.handles != environment.HandlesPreview:
		return diag.Unknown("way to show data handles", o.handles, []string{environment.HandlesReference,
			environment.HandlesPreview})
	case o.split != "" && o.split != task.SplitValidation && o.split != task.SplitTest:
		return diag.Unknown("split", o.split, []string{task.SplitValidation, task.SplitTest})
	}
	for _, n := range []struct {
		flag  string
		value float64
	}{
		{"rpm", float64(o.rates.RequestsPerMinute)}, {"tpm", float64(o.rates.TokensPerMinute)}, {"max-cost", o.maxCost},
		{"attempts", float64(o.attempts)}, {"loops", float64(o.loops)}, {"max-tokens", float64(o.maxTokens)},
	} {
		if !(n.value >= 0) { // neither is NaN
			return diag.Usagef("--%s %g is negative, or no number", n.flag, n.value)
		}
	}
	if o.timeout <= 0 {
		return diag.Usagef("--timeout %s: must be above 0", o.timeout)
	}
	if o.maxCost > 0 && o.prices == "" && o.replay == "" {
		return diag.Usagef("--max-cost needs to know what models cost").WithHint("--prices FILE")
	}
	if _, err := labelsOf(o.labels); err != nil {
		return err
	}
	if err := o.scaling.check(o.agents); err != nil {
		return err
	}
	_, commands := commandsOf(o.agents)
	if err := o.command.check(commands); err != nil {
		return err
	}
	if err := o.judging.check(o); err != nil {
		return err
	}
	for _, list := range [][]string{o.agents, o.models, o.protocols} {
		for i, name := range list {
			if slices.Contains(list[:i], name) {
				return diag.Usagef("%s is given twice", name).WithHint("--trials 2 runs each episode twice")
			}
		}
	}
	var protocols []string
	for _, p := range protocol.List() {
		protocols = append(protocols, p.Name)
	}
	for _, name := range o.protocols {
		if !slices.Contains(protocols, name) {
			return diag.Unknown("protocol", name, protocols)
		}
	}
	return checkWorkers(o.workers)
}

// shown says what agents are shown of a task.
func (o *runOptions) shown() episode.Shown {
	return episode.Shown{HideEvidence: o.evidence == evidenceHidden, Handles: o.handles}
}

// loadSuite reads a suite; what is wrong with it is the user's to mend.
func loadSuite(dir string) (*suite.Suite, error) {
	s, err := suite.Load(dir)
	var corrupt *suite.CorruptError
	var unreadable *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, diag.Usagef("%s is not a suite: it has no %s", dir,
			suite.FileManifest).WithHint("seatrial build --corpus demo --out %s", dir)
	case errors.As(err, &unreadable):
		return nil, diag.Usagef("the suite cannot be read: %v", unreadable)
	case errors.As(err, &corrupt):
		e := diag.Usagef("%s", corrupt.Message).At(corrupt.File, corrupt.Line, 0)
		return nil, e.WithHint("build the suite again: its files must not be changed")
	}
	return s, err
}

// specification names what an instance puts its task under, as its id does: clean, obfuscate, lookalike:exec.timeout.
func specification(in *suite.Instance) string {
	return strings.TrimPrefix(in.ID, in.Task+"/")
}

// matches says whether a pattern of --condition means an instance.
func matches(pattern, specification string) bool {
	matched, err := path.Match(pattern, specification)
	return matched && err == nil || pattern == specification
}

// inOrder writes a pattern of --condition as ids of instances write it: conditions and faults may be given in any
// order, and apply in that of the catalogue.
func inOrder(pattern string) string {
	variant, rest, struck := strings.Cut(pattern, ":")
	if combination, err := condition.ParseCombination(pattern); err == nil {
		return condition.Specification(combination)
	}
	if !struck {
		return pattern
	}
	var within, faults []string
	for part := range strings.SplitSeq(rest, "+") {
		if _, err := condition.Parse(part); err == nil {
			within = append(within, part)
		} else {
			faults = append(faults, part)
		}
	}
	combination, err := condition.ParseCombination(strings.Join(within, "+"))
	if err != nil {
		return pattern
	}
	return variant + ":" + strings.Join(append([]string{condition.Specification(combination)}, faults...), "+")
}

func (o *runOptions) instances(s *suite.Suite) ([]*suite.Instance, error) {
	tasks := s.Index()
	known := []string{condition.RoleClean}
	for _, in := range s.Instances {
		if under := specification(in); !slices.Contains(known, under) {
			known = append(known, under)
		}
	}
	asked := make([]string, len(o.conditions))
	for i, c := range o.conditions {
		asked[i] = inOrder(c)
		if !slices.ContainsFunc(known, func(k string) bool { return matches(asked[i], k) }) {
			// Faults that nothing survives are built like all others, and run under a role of their own.
			hopeless := condition.RoleHopeless + ":" + strings.TrimPrefix(c, condition.RoleFault+":")
			if slices.Contains(known, hopeless) {
				return nil, diag.Usagef("unknown condition %q", c).WithHint("did you mean %q?", hopeless)
			}
			return nil, diag.Unknown("condition", c, known)
		}
	}
	var list []*suite.Instance
	pairs := o.takesPairs(s)
	for _, in := range s.Instances {
		t := tasks[in.Task]
		if len(asked) > 0 && !slices.ContainsFunc(asked, func(c string) bool { return matches(c, specification(in)) }) {
			continue
		}
		if t == nil || o.split != "" && t.Split != o.split || o.style != "" && t.Style != o.style {
			continue
		}
		list = append(list, in)
		if len(list) == o.limit && !pairs {
			break
		}
	}
	if pairs && len(list) > 0 {
		return paired(s, list, o.limit)
	}
	if slices.Contains(o.protocols, protocol.SQL) && len(o.models) > 0 {
		for _, in := range list {
			if in.Role == condition.RoleHopeless || slices.ContainsFunc(in.Conditions, condition.Condition.OfEnvironment) {
				return nil, diag.Usagef("the protocol %s has no tools that could fail, and instance %s is under a fault", protocol.SQL,
					in.ID).
					WithHint("--condition clean, or another protocol")
			}
		}
	}
	if len(list) == 0 {
		return nil, diag.Usagef("no instance of %s is of style %q and split %q", s.Dir, o.style, o.split)
	}
	return list, nil
}

func (a *app) run(ctx context.Context, o *runOptions, resume bool) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	location := o.location
	if location == "" {
		location = o.suite
	}
	s, err := loadSuite(location)
	if err != nil {
		return err
	}
	instances, err := o.instances(s)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	fresh, instances, leftOut, err := a.openFresh(ctx, s, o.scaling.world, instances)
	if err != nil {
		return err
	}
	defer fresh.close()
	providers, done, err := a.providers(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	python, err := o.code.open(ctx, o.writesCode())
	if err != nil {
		return err
	}
	if python != nil {
		o.code.engine = python.Name()
		defer func() { err = errors.Join(err, python.Close()) }()
	}
	limits, err := o.code.bounds()
	if err != nil {
		return err
	}
	cast := &cast{app: a, o: o, suite: s, instances: instances, providers: providers, stop: stop, python: python,
		limits: limits}
	defer cast.close()
	participants, err := cast.participants()
	if err != nil {
		return err
	}
	workers := o.workers
	if slices.Contains(o.agents, protocol.HumanName) {
		workers = 1
	}
	settings := o.settings()
	if absolute, err := filepath.Abs(o.suite); err == nil {
		settings["suite"] = absolute
	}
	if len(leftOut) > 0 {
		settings[settingLeftOut] = proof.WriteLeftOut(leftOut)
	}
	meta := episode.Meta{Suite: s.Manifest.Digest, Settings: settings, Started: a.Now()}
	store, err := openStore(ctx, o.out, meta, resume)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	a.resumeHint = "seatrial resume " + o.out
	worlds := proof.NewWorlds(s, o.neighbours)
	defer worlds.Close()
	if cast.bench, err = a.openBench(ctx, o, s, worlds); err != nil {
		return err
	}
	if cast.bench != nil {
		defer func() { err = errors.Join(err, cast.bench.close()) }()
	}
	separator := proof.NewSeparator(s)
	defer separator.Close()
	m := a.meter()
	stage := episode.NewStage(s, fresh.or(worlds), environment.Limits{})
	stage.Show(o.shown())
	vectors, err := a.openSearchVectors(s, o)
	if err != nil {
		return err
	}
	if vectors != nil {
		stage.Embed(vectors)
		defer func() { err = errors.Join(err, vectors.close()) }()
	}
	r := &episode.Run{
		Stage: stage, Store: store, Instances: instances, Participants: participants,
		Trials: o.trials, Workers: workers, Concurrency: o.concurrency, Now: a.Now, Judge: judge(stage),
		Separate: fresh.settle(separator),
		Progress: func(p episode.Progress) {
			rest := fmt.Sprintf("%d invalid", p.Failed())
			if p.Usage.CostUSD > 0 {
				rest += fmt.Sprintf("  $%.2f", p.Usage.CostUSD)
			}
			m.show("run", p.Done, p.Total-p.Skipped, rest)
		},
	}
	progress, err := r.Execute(ctx)
	m.clear()
	var spending *model.SpendingError
	if errors.As(err, &spending) {
		return &diag.Error{
			Exit: diag.ExitFailed, Message: fmt.Sprintf("%s; %d of %d episodes are done", spending,
				progress.Skipped+progress.Done-progress.Failed(), progress.Total),
			Hint: a.resumeHint + " with a higher --max-cost",
		}
	}
	if err != nil {
		return err
	}
	if err := gradeStore(ctx, s, store); err != nil {
		return err
	}
	if progress.Done > 0 && progress.Invalid["provider"] == progress.Done {
		return &diag.Error{Exit: diag.ExitProvider, Message: fmt.Sprintf("the provider failed in all %d episodes",
			progress.Done), Hint: a.resumeHint}
	}
	if err := a.judgeExplanations(ctx, &explanations{suite: s, stage: stage, store: store, o: o,
		providers: providers}); err != nil {
		return err
	}
	if len(o.tables) > 0 {
		rows, err := rowsOf(ctx, s, store)
		if err == nil {
			err = a.printTables(o.tables, report.Input{Sets: []report.Set{setOf(o.out, s, rows, settings)}}, formatText)
		}
		if err != nil {
			return err
		}
	} else if err := a.summary(ctx, s, store, o.out); err != nil {
		return err
	}
	return a.ownFailures(ctx, store, progress)
}

// ownFailures is an error where every episode that was played ended for Seatrial's own reasons; fewer are named on the
// error stream.
func (a *app) ownFailures(ctx context.Context, store *episode.Store, progress episode.Progress) error {
	n := progress.Invalid[transcript.EndInternal]
	if n == 0 {
		return nil
	}
	message := fmt.Sprintf("%d of %d episodes failed for Seatrial's own reasons", n, progress.Done)
	enough := errors.New("found")
	err := store.Each(ctx, func(e *episode.Stored) error {
		if end := e.Transcript.End(); end != nil && end.End == transcript.EndInternal {
			message += fmt.Sprintf("; the first: %s: %s", e.Transcript.Header.Instance, end.Message)
			return enough
		}
		return nil
	})
	if err != nil && !errors.Is(err, enough) {
		return err
	}
	failure := &diag.Error{Exit: diag.ExitInternal, Message: message}
	if n < progress.Done {
		_, _ = io.WriteString(a.Err, diag.Render(failure)) // nobody is left to tell
		return nil
	}
	return failure
}

func openStore(ctx context.Context, path string, meta episode.Meta, resume bool) (*episode.Store, error) {
	var store *episode.Store
	var err error
	if resume {
		store, err = episode.Resume(ctx, path, meta)
	} else {
		store, err = episode.Create(ctx, path, meta)
	}
	return store, storeError(err, path)
}

// storeError says what to do about a run that cannot be opened.
func storeError(err error, path string) error {
	var exists *episode.ExistsError
	var format *episode.FormatError
	var mismatch *episode.MismatchError
	var locked *episode.LockedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exists):
		return diag.Usagef("%s", exists).WithHint("seatrial resume %s, or give another --out", path)
	case errors.As(err, &format):
		return diag.Usagef("%s", format)
	case errors.As(err, &mismatch):
		hint := "begin a new run with another --out"
		for _, d := range mismatch.Differences {
			if d.Name == settingCommand { // nothing that the two were told can be compared
				return diag.Usagef("%s was begun by `seatrial %s`", path, cmp.Or(d.Was, "run")).WithHint("%s", hint)
			}
		}
		if slices.ContainsFunc(mismatch.Differences, func(d episode.Difference) bool {
			return d.Name == settingFiles && d.Was == filesHidden && d.Is == filesOpen
		}) {
			hint = "go on where files can be hidden from commands (Linux with landlock), or " + hint
		}
		return diag.Usagef("%s", mismatch).WithHint("%s", hint)
	case errors.As(err, &locked):
		return diag.Usagef("%s", locked).WithHint("wait for the other process, or end it")
	case errors.Is(err, fs.ErrNotExist):
		return diag.Usagef("%s: there is no such run", path).WithHint("seatrial run SUITE --out %s", path)
	}
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		return diag.Usagef("%s is a folder, and a run is a file", path)
	}
	return err
}

// frugal ends the run when the spending limit is reached: what is left could only fail.
type frugal struct {
	episode.Agent
	stop context.CancelCauseFunc
}

// Close ends what the agent still runs.
func (f frugal) Close() error {
	if closer, ok := f.Agent.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

func (f frugal) Next(ctx context.Context, view *task.View, seen []task.Observation) (task.Turn, error) {
	turn, err := f.Agent.Next(ctx, view, seen)
	var spending *model.SpendingError
	if errors.As(err, &spending) {
		f.stop(spending)
	}
	return turn, err
}

func (a *app) modelOptions(o *runOptions) (model.Options, *model.Record, error) {
	options := model.Options{
		BaseURL: o.baseURL, Timeout: o.timeout, MaxCostUSD: o.maxCost, Meter: model.NewMeter(), PlainHistory: o.plainHistory,
		Retry: model.Retry{Attempts: o.attempts},
	}
	for _, field := range o.extra {
		name, value, ok := strings.Cut(field, "=")
		if !ok || !json.Valid([]byte(value)) {
			return options, nil, diag.Usagef("--extra %q is not FIELD=JSON", field)
		}
		if options.Extra == nil {
			options.Extra = map[string]json.RawMessage{}
		}
		options.Extra[name] = json.RawMessage(value)
	}
	if o.prices != "" {
		data, err := os.ReadFile(o.prices)
		if err != nil {
			return options, nil, diag.Usagef("the prices cannot be read: %v", err)
		}
		if options.Prices, err = model.ParsePrices(o.prices, data); err != nil {
			return options, nil, err
		}
	}
	var err error
	switch {
	case o.record != "":
		options.Record, err = model.OpenRecord(o.record)
	case o.replay != "":
		options.Record, err = model.OpenReplay(o.replay)
	}
	var unreadable *fs.PathError
	if errors.As(err, &unreadable) {
		err = diag.Usagef("the record cannot be opened: %v", unreadable)
	}
	return options, options.Record, err
}

func (a *app) resumeCommand() *cobra.Command {
	o := runOptions{}
	var suiteDir string
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run: what is missing, and what failed for the provider's or our own reasons",
		Long: "Goes on with a run that was interrupted, or in which episodes failed for the provider's or Seatrial's own reasons.\n" +
			"What was finished is not run again. The suite must be the one that the run was begun with, and so must be\n" +
			"everything else that decides what is run.",
		Args: oneArgument("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, err := episode.Open(cmd.Context(), args[0])
			if err != nil {
				return storeError(err, args[0])
			}
			meta := store.Meta()
			if err := store.Close(); err != nil {
				return err
			}
			if meta.Settings[settingCommand] == "serve" {
				return diag.Usagef("%s was served, and is gone on with by whoever acts in it", args[0]).
					WithHint("seatrial serve %s --out %s --http 127.0.0.1:8080", meta.Settings["suite"], args[0])
			}
			if err := o.restore(meta.Settings); err != nil {
				return fmt.Errorf("settings of %s: %w", args[0], err)
			}
			o.out = args[0]
			o.location = suiteDir
			return a.run(cmd.Context(), &o, true)
		},
	}
	a.howFlags(cmd, &o)
	cmd.Flags().StringVar(&suiteDir, "suite", "", "folder of the suite, where it is no longer where it was")
	return cmd
}
