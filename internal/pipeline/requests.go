package pipeline

import (
	"context"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// makeRequests puts every task under the conditions of the request that were asked for, and proves what comes of it.
// The suite then says what people call tables and columns, so that the same wording can be made again.
func (b *builder) makeRequests(ctx context.Context, s *suite.Suite) (map[string]suite.InstanceCounts, error) {
	combinations, err := condition.ParseCombinations(b.opts.Conditions)
	if err != nil {
		return nil, err
	}
	asked := instances.OfRequest.Alone(combinations)
	if len(asked) == 0 {
		return nil, nil
	}
	b.done.pass = "certify"
	b.done.reset(len(s.Tasks))
	clean := map[string]*suite.Instance{}
	for _, in := range s.Instances {
		if in.Role == condition.RoleClean && len(in.Conditions) == 0 {
			clean[in.Task] = in
		}
	}
	titles := map[string][]suite.Title{}
	for _, schema := range s.Schemas {
		schema.Titles = proof.Titles(b.byName[schema.Database].schema)
		titles[schema.Database] = schema.Titles
	}
	stage := episode.NewStage(s, worldsOf{b}, environment.Limits{})
	made := make([]*proof.RequestMade, len(s.Tasks))
	var scribe *proof.Scribe
	if b.opts.Writer != nil {
		if b.opts.Vectors != nil {
			// All at once and in their order: what is asked side by side later is known then.
			questions := make([]string, len(s.Tasks))
			for i, t := range s.Tasks {
				questions[i] = t.Question()
			}
			if _, err := b.opts.Vectors.Of(ctx, questions...); err != nil {
				return nil, err
			}
		}
		scribe = proof.NewScribe(b.opts.WriterName, b.opts.WrittenRequests, b.opts.Writer, b.opts.Vectors)
	}
	err = b.each(ctx, func(ctx context.Context, src *source) error {
		if src.world == nil {
			return nil
		}
		sch, err := proof.Titled(ctx, src.world, src.name, titles[src.name])
		if err != nil {
			return err
		}
		maker, err := proof.NewRequestMaker(ctx, proof.RequestConfig{
			World: src.world, Schema: sch, Seed: b.opts.Seed, Asked: asked, Stage: stage, Scribe: scribe,
		})
		if err != nil {
			return err
		}
		defer maker.Close()
		var tasks []*task.Task
		for _, task := range s.Tasks {
			if task.Database == src.name {
				tasks = append(tasks, task)
			}
		}
		if err := maker.Ask(ctx, tasks); err != nil {
			return err
		}
		for i, task := range s.Tasks {
			if task.Database != src.name {
				continue
			}
			if made[i], err = maker.Make(ctx, task, clean[task.ID]); err != nil {
				return err
			}
			b.done.step()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	takeRequests(s, made)
	if err := takeWritten(s, scribe); err != nil {
		return nil, err
	}
	return proof.AccountRequests(s.Tasks, made), nil
}
