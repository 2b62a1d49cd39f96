package episode_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// failing is a model whose provider fails in every episode with a message; without one it says nothing.
func failing(message func(n int) string) episode.Participant {
	p := answerer("failing")
	p.Model = true
	n := 0
	p.New = func(*suite.Instance, *task.Task, int) (episode.Agent, error) {
		n++
		text := message(n)
		return agentFunc(func(context.Context, int, []task.Observation) (task.Turn, error) {
			if text == "" {
				return task.Turn{}, nil
			}
			return task.Turn{}, errors.New(text)
		}).agent(), nil
	}
	return p
}

func TestTheSameFailureInARowEndsARun(t *testing.T) {
	h := openHarbour(t, 12)
	for _, c := range []struct {
		name    string
		message func(n int) string
		max     int
		goOn    bool
		stopped bool
	}{
		{"the same", func(int) string { return "refused" }, 5, false, true},
		{"the same but for ids and times", func(n int) string {
			return fmt.Sprintf("request id: %dab, %d ms", n, n)
		}, 5, false, true},
		{"others", func(n int) string { return []string{"refused", "overloaded"}[n%2] }, 5, false, false},
		{"another end between them", func(n int) string { return []string{"", "refused", "refused"}[n%3] }, 5, false, false},
		{"without a limit", func(int) string { return "refused" }, 0, false, false},
		{"the user continues", func(int) string { return "refused" }, 5, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := create(t, filepath.Join(t.TempDir(), "run"))
			asked := 0
			run := episode.Run{
				Stage: h.stage(), Store: s, Instances: h.suite.Instances, Participants: []episode.Participant{failing(c.message)},
				Trials: 1, Workers: 1, Concurrency: 1, Now: atNoon, MaxSame: c.max,
				Continue: func(*episode.RepeatedError) bool { asked++; return c.goOn },
			}
			progress, err := run.Execute(context.Background())
			var repeated *episode.RepeatedError
			if stopped := errors.As(err, &repeated); stopped != c.stopped {
				t.Fatalf("stopped %v, want %v: %v", stopped, c.stopped, err)
			}
			if c.stopped && (repeated.Count != c.max || progress.Done >= len(h.suite.Instances)) {
				t.Errorf("stopped after %d in a row, %d in all", repeated.Count, progress.Done)
			}
			if c.goOn && asked != len(h.suite.Instances)/c.max {
				t.Errorf("asked %d times", asked)
			}
		})
	}
}
