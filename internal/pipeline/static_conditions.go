package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"

	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// changeStatic puts tasks whose tools cannot be run under the conditions of the request and those whose toolkits are
// chosen.
func (b *builder) changeStatic(
	ctx context.Context, s *suite.Suite, combinations [][]condition.Condition,
) (map[string]suite.InstanceCounts, error) {
	var scribe *proof.Scribe
	if b.opts.Writer != nil {
		scribe = proof.NewScribe(b.opts.WriterName, b.opts.WrittenRequests, b.opts.Writer, b.opts.Vectors)
	}
	maker, err := proof.NewStaticMaker(ctx, s, combinations, b.measure(), scribe, b.opts.Workers)
	if err != nil {
		return nil, err
	}
	if maker.Work() == 0 {
		return nil, b.readVerdicts(s, nil)
	}
	b.done.pass = "certify"
	b.done.reset(2 * maker.Work())
	if s.Made, err = maker.Choose(ctx, b.done.step); err != nil {
		return nil, err
	}
	if err := b.readVerdicts(s, maker.Judged()); err != nil {
		return nil, err
	}
	requests, toolkits, err := maker.Certify(ctx, episode.NewStage(s, worldsOf{b}, environment.Limits{}), b.done.step)
	if err != nil {
		return nil, err
	}
	account := proof.AccountToolkits(s.Tasks, toolkits)
	if err := takeToolkits(s, account); err != nil {
		return nil, err
	}
	takeRequests(s, requests)
	if err := takeWritten(s, scribe); err != nil {
		return nil, err
	}
	b.takeVectors(s)
	counts := proof.AccountRequests(s.Tasks, requests)
	maps.Copy(counts, account.Counts)
	return counts, nil
}

// readVerdicts reads what reviewers say of the instances that were made. A verdict on another is an error with its
// place.
func (b *builder) readVerdicts(s *suite.Suite, known map[string]bool) error {
	if b.opts.Verdicts == "" {
		return nil
	}
	data, err := os.ReadFile(b.opts.Verdicts)
	if err != nil {
		return diag.Usagef("the verdicts cannot be read: %v", err)
	}
	verdicts, lines, err := suite.ReadVerdicts(b.opts.Verdicts, data)
	var corrupt *suite.CorruptError
	if errors.As(err, &corrupt) {
		return diag.Usagef("%s", corrupt.Message).At(corrupt.File, corrupt.Line, 0).
			WithHint(`a line is {"instance": "…", "verdict": "keep or drop", "reviewer": "…", "reason": "…", "note": "…"}`)
	}
	for i, v := range verdicts {
		if !known[v.Instance] {
			e := diag.Usagef("no instance that a verdict can be on is called %q", v.Instance).At(b.opts.Verdicts, lines[i], 0)
			if near := diag.Nearest(v.Instance, slices.Sorted(maps.Keys(known))); near != "" {
				return e.WithHint("did you mean %q?", near)
			}
			return e.WithHint("verdicts are on instances under surface, paraphrase, drop-detail, replace-tool, related-tools and unrelated-tools")
		}
	}
	s.Verdicts = verdicts
	return nil
}

// takeWritten adds what a writer wrote of requests to the suite; a scribe of nil wrote nothing.
func takeWritten(s *suite.Suite, scribe *proof.Scribe) error {
	if scribe == nil {
		return nil
	}
	for _, w := range scribe.Records() {
		text, err := task.Marshal(&w)
		if err != nil {
			return err
		}
		record := json.RawMessage(text)
		s.Written = append(s.Written, &record)
	}
	return nil
}

// takeRequests adds instances under conditions of the request to the suite.
func takeRequests(s *suite.Suite, made []*proof.RequestMade) {
	for _, m := range slices.DeleteFunc(slices.Clone(made), func(m *proof.RequestMade) bool { return m == nil }) {
		s.Instances = append(s.Instances, m.Instances...)
		s.Certificates = append(s.Certificates, m.Certified...)
		s.Rejected = append(s.Rejected, m.Refused...)
	}
}
