package proof

import (
	"context"
	"fmt"
	"strings"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// makeHopeless makes the hopeless instances of one database again.
func (v *suiteVerifier) makeHopeless(
	ctx context.Context, w *database.World, sch *schema.Database, tools []*task.Tool, tasks []int,
) error {
	maker, err := NewHopelessMaker(ctx, HopelessConfig{
		Database: sch.Name, World: w, Tools: tools, Seed: v.suite.Manifest.Seed, Kinds: v.kinds, Faults: v.faulty,
	})
	if err != nil {
		return err
	}
	defer maker.Close()
	return v.eachPlanned(sch, tasks, func(i int, t *task.Task, query *sqlast.Query, ways *FoundPaths) error {
		made, err := maker.Make(ctx, t, query, v.instances[t.ID], ways, v.suite.Toolkit(&suite.Instance{}, t))
		if err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
		v.mu.Lock()
		v.hopeless[i] = made
		v.mu.Unlock()
		return nil
	})
}

// eachPlanned hands on the tasks of one database that have a query and a clean instance, with the paths that were found
// to their answers. What a task lacks is reported elsewhere.
func (v *suiteVerifier) eachPlanned(
	sch *schema.Database, tasks []int, do func(i int, t *task.Task, query *sqlast.Query, ways *FoundPaths) error,
) error {
	for _, i := range tasks {
		t := v.suite.Tasks[i]
		query, err := sqlast.Parse(t.SQL, sch)
		if err != nil || v.instances[t.ID] == nil {
			continue
		}
		v.mu.Lock()
		ways := v.ways[t.ID]
		v.mu.Unlock()
		if err := do(i, t, query, ways); err != nil {
			return err
		}
	}
	return nil
}

// compareHopeless compares the hopeless instances that were made again with those of the suite: instances, certificates
// and refusals.
func (v *suiteVerifier) compareHopeless() {
	if len(v.kinds) == 0 {
		return
	}
	clean := make([]*suite.Instance, len(v.suite.Tasks))
	made := make([]*HopelessMade, len(v.suite.Tasks))
	for i, t := range v.suite.Tasks {
		clean[i], made[i] = v.instances[t.ID], v.hopeless[i]
	}
	account := AccountHopeless(clean, made, v.kinds, v.limit)
	want := map[string]string{}
	for i, in := range account.Instances {
		want[in.ID] = written(in, account.Certified[i].Certificate)
	}
	v.compareMade(instances.OfHopeless, want, account.Refused)
	v.twins = append(v.twins, account.Twins...)
}

// written is how things stand in a suite, for comparing them.
func written(things ...any) string {
	var b strings.Builder
	for _, thing := range things {
		text, err := task.Marshal(thing)
		if err != nil {
			return err.Error() // what cannot be written was never in a suite
		}
		b.Write(text)
	}
	return b.String()
}
