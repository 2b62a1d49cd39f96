package proof

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/twin"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// CheckNoRival says of an expanded toolkit that no single call to an added tool, with literals of the request, gives
// gold.
const CheckNoRival = "no_added_tool_gives_gold"

// ReasonRival is why an expanded toolkit is not published: a tool in it turned out to be as good as those of the plans.
const ReasonRival = "added_tool_reaches_answer"

// ToolkitReasons explains why a task is not put under a condition whose toolkit is chosen, beside [twin.Refusals] and
// [FaultReasons].
func ToolkitReasons() map[string]string {
	return map[string]string{ReasonRival: "one call to a tool that was to be added gives the right answer"}
}

// MadeTool is a tool that was made for a task.
type MadeTool struct {
	Tool   *task.Tool
	Change string // a kind of package related
}

// ToolkitConfig says of which database the tasks are.
type ToolkitConfig struct {
	Database string
	World    *database.World
	Tools    []*task.Tool // of all styles, in the suite's order
	Seed     uint64
	Measure  twin.Measure          // of similarity
	Asked    []condition.Condition // conditions whose toolkits are chosen, as they were asked for
	// Makes gives tools made for a task in the order in which they are to be tried, where the database has too few.
	Makes func(task *task.Task, query *sqlast.Query, asked condition.Condition) ([]MadeTool, error)
}

// ToolkitChooser chooses toolkits for the tasks of one database. It is not safe for concurrent use.
type ToolkitChooser struct {
	config ToolkitConfig
	finder *twin.Finder
	ways   *FoundPaths // of the task at hand
}

// NewToolkitChooser reads what the tools of a database read.
func NewToolkitChooser(ctx context.Context, c ToolkitConfig) (*ToolkitChooser, error) {
	t := &ToolkitChooser{config: c}
	var err error
	t.finder, err = twin.NewFinder(ctx, twin.Config{
		Database: c.Database, World: c.World, Tools: c.Tools, Seed: c.Seed, Measure: c.Measure,
		Search: func(_ context.Context, _ *task.Task, tools []*task.Tool) ([]string, int, error) {
			found, searched := t.ways.beyond(tools)
			return found, searched, nil
		},
	})
	return t, err
}

// Close frees what the chooser holds.
func (t *ToolkitChooser) Close() { t.finder.Close() }

// ChosenToolkit is a toolkit for one task under one condition, or why there is none.
type ChosenToolkit struct {
	Asked   condition.Condition
	Choice  *twin.Choice // of replace-tool
	Rivals  *twin.Rivals // of conditions that add tools
	Changes []string     // by rival: how it was made, "" for tools of the database
	Refused *suite.Rejection
}

// Choose chooses a toolkit for a task under each condition. Ways are those that [Prover.Paths] found, for replace-tool.
func (t *ToolkitChooser) Choose(
	ctx context.Context, task *task.Task, query *sqlast.Query, ways *FoundPaths,
) ([]*ChosenToolkit, error) {
	t.ways = ways
	var list []*ChosenToolkit
	for _, asked := range t.config.Asked {
		made, err := asked.Choice()
		if err != nil {
			return nil, err
		}
		c := &ChosenToolkit{Asked: asked}
		var refusal *twin.Refusal
		switch asked.Name {
		case condition.NameReplaceTool:
			if c.Choice, refusal, err = t.finder.Replace(ctx, task, query, pathTools(task), made.Tools); err == nil &&
				refusal == nil {
				refusal, err = t.check(ctx, task, query, c.Choice)
			}
		case condition.NameRelatedTools:
			refusal, err = t.related(ctx, task, query, c, made.Tools)
		case condition.NameUnrelatedTools:
			c.Rivals, refusal, err = t.finder.Unrelated(ctx, task, made.Tools)
		default:
			err = fmt.Errorf("nothing chooses toolkits under %s", asked)
		}
		if err != nil {
			return nil, err
		}
		if refusal != nil {
			c.refuse(task, refusal.Reason, refusal.Message)
		}
		list = append(list, c)
	}
	return list, nil
}

