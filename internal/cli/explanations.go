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
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// explanations is what a judge model needs to assess explanations.
type explanations struct {
	suite     *suite.Suite
	stage     *episode.Stage // with worlds
	store     *episode.Store
	settings  *settings.Run
	providers *participants.Providers
}

// opinion is a judge's assessment, as the run's file stores it.
type opinion struct {
	Right bool       `json:"right"`
	Known bool       `json:"known"` // a verdict could be read
	Reply string     `json:"reply"`
	Usage task.Usage `json:"usage"`
	Model string     `json:"model,omitempty"`
}

// explanationIn returns the explanation of a right no under the protocol explain; false for any other episode.
func explanationIn(g *grade.Grade, t *transcript.Transcript) (string, bool) {
	if !g.Valid || !g.Success || g.Judged != grade.JudgedNo || g.Protocol != protocol.Explain {
		return "", false
	}
	for i := range t.Events {
		if e := &t.Events[i]; e.Kind == transcript.EventJudge {
			return e.Text, true
		}
	}
	return "", false
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
	known, err := x.store.Opinions(ctx)
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
	err = graded(ctx, x.suite, x.store, func(g grade.Grade, in *suite.Instance, t *transcript.Transcript) error {
		if text, is := explanationIn(&g, t); is && !seen[g.Episode] {
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
			Hint: "seatrial grade " + x.store.Path() + " --judge " + x.settings.Judge,
		}
	}
	return nil
}

// judgeRun has a judge assess the explanations of an existing run.
func (a *app) judgeRun(ctx context.Context, o *settings.Run, s *suite.Suite, store *episode.Store) (err error) {
	if err := settings.AtLeast("concurrency", o.Concurrency, 1); err != nil {
		return err
	}
	record := store.Meta().Settings
	o.Evidence, o.Handles = settings.Text(record, "evidence"), settings.Text(record, "handles")
	providers, err := participants.OpenProviders(a.Getenv, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, providers.Close()) }()
	worlds := proof.NewWorlds(s, 0)
	defer worlds.Close()
	stage := episode.NewStage(s, worlds, environment.Limits{})
	stage.Show(o.Shown())
	a.resumeHint = "seatrial grade " + store.Path() + " --judge " + o.Judge
	return a.judgeExplanations(ctx, &explanations{suite: s, stage: stage, store: store, settings: o, providers: providers})
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
	text, err := task.Marshal(opinion{said.Right, said.Known, said.Reply, said.Usage, said.Model})
	if err != nil {
		return err
	}
	return x.store.PutOpinions(ctx, x.settings.Judge, map[string]json.RawMessage{id: text})
}

// opinionsOf returns judges' verdicts on explanations, by episode and judge. It leaves out unreadable ones.
func opinionsOf(ctx context.Context, store *episode.Store) (map[string]map[string]bool, error) {
	list, err := store.Opinions(ctx)
	if err != nil {
		return nil, err
	}
	byEpisode := map[string]map[string]bool{}
	for _, o := range list {
		var said opinion
		if err := task.DecodeStrict(o.JSON, &said); err != nil {
			return nil, fmt.Errorf("opinion of %s on episode %s: %w", o.Judge, o.Episode, err)
		}
		if !said.Known {
			continue
		}
		if byEpisode[o.Episode] == nil {
			byEpisode[o.Episode] = map[string]bool{}
		}
		byEpisode[o.Episode][o.Judge] = said.Right
	}
	return byEpisode, nil
}
