package pipeline

import (
	"context"
	"fmt"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"golang.org/x/sync/errgroup"
)

// derive puts every task under the conditions that were asked for, and plays its plan with what each instance shows.
// What does not hold is refused.
func (b *builder) derive(
	ctx context.Context, s *suite.Suite, combinations [][]condition.Condition,
) (map[string]suite.InstanceCounts, error) {
	if len(combinations) == 0 {
		return map[string]suite.InstanceCounts{}, nil
	}
	b.done.pass = "certify"
	derived, err := instances.Instances(s, combinations)
	if err != nil {
		return nil, err
	}
	b.done.reset(len(derived.Instances))
	stage := b.stage(s)
	type outcome struct {
		certificate *suite.Certificate
		reason      string
	}
	outcomes := make([]outcome, len(derived.Instances))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(b.opts.Workers, 1))
	for i, in := range derived.Instances {
		group.Go(func() error {
			var err error
			if outcomes[i].certificate, outcomes[i].reason, err = proof.Certify(ctx, stage, in); err != nil {
				return fmt.Errorf("instance %s: %w", in.ID, err)
			}
			b.done.step()
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	tasks := s.Index()
	s.Rejected = append(s.Rejected, derived.Rejected...)
	for i, in := range derived.Instances {
		specification := condition.Specification(in.Conditions)
		count := derived.Counts[specification]
		if outcomes[i].reason != "" {
			t := tasks[in.Task]
			count.Made--
			count.Refuse(reasonUncertified)
			s.Rejected = append(s.Rejected, &suite.Rejection{
				What: "instance", ID: in.ID, Corpus: t.Corpus, Database: t.Database, Style: t.Style, Reason: reasonUncertified,
				Message: outcomes[i].reason,
			})
		} else {
			count.Certified++
			s.Instances = append(s.Instances, in)
			s.Certificates = append(s.Certificates, outcomes[i].certificate)
		}
		derived.Counts[specification] = count
	}
	return derived.Counts, nil
}

// reasonUncertified is why an instance is refused whose plan does not give gold with what it shows.
const reasonUncertified = "uncertified"
