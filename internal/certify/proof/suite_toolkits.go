package proof

import (
	"context"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/twin"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/related"
)

// SettingSimilarity is the setting of a suite that names the measure by which tools are similar; it stands where
// toolkits are chosen.
const SettingSimilarity = "similarity"

// makeToolkits chooses toolkits for the tasks of one database again. Tools that were made are not made again, as their
// texts depend on what people wrote about the database: those of the suite are held to come of the task's query by one
// change, and to be none of the database's own.
func (v *suiteVerifier) makeToolkits(
	ctx context.Context, w *database.World, sch *schema.Database, tools []*task.Tool, tasks []int,
) error {
	asked := instances.OfChoice.Alone(v.combinations)
	if len(asked) == 0 {
		return nil
	}
	measure, known := v.measure()
	if !known {
		return nil
	}
	maker := related.NewMaker(tools, "", v.suite.Manifest.Seed)
	chooser, err := NewToolkitChooser(ctx, ToolkitConfig{
		Database: sch.Name, World: w, Tools: tools, Seed: v.suite.Manifest.Seed, Measure: measure, Asked: asked,
		Makes: func(task *task.Task, query *sqlast.Query, asked condition.Condition) ([]MadeTool, error) {
			return v.madeFor(maker, task, query, asked)
		},
	})
	if v.lacksVector(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer chooser.Close()
	return v.eachPlanned(sch, tasks, func(i int, t *task.Task, query *sqlast.Query, ways *FoundPaths) error {
		chosen, err := chooser.Choose(ctx, t, query, ways)
		if err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
		made, err := v.faulty.Toolkits(ctx, w, t, v.instances[t.ID], chosen)
		if err != nil {
			return err
		}
		v.mu.Lock()
		v.toolkits[i] = made
		v.mu.Unlock()
		return nil
	})
}

// measure gives the measure by which the toolkits of the suite were chosen; known is false for one that is not at hand.
func (v *suiteVerifier) measure() (measure twin.Measure, known bool) {
	measure = twin.Lexical
	if v.vectors != nil {
		measure = twin.ByMeaning(v.vectors)
	}
	if name := v.suite.Manifest.Settings[SettingSimilarity]; name != measure.Name {
		v.report("suite", "nothing measures similarity as %q", name)
		return measure, false
	}
	return measure, true
}

// madeFor gives the tools of the suite that were made for an instance and could have been.
func (v *suiteVerifier) madeFor(
	maker *related.Maker, tk *task.Task, query *sqlast.Query, asked condition.Condition,
) ([]MadeTool, error) {
	id := instances.AskedID(tk, asked)
	at := slices.IndexFunc(v.suite.Instances, func(in *suite.Instance) bool {
		return in.ID == id &&
			instances.OfChoice.Holds(in)
	})
	if at < 0 {
		return nil, nil
	}
	choice, err := v.suite.Instances[at].Conditions[0].Choice()
	if err != nil {
		v.report(id, "%v", err)
		return nil, nil
	}
	var list []MadeTool
	for _, a := range choice.Added {
		at := slices.IndexFunc(v.suite.Made, func(t *task.Tool) bool {
			return t.Name == a.Tool && t.Style == tk.Style && t.Database == tk.Database
		})
		if at < 0 || a.Change == "" {
			continue
		}
		change, err := maker.ChangeOf(query, v.suite.Made[at])
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", tk.ID, err)
		}
		if change != "" {
			list = append(list, MadeTool{Tool: v.suite.Made[at], Change: change})
		}
	}
	return list, nil
}

// compareToolkits compares the instances whose toolkits were chosen again with those of the suite, and the tools that
// were made with those that some instance names.
func (v *suiteVerifier) compareToolkits() {
	made := make([]*ToolkitsMade, len(v.suite.Tasks))
	for i := range made {
		made[i] = v.toolkits[i]
	}
	account := AccountToolkits(v.suite.Tasks, made)
	v.twins = append(v.twins, account.Twins...)
	want := map[string]string{}
	for i, in := range account.Instances {
		want[in.ID] = written(in, account.Certified[i].Certificate)
	}
	v.compareMade(instances.OfChoice.Holds, want, account.Refused)
	for _, r := range v.suite.Rejected {
		again := func(a *suite.Rejection) bool { return a.ID == r.ID }
		if r.What == "instance" && instances.OfChoice.HoldsID(r.ID) && !slices.ContainsFunc(account.Refused, again) {
			v.report(r.ID, "nothing that the suite was built with refuses the instance")
		}
	}
	named := map[string]bool{}
	tasks := v.suite.Index()
	for _, in := range account.Instances {
		for _, name := range in.Toolkit {
			named[tasks[in.Task].Style+"\n"+tasks[in.Task].Database+"\n"+name] = true
		}
	}
	for _, t := range v.suite.Made {
		if !named[t.Style+"\n"+t.Database+"\n"+t.Name] {
			v.report("suite", "no instance names the made tool %s of %s", t.Name, t.Database)
		}
	}
}

// settleMade leaves out made tools that bear the name of another, which nothing could show.
func (v *suiteVerifier) settleMade() {
	place := func(t *task.Tool) string {
		if t.Style == task.StyleFunc {
			return t.Style + "\n" + t.Name
		}
		return t.Style + "\n" + t.Database + "\n" + t.Name
	}
	taken := map[string]bool{}
	for _, style := range slices.Sorted(keysOf(v.suite.Tools)) {
		for _, t := range v.suite.Tools[style] {
			taken[place(t)] = true
		}
	}
	settled := *v.suite
	settled.Made = nil
	for _, t := range v.suite.Made {
		if taken[place(t)] {
			v.report("suite", "the made tool %s of %s bears the name of another", t.Name, t.Database)
			continue
		}
		taken[place(t)] = true
		settled.Made = append(settled.Made, t)
	}
	v.suite = &settled
}

// compareMade compares instances that were made again, each with its certificate as it would be written, and the
// refusals of others, with those of the suite.
func (v *suiteVerifier) compareMade(of func(*suite.Instance) bool, want map[string]string, refused []*suite.Rejection) {
	for _, in := range v.suite.Instances {
		if !of(in) {
			continue
		}
		again, known := want[in.ID]
		switch is := written(in, v.certificates[in.ID]); {
		case !known:
			v.report(in.ID, "nothing that the suite was built with gives the instance")
		case is != again:
			v.report(in.ID, "instance and certificate were %s and are %s", shorten([]byte(is)), shorten([]byte(again)))
		}
		delete(want, in.ID)
		v.step()
	}
	for id := range want {
		v.report(id, "the instance is not in the suite")
	}
	reasons := map[string]string{}
	for _, r := range refused {
		reasons[r.ID] = r.Reason
	}
	for _, r := range v.suite.Rejected {
		if reason, known := reasons[r.ID]; known && r.What == "instance" {
			if reason != r.Reason {
				v.report(r.ID, "the instance is refused as %s, not as %s", reason, r.Reason)
			}
			delete(reasons, r.ID)
		}
	}
	for id, reason := range reasons {
		v.report(id, "the instance is refused as %s, and the suite does not say so", reason)
	}
}

// compareTwins compares the twins that were found again with those of the suite.
func (v *suiteVerifier) compareTwins() {
	if written(v.suite.Twins) != written(MergeTwins(v.twins)) {
		v.report("suite", "its twin worlds are not those that are found again")
	}
}
