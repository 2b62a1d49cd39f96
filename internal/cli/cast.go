package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/agent/python"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// cast makes the agents of a run.
type cast struct {
	app       *app
	o         *runOptions
	suite     *suite.Suite
	instances []*suite.Instance
	providers model.Options
	stop      context.CancelCauseFunc // ends the run with a cause
	python    python.Engine           // nil where no agent writes code
	limits    python.Limits           // of its sessions
	bench     *bench                  // where commands act; it must be there before an episode of one begins
	examples  *examples               // nil where no agent is shown any
}

// close gives back what the agents share.
func (c *cast) close() {
	if c.examples != nil {
		c.examples.worlds.Close()
	}
}

// providers says how models are reached. done closes what their clients share.
func (a *app) providers(o *runOptions) (options model.Options, done func() error, err error) {
	done = func() error { return nil }
	if len(o.models) == 0 && o.judging.judge == "" {
		return options, done, nil
	}
	options, record, err := a.modelOptions(o)
	if err == nil && record != nil {
		done = record.Close
	}
	return options, done, err
}

func (c *cast) participants() (list []episode.Participant, err error) {
	arms, err := c.o.scaling.arms()
	if err != nil {
		return nil, err
	}
	for _, name := range c.o.agents {
		if name == protocol.HumanName {
			list = append(list, c.app.human(c.o, arms, len(c.instances), c.stop)...)
			continue
		}
		if isCommand(name) {
			commands, err := c.commander(name, arms)
			if err != nil {
				return nil, err
			}
			list = append(list, commands...)
			continue
		}
		if _, err := policy.New(name, policy.Input{Task: &task.Task{}, Python: c.python}); err != nil {
			return nil, err
		}
		for _, arm := range arms {
			list = append(list, episode.Participant{
				Agent: name, Arm: arm.String(), Budget: c.o.budget, Scale: arm.Budget,
				New: func(in *suite.Instance, task *task.Task, trial int) (episode.Agent, error) {
					return policy.New(name, policy.Input{
						Task: task, Primary: in.Primary, Seed: c.o.seed, Trial: trial, Python: c.python, PythonLimits: c.limits,
					})
				},
			})
		}
	}
	if len(c.o.models) == 0 {
		return list, nil
	}
	numbers, err := c.o.judging.numbers()
	if err != nil {
		return nil, err
	}
	if most := slices.Max(numbers); most > 0 {
		if c.examples, err = newExamples(c.suite, c.o, c.instances, most); err != nil {
			return nil, err
		}
	}
	for _, spec := range c.o.models {
		models, err := c.model(spec, arms)
		if err != nil {
			return nil, err
		}
		list = append(list, models...)
	}
	return list, nil
}

// conversations says what all conversations with a model have in common.
func (a *app) conversations(o *runOptions, spec string, providers model.Options) (protocol.Config, error) {
	rates := o.rates
	rates.Concurrency = o.concurrency
	client, err := a.openModel(spec, providers, rates)
	if err != nil {
		return protocol.Config{}, err
	}
	config := protocol.Config{
		MaxTokens: o.maxTokens, Loops: o.scaling.loops(o.loops), Specs: new(protocol.Specs), Client: client, Draw: o.seed,
	}
	if o.temperature != "default" {
		t, err := strconv.ParseFloat(o.temperature, 64)
		if err != nil || !(t >= 0) {
			return config, diag.Usagef("--temperature %q is no temperature",
				o.temperature).WithHint("a number from 0, or `default`")
		}
		config.Temperature = &t
	}
	return config, nil
}

// model makes one model a participant under each protocol, in each of its arms.
func (c *cast) model(spec string, arms []transcript.Arm) ([]episode.Participant, error) {
	config, err := c.app.conversations(c.o, spec, c.providers)
	if err != nil {
		return nil, err
	}
	config.Python, config.PythonLimits = c.python, c.limits
	var list []episode.Participant
	for _, info := range protocol.List() {
		if !slices.Contains(c.o.protocols, info.Name) {
			continue
		}
		// A conversation that reaches its last reply ran out of turns: that is no silence. A protocol of one reply has none
		// to run out of.
		budgets := [2]task.Budget{c.o.budget, c.o.budget} // where tools are shown, and where they have to be found
		for i := range budgets {
			config.Open = i == 1
			conversation, err := protocol.New(info.Name, config)
			if err != nil {
				return nil, err
			}
			if budgets[i].Turns == 0 {
				budgets[i].Turns = conversation.Turns()
			}
		}
		for _, arm := range arms {
			own, err := c.o.judging.arms(&info, arm)
			if err != nil {
				return nil, err
			}
			for _, arm := range own {
				p := c.conversing(config, spec, info.Name, arm)
				p.Budget, p.Open, p.Only = budgets[0], &budgets[1], takes(c.suite, &info, arm)
				list = append(list, p)
			}
		}
	}
	return list, nil
}

// conversing makes a participant of a model under a protocol in an arm.
func (c *cast) conversing(config protocol.Config, spec, name string, arm transcript.Arm) episode.Participant {
	converse := func(in *suite.Instance, trial int, arm transcript.Arm, failed *transcript.Transcript) (episode.Agent,
		error) {
		own := config
		own.Client = model.Scoped(config.Client, exchange(in, name, trial, arm))
		own.Failed, own.Scenario = failed, arm.Scenario
		own.Open = condition.SearchKind(in.Conditions) != ""
		if arm.Shots > 0 {
			var err error
			if own.Examples, err = c.examples.of(context.Background(), in, arm.Shots); err != nil {
				return nil, err
			}
		}
		if c.o.trials > 1 {
			seed := int64(c.o.seed) + int64(trial)
			own.Seed = &seed
		}
		conversation, err := protocol.New(name, own)
		return frugal{conversation, c.stop}, err
	}
	p := episode.Participant{
		Agent: spec, Protocol: name, Arm: arm.String(), Model: true, SQL: name == protocol.SQL, Scale: arm.Budget,
		New: func(in *suite.Instance, _ *task.Task, trial int) (episode.Agent, error) {
			return converse(in, trial, arm, nil)
		},
	}
	if c.o.scaling.informed {
		again := arm
		again.Informed = true
		p.Retry = func(in *suite.Instance, _ *task.Task, trial int, failed *transcript.Transcript) (episode.Agent, error) {
			return converse(in, trial, again, failed)
		}
	}
	return p
}
