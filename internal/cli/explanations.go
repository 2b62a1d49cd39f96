package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/cli/participants"
	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/report/runs"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// explanations is what a judge model needs to assess explanations.
type explanations struct {
	run       *runs.Run
	stage     *episode.Stage // with worlds
	settings  *settings.Run
	providers *participants.Providers
}

// judgeExplanations asks the judge model about every explanation that it has not seen, and stores each opinion at once.
// Without a judge it does nothing.
//
//nolint:funlen // one command from flags to output, in order
func (a *app) judgeExplanations(ctx context.Context, x *explanations) error {
	if x.settings.Judge == "" {
		return nil
	}
	config, err := x.providers.Conversations(x.settings, x.settings.Judge)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	known, err := x.run.Store.Opinions(ctx)
	if err != nil {
		return err
	}
	for _, o := range known {
		seen[o.Episode] = seen[o.Episode] || o.Judge == x.settings.Judge
	}
	type question struct {
		episode, explanation string
		instance             *suite.Instance
	}
	var open []question
	err = x.run.Each(ctx, func(g grade.Grade, in *suite.Instance, e *episode.Stored) error {
		if text, is := runs.Explanation(&g, e.Transcript); is && !seen[g.Episode] {
			open = append(open, question{g.Episode, text, in})
		}
		return nil
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan *question)
	var work sync.WaitGroup
	var mu sync.Mutex
	var failed error
	failures := 0
	m := a.meter()
	done := 0
	for range min(x.settings.Concurrency, len(open)) {
		work.Go(func() {
			for q := range next {
				err := x.assess(ctx, config, q.instance, q.episode, q.explanation)
				var spending *model.SpendingError
				mu.Lock()
				done++
				switch {
				case err == nil || ctx.Err() != nil:
				case errors.As(err, &spending):
					stop(&diag.Error{Exit: diag.ExitFailed, Message: spending.Error(), Hint: a.resumeHint +
						" with a higher --max-cost"})
				default:
					if failures++; failed == nil {
						failed = err
					}
				}
				m.show("judge", done, len(open), "")
				mu.Unlock()
			}
		})
	}
	for i := range open {
		select {
		case next <- &open[i]:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	work.Wait()
	m.clear()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case failures > 0:
		return &diag.Error{
			Exit: diag.ExitProvider, Message: fmt.Sprintf("the judge failed on %d of %d explanations, first: %v", failures,
				len(open), failed),
			Hint: "seatrial grade " + x.run.Path + " --judge " + x.settings.Judge,
		}
	}
	return nil
}

// judgeRun has a judge assess the explanations of an existing run.
func (a *app) judgeRun(ctx context.Context, o *settings.Run, r *runs.Run) (err error) {
	if err := settings.AtLeast("concurrency", o.Concurrency, 1); err != nil {
		return err
	}
	o.Evidence, o.Handles = r.Setting("evidence"), r.Setting("handles")
	providers, err := participants.OpenProviders(a.Getenv, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, providers.Close()) }()
	worlds := proof.NewWorlds(r.Suite, 0)
	defer worlds.Close()
	stage := episode.NewStage(r.Suite, worlds, environment.Limits{})
	stage.Show(o.Shown())
	a.resumeHint = "seatrial grade " + r.Path + " --judge " + o.Judge
	return a.judgeExplanations(ctx, &explanations{run: r, stage: stage, settings: o, providers: providers})
}

// assess asks about one explanation and stores the opinion.
func (x *explanations) assess(ctx context.Context, config protocol.Config, in *suite.Instance, id,
	explanation string) error {
	env, err := x.stage.Environment(ctx, in, episode.Seat{Header: transcript.Header{Instance: in.ID, Task: in.Task}})
	if err != nil {
		return err
	}
	judge := protocol.ExplanationJudge{
		Client: model.Scoped(config.Client, "judge "+id), Temperature: config.Temperature, MaxTokens: config.MaxTokens,
		Specs: config.Specs,
	}
	said, err := judge.Assess(ctx, env.View(), explanation)
	if err != nil {
		return err
	}
	text, err := task.Marshal(runs.Opinion{
		Right: said.Right, Known: said.Known, Reply: said.Reply, Usage: said.Usage, Model: said.Model,
	})
	if err != nil {
		return err
	}
	return x.run.Store.PutOpinions(ctx, x.settings.Judge, map[string]json.RawMessage{id: text})
}
