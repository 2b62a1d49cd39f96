package proof

import (
	"context"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/twin"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// Checks that the certificate of a hopeless instance names.
const (
	// nothing that its tools give tells the published database from one with another answer
	CheckTwin = "twin_world"
	// its tools are in no right way of one call or two that a search of all tools found
	CheckBounded  = "bounded_search"
	CheckDeclines = "recovery_declines" // the recovery policy declines within the base budget
)

// distractors is how many wrong tools a hopeless instance shows at most: as many as one search for tools shows (Hell or
// High Water, appendix A).
const distractors = 9

// HopelessConfig says of which database the hopeless instances are.
type HopelessConfig struct {
	Database string
	World    *database.World
	Tools    []*task.Tool // of all styles, in the suite's order
	Seed     uint64
	Kinds    []string // kinds that nothing survives
	Faults   *FaultCertifier
}

// HopelessMaker chooses the toolkits of hopeless instances and proves them. It is not safe for concurrent use.
type HopelessMaker struct {
	config HopelessConfig
	finder *twin.Finder
	ways   *FoundPaths // of the task at hand
}

// NewHopelessMaker reads what the tools of a database read.
func NewHopelessMaker(ctx context.Context, c HopelessConfig) (*HopelessMaker, error) {
	h := &HopelessMaker{config: c}
	var err error
	h.finder, err = twin.NewFinder(ctx, twin.Config{
		Database: c.Database, World: c.World, Tools: c.Tools, Seed: c.Seed, Search: h.search,
	})
	return h, err
}

// Close frees what the maker holds.
func (h *HopelessMaker) Close() { h.finder.Close() }

// search is that of [twin.Search].
func (h *HopelessMaker) search(_ context.Context, _ *task.Task, tools []*task.Tool) ([]string, int, error) {
	found, searched := h.ways.beyond(tools)
	return found, searched, nil
}

// beyond says what a search of tools finds that are in no right way of a task. The search of the right ways went
// through all tools of the database, so that it went through all that these can do, too. Where it left something out,
// nothing is known.
func (w *FoundPaths) beyond(tools []*task.Tool) (found []string, searched int) {
	if w == nil || w.Omitted > 0 {
		for _, t := range tools {
			found = append(found, t.Name)
		}
		return found, 0
	}
	return nil, w.Tried
}

// HopelessMade is a task under the kinds that nothing survives.
type HopelessMade struct {
	Instances []*suite.Instance
	Certified []*Certified // of each
	Refused   []*suite.Rejection
	Twin      *suite.Twin // nil where there is none
}

// Make puts one task under each kind, with its harmless variants, and certifies what comes of it. Ways are those that
// [Prover.Paths] found; tools are those that the task's agents are shown without conditions. Where the task has no
// hopeless toolkit, or its certificate does not hold when it is executed, each kind is refused.
func (h *HopelessMaker) Make(
	ctx context.Context, task *task.Task, query *sqlast.Query, clean *suite.Instance, ways *FoundPaths, tools []*task.Tool,
) (*HopelessMade, error) {
	h.ways = ways
	made := &HopelessMade{}
	choice, refusal, err := h.finder.Find(ctx, task, query, pathTools(task), distractors)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		made.refuse(task, h.config.Kinds, refusal.Reason, refusal.Message)
		return made, nil
	}
	switch broken, err := h.finder.Check(ctx, task, query, choice); {
	case err != nil:
		return nil, err
	case broken != "":
		made.refuse(task, h.config.Kinds, ReasonNotHopeless, broken)
		return made, nil
	}
	for _, kind := range h.config.Kinds {
		if err := h.makeKind(ctx, made, task, clean, tools, kind, choice); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(made.Instances, func(in *suite.Instance) bool { return in.Role == condition.RoleHopeless }) {
		made.Twin = choice.Twin
	}
	return made, nil
}

func (m *HopelessMade) refuse(task *task.Task, kinds []string, reason, message string) {
	for _, kind := range kinds {
		m.Refused = append(m.Refused, &suite.Rejection{
			What: "instance", ID: instances.HopelessID(task, kind), Corpus: task.Corpus, Database: task.Database,
			Style:  task.Style,
			Reason: reason, Message: message,
		})
	}
}

// makeKind puts a task under one kind. Where one of its instances does not hold, none is published: a hopeless instance
// is worth something beside its clean pair alone.
func (h *HopelessMaker) makeKind(
	ctx context.Context, made *HopelessMade, task *task.Task, clean *suite.Instance, tools []*task.Tool, kind string,
	choice *twin.Choice,
) error {
	itsInstances, refused, err := instances.HopelessInstances(clean, task, tools, kind,
		instances.WrongTools{Wrong: choice.Toolkit, Gold: choice.Gold})
	if err != nil {
		return err
	}
	if refused != nil {
		refused.ID = instances.HopelessID(task, kind)
		made.Refused = append(made.Refused, refused)
		return nil
	}
	list := make([]*Certified, len(itsInstances))
	for i, in := range itsInstances {
		if list[i], err = h.config.Faults.Certify(ctx, in, clean); err != nil {
			return fmt.Errorf("instance %s: %w", in.ID, err)
		}
		if list[i].Reason != "" {
			made.refuse(task, []string{kind}, list[i].Reason, in.ID+": "+list[i].Message)
			return nil
		}
		if in.Role != condition.RoleHopeless {
			continue
		}
		c := list[i].Certificate
		if choice.Twin != nil {
			c.Fault.Twin, c.Checks = choice.Twin.ID, append(c.Checks, CheckTwin)
		} else {
			c.Fault.Searched, c.Checks = choice.Searched, append(c.Checks, CheckBounded)
		}
	}
	made.Instances, made.Certified = append(made.Instances, itsInstances...), append(made.Certified, list...)
	return nil
}

// HopelessAccount is what became of the tasks of a suite under the kinds that nothing survives.
type HopelessAccount struct {
	Instances []*suite.Instance // by task, and within a task by kind
	Certified []*Certified      // of each
	Refused   []*suite.Rejection
	Twins     []*suite.Twin
	Counts    map[string]suite.InstanceCounts // by what stands behind the task's id in those of the instances
}

// AccountHopeless puts together what was made of tasks, each given by its clean instance, in the order of the suite. Of
// each kind as many tasks are kept as the limit allows, drawn as those of other faults are; 0 is no limit.
func AccountHopeless(clean []*suite.Instance, made []*HopelessMade, kinds []string, limit int) *HopelessAccount {
	account := &HopelessAccount{Counts: map[string]suite.InstanceCounts{}}
	drawn := map[string]map[string]bool{}
	for _, kind := range kinds {
		var able []*suite.Instance
		for i, in := range clean {
			if made[i] != nil && slices.ContainsFunc(made[i].Instances,
				func(h *suite.Instance) bool { return h.Conditions[0].Name == kind }) {
				able = append(able, in)
			}
		}
		drawn[kind] = instances.Draw(able, kind, limit)
	}
	for i, in := range clean {
		if made[i] != nil {
			account.take(in, made[i], drawn)
		}
	}
	return account
}

func (a *HopelessAccount) take(clean *suite.Instance, made *HopelessMade, drawn map[string]map[string]bool) {
	twinned := false
	for i, in := range made.Instances {
		name := in.ID[len(in.Task)+1:]
		count := a.Counts[name]
		if drawn[in.Conditions[0].Name][clean.Task] {
			count.Made++
			count.Certified++
			if in.Role == condition.RoleHopeless {
				twinned = true
				if made.Certified[i].Certificate.Fault.Twin == "" {
					count.Bounded++
				}
			}
			a.Instances, a.Certified = append(a.Instances, in), append(a.Certified, made.Certified[i])
		} else {
			count.NotDrawn++
		}
		a.Counts[name] = count
	}
	if twinned && made.Twin != nil {
		a.Twins = append(a.Twins, made.Twin)
	}
	for _, r := range made.Refused {
		name := r.ID[len(clean.Task)+1:]
		count := a.Counts[name]
		count.Refuse(r.Reason)
		a.Counts[name] = count
		a.Refused = append(a.Refused, r)
	}
}