func (c *ChosenToolkit) refuse(task *task.Task, reason, message string) {
	c.Choice, c.Rivals = nil, nil
	c.Refused = &suite.Rejection{
		What: "instance", ID: instances.AskedID(task, c.Asked), Corpus: task.Corpus, Database: task.Database,
		Style:  task.Style,
		Reason: reason, Message: message,
	}
}

// check executes what was chosen again.
func (t *ToolkitChooser) check(
	ctx context.Context, task *task.Task, query *sqlast.Query, choice *twin.Choice,
) (*twin.Refusal, error) {
	broken, err := t.finder.Check(ctx, task, query, choice)
	if err != nil || broken == "" {
		return nil, err
	}
	return &twin.Refusal{Reason: ReasonNotHopeless, Message: broken}, nil
}

func (t *ToolkitChooser) related(
	ctx context.Context, tk *task.Task, query *sqlast.Query, c *ChosenToolkit, n int,
) (*twin.Refusal, error) {
	changes := map[*task.Tool]string{}
	rivals, refusal, err := t.finder.Related(ctx, tk, n, func() ([]*task.Tool, error) {
		made, err := t.config.Makes(tk, query, c.Asked)
		var tools []*task.Tool
		for _, m := range made {
			tools, changes[m.Tool] = append(tools, m.Tool), m.Change
		}
		return tools, err
	})
	if err != nil || refusal != nil {
		return refusal, err
	}
	c.Rivals = rivals
	for i := range rivals.Added {
		c.Changes = append(c.Changes, changes[rivals.Added[i].Tool])
	}
	return nil, nil
}

// pathTools lists the tools of the right ways of a task beside its plans.
func pathTools(task *task.Task) []string {
	var names []string
	for i := range task.Paths {
		for j := range task.Paths[i].Calls {
			names = append(names, task.Paths[i].Calls[j].Tool)
		}
	}
	return names
}

// ToolkitsMade is what came of a task under the conditions whose toolkits are chosen.
type ToolkitsMade struct {
	Instances []*suite.Instance
	Certified []*Certified // of each
	Refused   []*suite.Rejection
	Twins     []*suite.Twin
}

// Toolkits makes the instances of what was chosen for a task and proves them: incomplete ones as hopeless instances are
// proven, complete and expanded ones by playing the plan with what they show. Where one of a pair does not hold,
// neither is published. The suite of the certifier's stage has to hold the tools that were made. The error is
// Seatrial's own failure.
func (f *FaultCertifier) Toolkits(
	ctx context.Context, w *database.World, task *task.Task, clean *suite.Instance, chosen []*ChosenToolkit,
) (*ToolkitsMade, error) {
	made := &ToolkitsMade{}
	for _, c := range chosen {
		if c.Refused == nil {
			var err error
			if c.Choice != nil {
				err = f.replaced(ctx, made, task, clean, c)
			} else {
				err = f.expanded(ctx, made, w, task, clean, c)
			}
			if err != nil {
				return nil, fmt.Errorf("task %s: condition %s: %w", task.ID, c.Asked, err)
			}
		}
		if c.Refused != nil {
			made.Refused = append(made.Refused, c.Refused)
		}
	}
	return made, nil
}

func thousandths(similarity float64) int { return int(math.Round(1000 * similarity)) }

// replaced makes the pair of replace-tool.
func (f *FaultCertifier) replaced(
	ctx context.Context, made *ToolkitsMade, task *task.Task, clean *suite.Instance, c *ChosenToolkit,
) error {
	choice := c.Choice
	var replaced []condition.Replaced
	for _, r := range choice.Replaced {
		replaced = append(replaced, condition.Replaced{Tool: r.Tool, By: r.By, Similarity: thousandths(r.Similarity)})
	}
	instances, err := instances.ReplacedInstances(clean, task, c.Asked, choice.Toolkit, replaced)
	if err != nil {
		return err
	}
	incomplete, complete := instances[0], instances[1]
	proof, err := f.Certify(ctx, incomplete, clean)
	if err != nil {
		return err
	}
	if proof.Reason != "" {
		c.refuse(task, proof.Reason, proof.Message)
		return nil
	}
	if cert := proof.Certificate; choice.Twin != nil {
		cert.Fault.Twin, cert.Checks = choice.Twin.ID, append(cert.Checks, CheckTwin)
	} else {
		cert.Fault.Searched, cert.Checks = choice.Searched, append(cert.Checks, CheckBounded)
	}
	shown, trouble, err := Certify(ctx, f.stage, complete)
	if err != nil {
		return err
	}
	if trouble != "" {
		c.refuse(task, ReasonUncertified, trouble)
		return nil
	}
	made.Instances = append(made.Instances, incomplete, complete)
	made.Certified = append(made.Certified, proof, &Certified{Certificate: shown})
	if choice.Twin != nil {
		made.Twins = append(made.Twins, choice.Twin)
	}
	return nil
}

