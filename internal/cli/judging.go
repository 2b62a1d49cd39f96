package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/spf13/cobra"
)

// judging are the flags of `run` about whether requests can be met at all.
type judging struct {
	pairs bool     // run pairs of an incomplete and a complete instance
	shots []string // numbers of examples; every one is an arm of the protocols that take examples
	judge string   // PROVIDER/NAME of the model that assesses explanations; no setting, as opinions stand apart
}

// maxShots bounds the examples before a question.
const maxShots = 32

func (j *judging) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&j.pairs, "pairs", false,
		"only instances whose request cannot be met, and exactly one complete instance for each; --condition chooses "+
			"among the former, and --limit counts pairs")
	f.StringSliceVar(&j.shots, "shots", nil,
		"run once with each number of examples before the question, as arms, half of them incomplete: 0,4; drawn by seed from the validation split")
}

// judgeFlag is one of those that do not decide what is run.
func (j *judging) judgeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&j.judge, "judge", "",
		"model that assesses explanations of the protocol explain, as PROVIDER/NAME")
}

// settings adds what decides the content of a run, where it is not as it is without these flags.
func (j *judging) settings(into map[string]string) {
	if j.pairs {
		into["pairs"] = strconv.FormatBool(true)
	}
	if len(j.shots) > 0 {
		into["shots"] = strings.Join(j.shots, ",")
	}
}

// restore is the inverse of settings.
func (j *judging) restore(from map[string]string) {
	j.pairs, j.shots = from["pairs"] != "", nil
	if text := from["shots"]; text != "" {
		j.shots = strings.Split(text, ",")
	}
}

func (j *judging) check(o *runOptions) error {
	numbers, err := j.numbers()
	if err != nil {
		return err
	}
	if len(j.shots) > 0 {
		if len(o.models) == 0 {
			return diag.Usagef("--shots: policies take no examples").WithHint("--model PROVIDER/NAME --protocol %s",
				protocol.Feasible)
		}
		for _, p := range protocol.List() {
			if slices.Contains(o.protocols, p.Name) && !p.Examples && !slices.Contains(numbers, 0) {
				return diag.Usagef("--shots: the protocol %s takes no examples", p.Name).WithHint("--shots 0,4 runs it without")
			}
		}
	}
	for _, p := range protocol.List() {
		if o.scaling.informed && p.Judges && slices.Contains(o.protocols, p.Name) {
			return diag.Usagef("--informed-retry: to be told that a judgement was wrong is to be told the right one").
				WithHint("leave the protocol %s out", p.Name)
		}
	}
	if slices.Contains(o.agents, protocol.HumanName) && len(o.agents)+len(o.models) > 1 {
		return diag.Usagef("--agent %s takes the terminal for itself",
			protocol.HumanName).WithHint("give each other agent a run of its own")
	}
	return nil
}

// numbers reads how many examples there are to be, arm by arm.
func (j *judging) numbers() ([]int, error) {
	numbers := make([]int, len(j.shots))
	for i, text := range j.shots {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > maxShots || n%2 != 0 {
			return nil, diag.Usagef("--shots: %q is no number of examples", text).
				WithHint("an even number up to %d, half of them incomplete: --shots 0,4", maxShots)
		}
		if slices.Contains(numbers[:i], n) {
			return nil, diag.Usagef("--shots: %d is given twice", n)
		}
		numbers[i] = n
	}
	if len(numbers) == 0 {
		numbers = []int{0}
	}
	return numbers, nil
}

// arms lists the arms of one protocol that a given arm becomes: one for each number of examples, one for each scenario.
func (j *judging) arms(p *protocol.Info, arm transcript.Arm) ([]transcript.Arm, error) {
	numbers, err := j.numbers()
	if err != nil {
		return nil, err
	}
	var arms []transcript.Arm
	for _, n := range numbers {
		if n > 0 && !p.Examples {
			continue
		}
		arm.Shots = n
		if !p.Scenarios {
			arms = append(arms, arm)
			continue
		}
		for _, scenario := range protocol.FeedbackScenarios() {
			arm.Scenario = scenario
			arms = append(arms, arm)
		}
	}
	return arms, nil
}

