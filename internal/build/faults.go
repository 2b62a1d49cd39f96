package build

import (
	"context"
	"fmt"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/derive"
	"github.com/seatrial/seatrial/internal/environment"
	"github.com/seatrial/seatrial/internal/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/verify"
	"golang.org/x/sync/errgroup"
)

// deriveFaults puts every task under the faults that were asked for, with their harmless variants, and plays each instance
// as the policies that prove it. What does not land, or cannot be survived, is refused.
func (b *builder) deriveFaults(ctx context.Context, s *suite.Suite) (map[string]suite.InstanceCounts, error) {
	if len(b.opts.Faults) == 0 {
		return nil, nil
	}
	combinations, err := condition.ParseFaults(b.opts.Faults)
	if err != nil {
		return nil, err
	}
	derived, err := derive.Faulted(s, combinations, derive.FaultOptions{Limit: b.opts.FaultLimit, Workers: b.opts.Workers})
	if err != nil {
		return nil, err
	}
	b.done.pass = "certify"
	b.done.reset(len(derived.Instances))
	clean := map[string]*suite.Instance{}
	for _, in := range s.Instances {
		if in.Role == condition.RoleClean && len(in.Conditions) == 0 {
			clean[in.Task] = in
		}
	}
	stage := episode.NewStage(s, worldsOf{b}, environment.Limits{})
	certifier := verify.NewFaultCertifier(stage)
	groups := byTask(derived.Instances)
	proven := make([]provenFaults, len(groups))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(b.opts.Workers, 1))
	for i, instances := range groups {
		group.Go(func() error {
			var played []*suite.Played
			for _, in := range instances {
				certified, err := certifier.Certify(ctx, in, clean[in.Task])
				if err != nil {
					return fmt.Errorf("instance %s: %w", in.ID, err)
				}
				proven[i].certified = append(proven[i].certified, certified)
				played = append(played, certified.Played...)
				certified.Played = nil
				b.done.step()
			}
			var err error
			proven[i].packed, err = suite.Pack(played)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	tasks := s.Index()
	s.Rejected = append(s.Rejected, derived.Rejected...)
	for i, instances := range groups {
		for j, in := range instances {
			name := in.ID[len(in.Task)+1:]
			count := derived.Counts[name]
			if certified := proven[i].certified[j]; certified.Reason != "" {
				t := tasks[in.Task]
				count.Made--
				count.Refuse(certified.Reason)
				s.Rejected = append(s.Rejected, &suite.Rejection{
					What: "instance", ID: in.ID, Corpus: t.Corpus, Database: t.Database, Style: t.Style, Reason: certified.Reason,
					Message: certified.Message,
				})
			} else {
				count.Certified++
				s.Instances = append(s.Instances, in)
				s.Certificates = append(s.Certificates, certified.Certificate)
			}
			derived.Counts[name] = count
		}
		s.Transcripts = append(s.Transcripts, proven[i].packed...)
	}
	return derived.Counts, nil
}

// provenFaults is what came of the instances of one task.
type provenFaults struct {
	certified []*verify.Certified
	packed    []byte
}

// byTask parts instances that stand in the order of their tasks.
func byTask(instances []*suite.Instance) [][]*suite.Instance {
	var groups [][]*suite.Instance
	for i, in := range instances {
		if i == 0 || in.Task != instances[i-1].Task {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], in)
	}
	return groups
}
