package episode

import (
	"context"
	"fmt"
	"sync"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/environment"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/transcript"
	"github.com/seatrial/seatrial/internal/universe"
)

// Worlds opens the world of an instance and its neighbours. What it gives may be shared by all episodes; it is safe for
// concurrent use.
type Worlds interface {
	Worlds(ctx context.Context, in *suite.Instance, task *universe.Task) (
		world environment.World, neighbours []environment.World, err error)
}

// StepMaker makes the steps of an instance's conditions, in the order in which they apply.
type StepMaker interface {
	Steps(in *suite.Instance, task *universe.Task) ([]condition.Step, error)
}

// Stage makes the environments of a suite's instances. Tools are made ready once a style and shared by all
// environments. It is safe for concurrent use; the suite must not change.
type Stage struct {
	suite    *suite.Suite
	worlds   Worlds
	steps    StepMaker
	limits   environment.Limits
	tasks    map[string]*universe.Task
	position map[string]int

	mu    sync.Mutex
	whole map[string]*environment.Toolkit    // by style
	shown map[[2]string]*environment.Toolkit // by style and database
}

// NewStage makes a stage. Steps may be nil for suites without conditions: an instance with conditions is then an error.
func NewStage(s *suite.Suite, worlds Worlds, steps StepMaker, limits environment.Limits) *Stage {
	stage := &Stage{
		suite: s, worlds: worlds, steps: steps, limits: limits,
		tasks: s.Index(), position: make(map[string]int, len(s.Instances)),
		whole: map[string]*environment.Toolkit{}, shown: map[[2]string]*environment.Toolkit{},
	}
	for i, in := range s.Instances {
		stage.position[in.ID] = i
	}
	return stage
}

// Task gives the task of an instance.
func (s *Stage) Task(in *suite.Instance) (*universe.Task, error) {
	if t := s.tasks[in.Task]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("instance %s: the suite has no task %q", in.ID, in.Task)
}

// Environment makes the environment of one episode of an instance.
func (s *Stage) Environment(
	ctx context.Context, in *suite.Instance, header transcript.Header, budget universe.Budget,
) (*environment.Environment, error) {
	task, err := s.Task(in)
	if err != nil {
		return nil, err
	}
	kit, err := s.toolkit(in, task)
	if err != nil {
		return nil, fmt.Errorf("instance %s: %w", in.ID, err)
	}
	world, neighbours, err := s.worlds.Worlds(ctx, in, task)
	if err != nil {
		return nil, fmt.Errorf("instance %s: %w", in.ID, err)
	}
	var steps []condition.Step
	switch {
	case len(in.Conditions) == 0:
	case s.steps == nil:
		return nil, fmt.Errorf("instance %s: nothing can make its condition %q", in.ID, in.Conditions[0].Name)
	default:
		if steps, err = s.steps.Steps(in, task); err != nil {
			return nil, fmt.Errorf("instance %s: %w", in.ID, err)
		}
	}
	return environment.New(environment.Config{
		Header: header, Messages: task.Messages, Evidence: task.Evidence, Toolkit: kit, Budget: budget,
		World: world, Neighbours: neighbours, Limits: s.limits, Steps: steps,
	})
}

// toolkit gives the tools that an instance shows. Those of a whole database are kept, as most instances show them.
func (s *Stage) toolkit(in *suite.Instance, task *universe.Task) (*environment.Toolkit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{task.Style, task.Database}
	if kit := s.shown[key]; kit != nil && in.Toolkit == nil {
		return kit, nil
	}
	whole := s.whole[task.Style]
	if whole == nil {
		var err error
		if whole, err = environment.NewToolkit(s.suite.Tools[task.Style]); err != nil {
			return nil, err
		}
		s.whole[task.Style] = whole
	}
	tools := s.suite.Toolkit(in, task)
	if in.Toolkit != nil && len(tools) != len(in.Toolkit) {
		return nil, fmt.Errorf("%d of its %d tools are in the suite", len(tools), len(in.Toolkit))
	}
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	kit, err := whole.Select(names)
	if err == nil && in.Toolkit == nil {
		s.shown[key] = kit
	}
	return kit, err
}