// takes says which instances are played under a protocol in an arm; nil means all of them. Of a suite that has pairs,
// judging protocols take pairs alone: nothing else is scored. A made-up result is told of incomplete requests only
// (Incomplete Conditions, table 6).
func takes(s *suite.Suite, p *protocol.Info, arm transcript.Arm) func(*suite.Instance) bool {
	if !p.Judges {
		return nil
	}
	incomplete, complete := map[string]bool{}, map[string]bool{}
	pairs, _ := s.Pairs()
	for _, pair := range pairs {
		incomplete[pair.Incomplete.ID], complete[pair.Complete.ID] = true, true
	}
	switch {
	case len(pairs) == 0:
		return nil
	case arm.Scenario == protocol.FeedbackInvented:
		return func(in *suite.Instance) bool { return incomplete[in.ID] }
	default:
		return func(in *suite.Instance) bool { return incomplete[in.ID] || complete[in.ID] }
	}
}

// takesPairs says whether a run is of pairs alone: where that is asked for, and where nobody takes part but models
// under judging protocols, on a suite that has pairs.
func (o *runOptions) takesPairs(s *suite.Suite) bool {
	if o.judging.pairs || len(o.agents) > 0 {
		return o.judging.pairs
	}
	for _, p := range protocol.List() {
		if !p.Judges && slices.Contains(o.protocols, p.Name) {
			return false
		}
	}
	pairs, _ := s.Pairs()
	return len(pairs) > 0
}

// paired keeps, of the instances that were chosen, those that cannot be met, with the complete instance of each, in the
// order of the suite; most bounds the pairs, 0 does not.
func paired(s *suite.Suite, chosen []*suite.Instance, most int) ([]*suite.Instance, error) {
	among := make(map[*suite.Instance]bool, len(chosen))
	for _, in := range chosen {
		among[in] = true
	}
	keep := map[*suite.Instance]bool{}
	n := 0
	pairs, _ := s.Pairs()
	for _, p := range pairs {
		if !among[p.Incomplete] || most > 0 && n == most {
			continue
		}
		n++
		keep[p.Incomplete], keep[p.Complete] = true, true
	}
	if n == 0 {
		return nil, diag.Usagef("--pairs: no instance that was chosen of %s is incomplete and has a complete one", s.Dir).
			WithHint("build with --condition drop-detail, --condition replace-tool or --fault distractors-only, or from bfcl:")
	}
	return slices.DeleteFunc(slices.Clone(s.Instances), func(in *suite.Instance) bool { return !keep[in] }), nil
}

// examples draws examples for a suite's instances from its validation split. It is safe for concurrent use.
type examples struct {
	suite   *suite.Suite
	stage   *episode.Stage
	worlds  *proof.Worlds
	seed    uint64
	tasks   map[string]*task.Task
	byStyle map[string][]suite.Pair // of the validation split, shuffled

	mu   sync.Mutex
	made map[*suite.Instance]protocol.Example
}

// newExamples prepares to draw up to most examples for each of some instances. Too few pairs are a mistake of whoever
// asks.
func newExamples(s *suite.Suite, o *runOptions, instances []*suite.Instance, most int) (*examples, error) {
	e := &examples{
		suite: s, seed: o.seed, tasks: s.Index(), byStyle: map[string][]suite.Pair{},
		made:   map[*suite.Instance]protocol.Example{},
		worlds: proof.NewWorlds(s, 0),
	}
	e.stage = episode.NewStage(s, e.worlds, environment.Limits{})
	e.stage.Show(o.shown())
	pairs, _ := s.Pairs()
	for _, p := range pairs {
		if t := e.tasks[p.Incomplete.Task]; t != nil && t.Split == task.SplitValidation {
			e.byStyle[t.Style] = append(e.byStyle[t.Style], p)
		}
	}
	for style, pairs := range e.byStyle {
		draw := task.Draw(o.seed, "shots", style)
		draw.Shuffle(len(pairs), func(a, b int) { pairs[a], pairs[b] = pairs[b], pairs[a] })
	}
	for _, in := range instances {
		if _, err := e.draw(in, most); err != nil {
			e.worlds.Close()
			return nil, err
		}
	}
	return e, nil
}

