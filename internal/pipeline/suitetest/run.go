package suitetest

import (
	"testing"
	"time"

	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// NewRun returns a run of policies on all instances of a suite, with one trial. Tests change it and execute it. Its
// worlds, with two neighbours, are closed when the test ends.
func NewRun(tb testing.TB, s *suite.Suite, store *episode.Store, policies ...string) *episode.Run {
	tb.Helper()
	worlds := proof.NewWorlds(s, 2)
	tb.Cleanup(worlds.Close)
	r := &episode.Run{Stage: episode.NewStage(s, worlds, environment.Limits{}), Store: store, Instances: s.Instances,
		Trials: 1, Workers: 2, Concurrency: 1, Now: time.Now}
	for _, name := range policies {
		r.Participants = append(r.Participants, episode.Participant{Agent: name,
			New: func(in *suite.Instance, t *task.Task, trial int) (episode.Agent, error) {
				return policy.New(name, policy.Input{Task: t, Primary: in.Primary, Seed: uint64(trial)})
			}})
	}
	return r
}
