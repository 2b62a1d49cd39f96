package pipeline

import (
	"context"
	"fmt"
	"maps"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"golang.org/x/sync/errgroup"
)

// deriveFaults puts every task under the faults that were asked for, with their harmless variants, and plays each
// instance as the policies that prove it. What does not land, or cannot be survived, is refused.
func (b *builder) deriveFaults(ctx context.Context, s *suite.Suite) (map[string]suite.InstanceCounts, error) {
	if len(b.opts.Faults) == 0 {
		return nil, nil
	}
	combinations, err := condition.ParseFaults(b.opts.Faults)
	if err != nil {
		return nil, err
	}
	clean := map[string]*suite.Instance{}
	for _, in := range s.Instances {
		if in.Role == condition.RoleClean && len(in.Conditions) == 0 {
			clean[in.Task] = in
		}
	}
	within, err := condition.ParseCombinations(b.opts.Conditions)
	if err != nil {
		return nil, err
	}
	bases := map[string]*suite.Instance{}
	for _, in := range s.Instances {
		bases[in.ID] = in
	}
	derived, err := instances.Faulted(s, combinations, instances.FaultOptions{
		Within: within, Limit: b.opts.FaultLimit, Workers: b.opts.Workers,
	})
	if err != nil {
		return nil, err
	}
	b.done.pass = "certify"
	b.done.reset(len(derived.Instances))
	stage := b.stage(s)
	certifier := proof.NewFaultCertifier(stage)
	groups := byTask(derived.Instances)
	proven := make([]provenFaults, len(groups))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(max(b.opts.Workers, 1))
	for i, list := range groups {
		group.Go(func() error {
			var played []*suite.Played
			refused := map[string]bool{}
			for _, in := range list {
				certified := &proof.Certified{Reason: proof.ReasonAlone, Message: "the fault itself is not certified"}
				if !refused[instances.FaultOf(in)] {
					var err error
					if certified, err = certifier.Certify(groupCtx, in, bases[instances.Base(in)]); err != nil {
						return fmt.Errorf("instance %s: %w", in.ID, err)
					}
				}
				refused[in.ID] = certified.Reason != ""
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
	if kinds := instances.HopelessKinds(combinations); len(kinds) > 0 {
		account, err := b.makeHopeless(ctx, s, clean, kinds, certifier)
		if err != nil {
			return nil, err
		}
		maps.Copy(derived.Counts, account.Counts)
		return derived.Counts, takeHopeless(s, account)
	}
	return derived.Counts, nil
}

// makeHopeless puts every task under the kinds that nothing survives.
func (b *builder) makeHopeless(
	ctx context.Context, s *suite.Suite, clean map[string]*suite.Instance, kinds []string, certifier *proof.FaultCertifier,
) (*proof.HopelessAccount, error) {
	made := make([]*proof.HopelessMade, len(s.Tasks))
	b.done.reset(len(s.Tasks))
	var tools []*task.Tool
	for _, style := range b.opts.Styles {
		tools = append(tools, s.Tools[style]...)
	}
	err := b.each(ctx, func(ctx context.Context, src *source) error {
		if src.world == nil {
			return nil
		}
		maker, err := proof.NewHopelessMaker(ctx, proof.HopelessConfig{
			Database: src.name, World: src.world, Tools: tools, Seed: b.opts.Seed, Kinds: kinds, Faults: certifier,
		})
		if err != nil {
			return err
		}
		defer maker.Close()
		for i, task := range s.Tasks {
			if task.Database != src.name {
				continue
			}
			query, err := sqlast.Parse(task.SQL, src.schema)
			if err != nil {
				return fmt.Errorf("task %s: %w", task.ID, err)
			}
			shown := s.Toolkit(&suite.Instance{}, task)
			if made[i], err = maker.Make(ctx, task, query, clean[task.ID], b.ways[task.ID], shown); err != nil {
				return fmt.Errorf("task %s: %w", task.ID, err)
			}
			b.done.step()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return proof.AccountHopeless(inOrder(s.Tasks, clean), made, kinds, b.opts.FaultLimit), nil
}

// inOrder lists the clean instances in the order of their tasks.
func inOrder(tasks []*task.Task, clean map[string]*suite.Instance) []*suite.Instance {
	list := make([]*suite.Instance, len(tasks))
	for i, t := range tasks {
		list[i] = clean[t.ID]
	}
	return list
}

// takeHopeless adds hopeless instances to the suite.
func takeHopeless(s *suite.Suite, account *proof.HopelessAccount) error {
	s.Rejected = append(s.Rejected, account.Refused...)
	s.Twins = proof.MergeTwins(append(s.Twins, account.Twins...))
	var played []*suite.Played
	for i, in := range account.Instances {
		s.Instances = append(s.Instances, in)
		s.Certificates = append(s.Certificates, account.Certified[i].Certificate)
		played = append(played, account.Certified[i].Played...)
	}
	packed, err := suite.Pack(played)
	s.Transcripts = append(s.Transcripts, packed...)
	return err
}

// provenFaults is what came of the instances of one task.
type provenFaults struct {
	certified []*proof.Certified
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
