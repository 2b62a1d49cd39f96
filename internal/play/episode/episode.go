// Package episode plays agents in environments: one episode, or all the episodes of a run in a bounded pool, each kept
// in the run's store as soon as it has ended. It owns the clock and the budgets of a run. It must never know gold,
// grade an answer, or look into what an agent or a condition is.
package episode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// Agent acts in one episode. Next is called with no observations first, then with those of its last turn's actions, in
// their order. Its errors make the episode invalid: an error in whose chain a method Provider() bool gives true is the
// model provider's failure, any other is Seatrial's own. The mistakes of an agent stand in its turns and are no errors.
type Agent interface {
	Next(ctx context.Context, view *task.View, seen []task.Observation) (task.Turn, error)
}

// MaxIdle is the number of turns without any action, one after the other, after which an agent counts as silent even if
// it does not stop by itself.
const MaxIdle = 100

// Drive plays an episode in the environment itself, at its own pace: for agents that have a loop of their own. It ends
// when the environment is done, or with an act or an end of its own, and no step of its is under way any more when it
// returns; an episode that it leaves open ends as silent. When ctx is done, it returns ctx's cause. It gives the times
// that the agent took to decide. Its errors are those of [Agent].
type Drive func(ctx context.Context, env *environment.Environment) (decisions []time.Duration, err error)

// Play plays one episode to its end and gives its transcript, which is complete however the episode ended:
//
//	the agent answers or declines     answered, declined
//	the agent judges the request      judged
//	a budget of the view is spent     budget; wall time runs from here on
//	the agent stops without an act    silent; declining is an explicit act, which silence never is
//	the model provider fails          provider
//	ctx is cancelled                  interrupted
//	anything else fails or panics     internal
//
// The error is nil for the first four; for the others, which make the episode invalid, it is the cause.
func Play(ctx context.Context, env *environment.Environment, agent Agent) (*transcript.Transcript, error) {
	return conduct(ctx, env, func(ctx context.Context) error {
		err := play(ctx, env, agent, env.View())
		if closer, ok := agent.(io.Closer); ok {
			err = errors.Join(err, closer.Close())
		}
		return err
	})
}

// conduct bounds and ends an episode, in which act is what is done.
func conduct(
	ctx context.Context, env *environment.Environment, act func(context.Context) error,
) (*transcript.Transcript, error) {
	if seconds := env.View().Budget.WallSeconds; seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(seconds*float64(time.Second)), environment.ErrWall)
		defer cancel()
	}
	err := act(ctx)
	if err != nil && errors.Is(context.Cause(ctx), environment.ErrWall) {
		env.FinishBudget(environment.BudgetWall)
		err = nil
	}
	if err != nil {
		env.Finish(endOf(ctx, err), err.Error())
	}
	return env.Transcript(), err
}

func play(ctx context.Context, env *environment.Environment, agent Agent, view *task.View) error {
	var seen []task.Observation
	for idle := 0; !env.Done(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		turn, err := next(ctx, agent, view, seen)
		if err != nil {
			return err
		}
		if seen, err = step(ctx, env, turn); err != nil {
			return err
		}
		if env.Grows() {
			view = env.View()
		}
		idle++
		if len(turn.Actions) > 0 {
			idle = 0
		}
		if turn.Stop || idle == MaxIdle {
			env.Finish(transcript.EndSilent, "")
		}
	}
	return nil
}

// next asks the agent for its turn; a panic of the agent is an error.
func next(
	ctx context.Context, agent Agent, view *task.View, seen []task.Observation,
) (turn task.Turn, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{In: "agent", Value: p, Stack: debug.Stack()}
		}
	}()
	turn, err = agent.Next(ctx, view, seen)
	if err != nil {
		return turn, fmt.Errorf("agent: %w", err)
	}
	return turn, nil
}

func step(
	ctx context.Context, env *environment.Environment, turn task.Turn,
) (seen []task.Observation, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{In: "environment", Value: p, Stack: debug.Stack()}
		}
	}()
	return env.Step(ctx, turn)
}

// PanicError is a panic that was caught, so that it ends one episode and not the run. Its text has no stack, because it
// stands in transcripts.
type PanicError struct {
	In    string // agent or environment
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("%s: panic: %v", e.In, e.Value) }

// endOf says how an episode ends that err breaks off.
func endOf(ctx context.Context, err error) string {
	var provider interface{ Provider() bool }
	switch {
	case ctx.Err() != nil:
		return transcript.EndInterrupted
	case errors.As(err, &provider) && provider.Provider():
		return transcript.EndProvider
	default:
		return transcript.EndInternal
	}
}
