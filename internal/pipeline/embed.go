package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/search"
)

// checkEmbedder says what is wanted where tools are to be found by their meaning and nobody makes vectors.
func checkEmbedder(o Options, combinations [][]condition.Condition) error {
	for _, c := range combinations {
		if o.Vectors == nil && search.NeedsVectors(condition.SearchKind(c)) {
			return diag.Usagef("condition %s needs vectors of the tools", condition.Specification(c)).
				WithHint("--embeddings openai/NAME, with --embeddings-url for a server of your own")
		}
	}
	return nil
}

// embed makes the vectors of all tools that can be found, and of all requests, where tools are found by their meaning:
// who searches with the words of a request then needs no network.
func (b *builder) embed(ctx context.Context, s *suite.Suite, combinations [][]condition.Condition) error {
	if !slices.ContainsFunc(combinations,
		func(c []condition.Condition) bool { return search.NeedsVectors(condition.SearchKind(c)) }) {
		return nil
	}
	b.done.pass = "embed"
	var texts []string
	for _, style := range b.opts.Styles {
		if style != task.StyleFunc && style != task.StyleRest {
			continue // nothing of theirs can be searched
		}
		for _, t := range s.Tools[style] {
			texts = append(texts, search.Text(t))
		}
		for _, t := range s.Tasks {
			if t.Style == style {
				texts = append(texts, t.Question())
			}
		}
	}
	return b.embedTexts(ctx, texts)
}

// embedWorded makes the vectors of the requests that are put into other words, where tools are found by their meaning
// then.
func (b *builder) embedWorded(ctx context.Context, s *suite.Suite, combinations [][]condition.Condition) error {
	wanted := map[string]bool{} // conditions of the request, as they were asked for
	for _, c := range combinations {
		for _, one := range c {
			wanted[one.String()] = wanted[one.String()] || one.OfRequest() && search.NeedsVectors(condition.SearchKind(c))
		}
	}
	stage := b.stage(s)
	var texts []string
	for _, in := range s.Instances {
		if !instances.OfRequest.Holds(in) || !wanted[in.Conditions[0].String()] {
			continue
		}
		t, err := stage.Shown(in)
		if err != nil {
			return err
		}
		if t.Style == task.StyleFunc || t.Style == task.StyleRest {
			texts = append(texts, t.Question())
		}
	}
	if texts == nil {
		return nil
	}
	b.done.pass = "embed"
	return b.embedTexts(ctx, texts)
}

// embedTexts makes vectors and keeps them in the suite.
func (b *builder) embedTexts(ctx context.Context, texts []string) error {
	b.done.reset(len(texts))
	const together = 512
	for part := range slices.Chunk(texts, together) { // in their order: see makeRequests
		if _, err := b.opts.Vectors.Of(ctx, part...); err != nil {
			return fmt.Errorf("vectors: %w", err)
		}
		b.opts.Vectors.Keep(part...)
		for range part {
			b.done.step()
		}
	}
	return nil
}

// stage makes the environments of a suite that is being built.
func (b *builder) stage(s *suite.Suite) *episode.Stage {
	stage := episode.NewStage(s, worldsOf{b}, environment.Limits{})
	if b.opts.Vectors != nil {
		stage.Embed(b.opts.Vectors)
	}
	return stage
}
