package pipeline

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/certify/twin"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/related"
)

// measure is the one by which toolkits are chosen.
func (b *builder) measure() twin.Measure {
	if b.opts.Vectors != nil {
		return twin.ByMeaning(b.opts.Vectors)
	}
	return twin.Lexical
}

// takeVectors puts the vectors by which something was decided into the suite.
func (b *builder) takeVectors(s *suite.Suite) {
	if b.opts.Vectors == nil {
		return
	}
	for _, r := range b.opts.Vectors.Records() {
		s.Vectors = append(s.Vectors, &r)
	}
}

// chooseToolkits puts every task under the conditions whose toolkits are chosen by looking into the database, and
// proves what comes of it. All toolkits are chosen before any is proven: tools that are made for tasks get their names
// together.
func (b *builder) chooseToolkits(ctx context.Context, s *suite.Suite) (map[string]suite.InstanceCounts, error) {
	combinations, err := condition.ParseCombinations(b.opts.Conditions)
	if err != nil {
		return nil, err
	}
	asked := instances.OfChoice.Alone(combinations)
	if len(asked) == 0 {
		return nil, nil
	}
	b.done.pass = "certify"
	b.done.reset(2 * len(s.Tasks))
	c := &toolkitChoices{builder: b, suite: s, asked: asked, chosen: make([][]*proof.ChosenToolkit, len(s.Tasks))}
	for _, style := range b.opts.Styles {
		c.tools = append(c.tools, s.Tools[style]...)
	}
	if b.opts.Vectors != nil {
		if _, err := b.opts.Vectors.Of(ctx, twin.Texts(c.tools)...); err != nil { // in their order: see makeRequests
			return nil, err
		}
	}
	c.maker = related.NewMaker(c.tools, b.opts.Names, b.opts.Seed)
	c.candidates = map[*task.Tool]*related.Candidate{}
	if err := b.each(ctx, c.choose); err != nil {
		return nil, err
	}
	if err := c.name(); err != nil {
		return nil, err
	}
	made := make([]*proof.ToolkitsMade, len(s.Tasks))
	clean := map[string]*suite.Instance{}
	for _, in := range s.Instances {
		if in.Role == condition.RoleClean && len(in.Conditions) == 0 {
			clean[in.Task] = in
		}
	}
	certifier := proof.NewFaultCertifier(episode.NewStage(s, worldsOf{b}, environment.Limits{}))
	err = b.each(ctx, func(ctx context.Context, src *source) error {
		for i, task := range s.Tasks {
			if task.Database != src.name || src.world == nil {
				continue
			}
			var err error
			if made[i], err = certifier.Toolkits(ctx, src.world, task, clean[task.ID], c.chosen[i]); err != nil {
				return err
			}
			b.done.step()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	account := proof.AccountToolkits(s.Tasks, made)
	return account.Counts, takeToolkits(s, account)
}

// toolkitChoices are toolkits on their way.
type toolkitChoices struct {
	*builder
	suite  *suite.Suite
	asked  []condition.Condition
	tools  []*task.Tool
	maker  *related.Maker
	chosen [][]*proof.ChosenToolkit // by task

	mu         sync.Mutex
	candidates map[*task.Tool]*related.Candidate // by the tool that they have before they are named
}

// choose chooses the toolkits of the tasks of one database.
func (c *toolkitChoices) choose(ctx context.Context, src *source) error {
	if src.world == nil {
		return nil
	}
	chooser, err := proof.NewToolkitChooser(ctx, proof.ToolkitConfig{
		Database: src.name, World: src.world, Tools: c.tools, Seed: c.opts.Seed, Measure: c.measure(), Asked: c.asked,
		Makes: c.makes,
	})
	if err != nil {
		return err
	}
	defer chooser.Close()
	for i, task := range c.suite.Tasks {
		if task.Database != src.name {
			continue
		}
		query, err := sqlast.Parse(task.SQL, src.schema)
		if err != nil {
			return fmt.Errorf("task %s: %w", task.ID, err)
		}
		if c.chosen[i], err = chooser.Choose(ctx, task, query, c.ways[task.ID]); err != nil {
			return fmt.Errorf("task %s: %w", task.ID, err)
		}
		c.done.step()
	}
	return nil
}

func (c *toolkitChoices) makes(task *task.Task, query *sqlast.Query, _ condition.Condition) ([]proof.MadeTool, error) {
	list, err := c.maker.Candidates(task, query)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	made := make([]proof.MadeTool, len(list))
	for i, candidate := range list {
		made[i] = proof.MadeTool{Tool: candidate.Tool, Change: candidate.Change}
		c.candidates[candidate.Tool] = candidate
	}
	return made, nil
}

// name gives the tools that were chosen of those that could be made their names, and puts them into the suite.
func (c *toolkitChoices) name() error {
	var chosen []*related.Candidate
	var rivals []*twin.Rival
	for _, of := range c.chosen {
		for _, toolkit := range of {
			if toolkit.Rivals == nil {
				continue
			}
			for i := range toolkit.Rivals.Added {
				if r := &toolkit.Rivals.Added[i]; r.Made {
					chosen, rivals = append(chosen, c.candidates[r.Tool]), append(rivals, r)
				}
			}
		}
	}
	var err error
	if c.suite.Made, err = c.maker.Name(chosen); err != nil {
		return err
	}
	for i, r := range rivals {
		r.Tool = chosen[i].Tool
	}
	return nil
}

// takeToolkits adds instances whose toolkits are chosen to the suite. Tools that were made for instances that do not
// hold go.
func takeToolkits(s *suite.Suite, account *proof.ToolkitAccount) error {
	s.Rejected = append(s.Rejected, account.Refused...)
	s.Twins = proof.MergeTwins(append(s.Twins, account.Twins...))
	named := map[string]bool{}
	tasks := s.Index()
	var played []*suite.Played
	for i, in := range account.Instances {
		s.Instances = append(s.Instances, in)
		s.Certificates = append(s.Certificates, account.Certified[i].Certificate)
		played = append(played, account.Certified[i].Played...)
		for _, name := range in.Toolkit {
			named[tasks[in.Task].Style+"\n"+tasks[in.Task].Database+"\n"+name] = true
		}
	}
	s.Made = slices.DeleteFunc(s.Made, func(t *task.Tool) bool { return !named[t.Style+"\n"+t.Database+"\n"+t.Name] })
	packed, err := suite.Pack(played)
	s.Transcripts = append(s.Transcripts, packed...)
	return err
}