// expanded makes the instance of a condition that adds tools. A tool that was made for several tasks may take arguments
// of other types than it took when it was chosen, so that each is executed again.
func (f *FaultCertifier) expanded(
	ctx context.Context, made *ToolkitsMade, w *database.World, task *task.Task, clean *suite.Instance, c *ChosenToolkit,
) error {
	var added []condition.Added
	for i := range c.Rivals.Added {
		r := &c.Rivals.Added[i]
		reached, err := twin.Reaches(ctx, w, task, r.Tool)
		if err != nil {
			return err
		}
		if reached {
			c.refuse(task, ReasonRival, "one call of "+r.Tool.Name+" gives the answer")
			return nil
		}
		one := condition.Added{Tool: r.Tool.Name}
		if r.Made {
			one.Change = c.Changes[i]
		} else {
			one.Similarity = thousandths(r.Similarity)
		}
		added = append(added, one)
	}
	in, err := instances.ExpandedInstance(clean, task, c.Asked, c.Rivals.Gold, added)
	if err != nil {
		return err
	}
	cert, trouble, err := Certify(ctx, f.stage, in)
	if err != nil {
		return err
	}
	if trouble != "" {
		c.refuse(task, ReasonUncertified, trouble)
		return nil
	}
	cert.Checks = append(cert.Checks, CheckNoRival)
	made.Instances, made.Certified = append(made.Instances, in), append(made.Certified, &Certified{Certificate: cert})
	return nil
}

// ToolkitAccount is what became of the tasks of a suite under the conditions whose toolkits are chosen.
type ToolkitAccount struct {
	ToolkitsMade
	Counts map[string]suite.InstanceCounts // by what stands behind the task's id in those of the instances
}

// AccountToolkits puts together what was made of tasks, in their order; nil where nothing was tried. Twins stand in the
// order of their ids, each once.
func AccountToolkits(tasks []*task.Task, made []*ToolkitsMade) *ToolkitAccount {
	a := &ToolkitAccount{Counts: map[string]suite.InstanceCounts{}}
	for i, task := range tasks {
		if made[i] == nil {
			continue
		}
		for j, in := range made[i].Instances {
			name := in.ID[len(task.ID)+1:]
			count := a.Counts[name]
			count.Made++
			count.Certified++
			if proof := made[i].Certified[j].Certificate.Fault; proof != nil && proof.Twin == "" {
				count.Bounded++
			}
			a.Counts[name] = count
		}
		for _, r := range made[i].Refused {
			name := r.ID[len(task.ID)+1:]
			count := a.Counts[name]
			count.Refuse(r.Reason)
			a.Counts[name] = count
		}
		a.Instances, a.Certified = append(a.Instances, made[i].Instances...), append(a.Certified, made[i].Certified...)
		a.Refused, a.Twins = append(a.Refused, made[i].Refused...), append(a.Twins, made[i].Twins...)
	}
	a.Twins = MergeTwins(a.Twins)
	return a
}

// MergeTwins puts twins in the order of their ids, each once.
func MergeTwins(twins []*suite.Twin) []*suite.Twin {
	list := slices.Clone(twins)
	slices.SortStableFunc(list, func(x, y *suite.Twin) int { return strings.Compare(x.ID, y.ID) })
	return slices.CompactFunc(list, func(x, y *suite.Twin) bool { return x.ID == y.ID })
}
