package recheck

import (
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/twin"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/related"
)

// oldTools is the [instances.Toolmaker] that makes nothing: it returns the made tools of the suite that follow from the
// task's query by one change. They are not made again because their texts depend on what people wrote about the
// database.
type oldTools struct {
	*verifier
	maker     *related.Maker
	instances map[string]*suite.Instance // by id
}

func newOldTools(v *verifier, tools []*task.Tool) *oldTools {
	o := &oldTools{
		verifier: v, maker: related.NewMaker(tools, "", v.suite.Manifest.Seed), instances: map[string]*suite.Instance{},
	}
	for _, in := range v.suite.Instances {
		o.instances[in.ID] = in
	}
	return o
}

// Candidates implements [instances.Toolmaker].
func (o *oldTools) Candidates(t *task.Task, query *sqlast.Query, asked condition.Condition) ([]instances.MadeTool,
	error) {
	id := suite.InstanceID{Task: t.ID, Specification: suite.Under("", asked.String())}.String()
	in := o.instances[id]
	if in == nil || len(in.Conditions) != 1 {
		return nil, nil
	}
	choice, err := in.Conditions[0].Choice()
	if err != nil {
		o.report(id, "%v", err)
		return nil, nil
	}
	var list []instances.MadeTool
	for _, a := range choice.Added {
		at := slices.IndexFunc(o.suite.Made, func(made *task.Tool) bool {
			return made.Name == a.Tool && made.Style == t.Style && made.Database == t.Database
		})
		if at < 0 || a.Change == "" {
			continue
		}
		change, err := o.maker.ChangeOf(query, o.suite.Made[at])
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.ID, err)
		}
		if change != "" {
			list = append(list, instances.MadeTool{Tool: o.suite.Made[at], Change: change})
		}
	}
	return list, nil
}

// Name implements [instances.Toolmaker].
func (o *oldTools) Name(rivals []*twin.Rival) ([]*task.Tool, error) {
	return slices.DeleteFunc(slices.Clone(o.suite.Made), func(made *task.Tool) bool {
		return !slices.ContainsFunc(rivals, func(r *twin.Rival) bool { return r.Tool == made })
	}), nil
}
