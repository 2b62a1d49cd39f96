package server

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// maxBatch bounds the environments of one batch.
const maxBatch = 1024

// Batch is a number of environments that step together, for training loops. They are those that episodes have, and
// leave no transcripts: what is learnt in them is not to be reported. Its methods are safe for concurrent use, one at a
// time.
type Batch struct {
	episodes *Episodes
	budget   task.Budget
	auto     bool // an environment that has ended begins again by itself

	turn  chan struct{} // held by the acting caller; guards all fields below
	seats []seat
	last  time.Time
}

type seat struct {
	instance *suite.Instance
	env      *environment.Environment // nil once it has ended
	content  int
}

// BatchResult is the result of one environment's turn.
type BatchResult struct {
	Observations []task.Observation
	Done         bool
	// Reward is 1 where the episode ended with the turn and succeeded, else 0. It is a grade: see [Config.Grades].
	Reward float64
	// View is what the agent is given at the start of the next episode, where the environment began again by itself.
	View *task.View
}

// NewBatch makes the environments of instances, in their order; an instance may be named several times. They are
// bounded by budget and [Config.Budget].
func (s *Episodes) NewBatch(instances []string, budget task.Budget, auto bool) (*Batch, error) {
	if len(instances) == 0 || len(instances) > maxBatch {
		return nil, refuse(RefusedBad, "A batch has from 1 to %d instances.", maxBatch)
	}
	b := &Batch{
		episodes: s, budget: episode.TighterBudget(s.config.Budget, budget), auto: auto, turn: make(chan struct{}, 1),
		seats: make([]seat, len(instances)), last: s.now(),
	}
	for i, id := range instances {
		at, known := s.instances[s.resolve(id)]
		if !known {
			return nil, refuse(RefusedUnknown, "The suite has no instance of number %d of the list.", i)
		}
		b.seats[i].instance = s.config.Suite.Instances[at]
	}
	return b, nil
}

// Size is the number of environments.
func (b *Batch) Size() int { return len(b.seats) }

// Reset begins the environments of that numbers again, all of them where which is nil, and returns their views, in that
// order.
func (b *Batch) Reset(ctx context.Context, which []int) ([]*task.View, error) {
	if which == nil {
		which = make([]int, len(b.seats))
		for i := range which {
			which[i] = i
		}
	}
	for _, i := range which {
		if i < 0 || i >= len(b.seats) {
			return nil, refuse(RefusedBad, "The batch has no environment %d.", i)
		}
	}
	leave, err := b.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	views := make([]*task.View, len(which))
	for n, i := range which {
		if views[n], err = b.begin(&b.seats[i]); err != nil {
			return nil, err
		}
	}
	return views, nil
}

func (b *Batch) enter(ctx context.Context) (leave func(), err error) {
	if !b.episodes.enter() {
		return nil, refuse(RefusedClosing, "The server is shutting down.")
	}
	select {
	case b.turn <- struct{}{}:
		return func() {
			b.last = b.episodes.now()
			<-b.turn
			b.episodes.busy.Done()
		}, nil
	case <-ctx.Done():
		b.episodes.busy.Done()
		return nil, context.Cause(ctx)
	}
}

func (b *Batch) begin(at *seat) (*task.View, error) {
	s := b.episodes
	h := transcript.Header{
		Format: transcript.Format, Suite: s.config.Suite.Manifest.Digest, Instance: at.instance.ID, Task: at.instance.Task,
		Agent: "batch",
	}
	env, err := s.environmentOf(s.training, at.instance, episode.Seat{Header: h, Budget: b.budget})
	if err != nil {
		return nil, fmt.Errorf("environment of %s: %w", at.instance.ID, err)
	}
	at.env, at.content = env, 0
	return env.View(), nil
}

// Step takes a turn in each environment: the i-th turn is for the i-th one, and nil lets it be. An environment that has
// ended, or has not begun, answers that it has.
func (b *Batch) Step(ctx context.Context, turns []*task.Turn) ([]BatchResult, error) {
	if len(turns) != len(b.seats) {
		return nil, refuse(RefusedBad, "There are %d turns for %d environments.", len(turns), len(b.seats))
	}
	for _, t := range turns {
		if t != nil && len(t.Actions) > b.episodes.limits.Actions {
			return nil, refuse(RefusedBad, "One step takes %d actions at the most.", b.episodes.limits.Actions)
		}
	}
	leave, err := b.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	results, errs := make([]BatchResult, len(turns)), make([]error, len(turns))
	workers := min(runtime.GOMAXPROCS(0), len(turns))
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := w; i < len(turns); i += workers {
				if turns[i] != nil {
					errs[i] = b.step(&b.seats[i], turns[i], &results[i])
				}
			}
		})
	}
	done.Wait()
	return results, errors.Join(errs...)
}

// step takes a turn in one environment. An environment that fails or panics is not used again.
func (b *Batch) step(at *seat, turn *task.Turn, r *BatchResult) (err error) {
	defer func() {
		if err != nil {
			at.env = nil
		}
	}()
	defer diag.Guard(&err, "environment")
	s := b.episodes
	if at.env == nil {
		ended := endedResult(&Act{Turn: *turn})
		r.Observations, r.Done = ended.Observations, true
		return nil
	}
	if r.Observations, err = at.env.Step(s.stopping, *turn); err != nil {
		return err
	}
	for i := range r.Observations {
		at.content += len(r.Observations[i].Content)
	}
	if turn.Stop {
		at.env.Finish(transcript.EndSilent, "")
	}
	if at.content > s.limits.Content {
		at.env.FinishBudget(environment.BudgetCalls)
	}
	if r.Done = at.env.Done(); !r.Done {
		return nil
	}
	if s.config.Grades {
		success, err := succeeded(s.stage, at.instance, at.env.Transcript())
		if err != nil {
			return err
		}
		if success {
			r.Reward = 1
		}
	}
	at.env = nil
	if b.auto {
		r.View, err = b.begin(at)
	}
	return err
}
