package build

import (
	"context"
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/environment"
	"github.com/seatrial/seatrial/internal/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/verify"
)

// changeStatic puts tasks whose tools cannot be run under the conditions of the request and those whose toolkits are chosen.
func (b *builder) changeStatic(
	ctx context.Context, s *suite.Suite, combinations [][]condition.Condition,
) (map[string]suite.InstanceCounts, error) {
	maker, err := verify.NewStaticMaker(ctx, s, combinations, similarity, b.opts.Workers)
	if err != nil {
		return nil, err
	}
	if maker.Work() == 0 {
		return nil, nil
	}
	b.done.pass = "certify"
	b.done.reset(2 * maker.Work())
	if s.Made, err = maker.Choose(ctx, b.done.step); err != nil {
		return nil, err
	}
	requests, toolkits, err := maker.Certify(ctx, episode.NewStage(s, worldsOf{b}, environment.Limits{}), b.done.step)
	if err != nil {
		return nil, err
	}
	account := verify.AccountToolkits(s.Tasks, toolkits)
	if err := takeToolkits(s, account); err != nil {
		return nil, err
	}
	takeRequests(s, requests)
	counts := verify.AccountRequests(s.Tasks, requests)
	maps.Copy(counts, account.Counts)
	return counts, nil
}

// takeRequests adds instances under conditions of the request to the suite.
func takeRequests(s *suite.Suite, made []*verify.RequestMade) {
	for _, m := range slices.DeleteFunc(slices.Clone(made), func(m *verify.RequestMade) bool { return m == nil }) {
		s.Instances = append(s.Instances, m.Instances...)
		s.Certificates = append(s.Certificates, m.Certified...)
		s.Rejected = append(s.Rejected, m.Refused...)
	}
}