// origin is what the variants of an example have in common: what a task must not share with one that it is an example
// for.
func origin(t *task.Task) string {
	if t.Variant != "" {
		return t.Variant
	}
	return t.ID
}

// draw chooses n instances as examples for another, half of them incomplete, of tasks of its style that are not its
// own, each of another task while there are enough.
func (e *examples) draw(in *suite.Instance, n int) ([]*suite.Instance, error) {
	t := e.tasks[in.Task]
	if t == nil {
		return nil, fmt.Errorf("instance %s: the suite has no task %q", in.ID, in.Task)
	}
	var distinct []suite.Pair
	used := map[string]bool{origin(t): true}
	for _, p := range e.byStyle[t.Style] {
		of, beside := origin(e.tasks[p.Incomplete.Task]), origin(e.tasks[p.Complete.Task])
		if !used[of] && !used[beside] {
			used[of], used[beside] = true, true
			distinct = append(distinct, p)
		}
	}
	if len(distinct) < n/2 {
		return nil, diag.Usagef("--shots %d: the validation split has pairs of %d other tasks for %s, and %d are needed", n,
			len(distinct), in.ID, n/2).
			WithHint("build a larger suite, or ask for fewer examples")
	}
	var chosen []*suite.Instance
	for i := range n {
		p := distinct[i%len(distinct)]
		if i < n/2 {
			chosen = append(chosen, p.Incomplete)
		} else {
			chosen = append(chosen, p.Complete)
		}
	}
	order := task.Draw(e.seed, "shots order", t.Style, strconv.Itoa(n))
	order.Shuffle(n, func(a, b int) { chosen[a], chosen[b] = chosen[b], chosen[a] })
	return chosen, nil
}

// of gives the examples of an instance.
func (e *examples) of(ctx context.Context, in *suite.Instance, n int) ([]protocol.Example, error) {
	chosen, err := e.draw(in, n)
	if err != nil {
		return nil, err
	}
	list := make([]protocol.Example, len(chosen))
	for i, c := range chosen {
		if list[i], err = e.make(ctx, c); err != nil {
			return nil, fmt.Errorf("example %s: %w", c.ID, err)
		}
	}
	return list, nil
}

// make renders an instance as an example, once.
func (e *examples) make(ctx context.Context, in *suite.Instance) (protocol.Example, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if known, there := e.made[in]; there {
		return known, nil
	}
	shown, err := e.stage.Shown(in)
	if err != nil {
		return protocol.Example{}, err
	}
	env, err := e.stage.Environment(ctx, in, episode.Seat{Header: transcript.Header{Instance: in.ID, Task: in.Task}})
	if err != nil {
		return protocol.Example{}, err
	}
	example := protocol.Example{View: env.View(), Feasible: shown.Gold.Kind != task.GoldDecline}
	if example.Feasible {
		example.Plan = shown.Plan(in.Primary)
		if example.Plan == nil && len(shown.Plans) > 0 {
			example.Plan = &shown.Plans[0]
		}
	} else {
		lack, err := e.suite.Lacking(in, shown)
		if err != nil {
			return example, err
		}
		example.Tools = lack.Tools[:min(1, len(lack.Tools))]
		for _, d := range lack.Missing {
			example.Details = append(example.Details, nameOf(d))
		}
	}
	e.made[in] = example
	return example, nil
}

// nameOf says what a detail is called: by another name than that of the argument, which may be any word, where it has
// one.
func nameOf(d suite.Detail) string {
	name := d.Argument
	if at := slices.IndexFunc(d.Names, func(n string) bool { return n != d.Argument }); at >= 0 {
		name = d.Names[at]
	}
	return strings.ReplaceAll(name, "_", " ")
}
