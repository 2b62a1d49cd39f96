package papers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/statistics"
	"github.com/seatrial/seatrial/internal/report/table"
)

const needsFresh = "runs of the same agents with --world K and without"

// freshTable compares success on fresh worlds with success on the published databases, paired by task: an agent that
// has read the published answers is better there.
func (m *material) freshTable() *table.Table {
	type row struct {
		*report.Group
		condition     string
		tasks         int
		before, after *float64
		gap           statistics.Estimate
		lost, gained  int
		p             *float64
	}
	var rows []row
	unpaired := false
	m.each(func(g *report.Group) bool { return report.ArmOf(g.Arm).World != 0 }, func(g *report.Group) {
		published := m.publishedOf(g)
		conditions, byCondition := report.Partition(g.Rows, func(r *report.Row) string { return r.Condition })
		for _, specification := range conditions {
			x := row{Group: g, condition: specification}
			clusters, blocks := statistics.Clusters{}, statistics.Clusters{}
			var before, after float64
			tasks, fresh := report.Partition(byCondition[specification], report.ByTask)
			for _, task := range tasks {
				is, was := report.RateOf(fresh[task]), report.RateOf(published[[2]string{task, specification}])
				if is == nil || was == nil {
					continue
				}
				x.tasks++
				clusters.Add(fresh[task][0].Cluster, *was-*is, 1)
				blocks.Add(fresh[task][0].Block, *was-*is, 1)
				before, after = before+*was, after+*is
				x.lost += one(*was > 0.5 && *is <= 0.5)
				x.gained += one(*is > 0.5 && *was <= 0.5)
			}
			x.before, x.after = statistics.Share(before, x.tasks), statistics.Share(after, x.tasks)
			x.gap = clusters.Estimate(-1, m.options.Options, g.Stream("fresh", specification)...)
			if unpaired = unpaired || x.tasks == 0; x.tasks > 0 {
				p := blocks.SignFlip(m.options.Seed, g.Stream("fresh", specification)...)
				x.p = &p
			}
			rows = append(rows, x)
		}
	})
	const why = "no task has valid episodes on both"
	t := table.Make("", rows, report.CohortColumns[row](), []table.Column[row]{
		table.Text("labels", "labels", func(r row) string { return m.labels(r.Group) }),
		table.Count("world", "world", 0, func(r row) int { return report.ArmOf(r.Arm).World }),
		table.Text("condition", "condition", func(r row) string { return cmp.Or(r.condition, "clean") }),
		table.Count("tasks", "tasks", 0, func(r row) int { return r.tasks }),
		table.Number("published", "published", 0, table.Percent, why, func(r row) *float64 { return r.before }),
		table.Number("fresh", "fresh", 0, table.Percent, why, func(r row) *float64 { return r.after }),
	}, estimateColumns("gap", "gap", 0, 1, table.Points, table.Points, why,
		func(r row) statistics.Estimate { return r.gap }),
		[]table.Column[row]{
			table.Count("lost", "lost", 2, func(r row) int { return r.lost }),
			table.Count("gained", "gained", 2, func(r row) int { return r.gained }),
			table.Number("p", "p", 3, table.PValue, why, func(r row) *float64 { return r.p }),
		}).WithNotes("gap: success on the published databases less success on the fresh world, in percentage points, " +
		"over the " +
		"tasks that have both; a task counts once. A gap that chance does not explain was memorised, not found out. " +
		"lost: right " +
		"in most episodes on the published database and not on the fresh world; gained: the other way round. p: a " +
		"sign-flip " +
		"permutation test by task.")
	if unpaired {
		t.WithNotes("Rows without tasks: no run was given in which the same agent, with the same protocol and labels, " +
			"played the " +
			"same suite on its published databases.")
	}
	for _, name := range slices.Sorted(maps.Keys(m.sets)) {
		t.WithNotes(leftOutNote(name, m.sets[name].LeftOut))
	}
	return t
}

func leftOutNote(name string, left map[string]int) string {
	if len(left) == 0 {
		return ""
	}
	var reasons []string
	n := 0
	for _, reason := range slices.Sorted(maps.Keys(left)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, left[reason]))
		n += left[reason]
	}
	return fmt.Sprintf("%s leaves out %d instances on its fresh worlds: %s.", name, n, strings.Join(reasons, ", "))
}

// publishedOf returns the rows of the same agent in the same arm on the published databases, by task and conditions:
// those of the same suite and labels.
func (m *material) publishedOf(g *report.Group) map[[2]string][]*report.Row {
	arm := report.ArmOf(g.Arm)
	arm.World = 0
	rows := map[[2]string][]*report.Row{}
	m.each(func(o *report.Group) bool {
		return o.Style == g.Style && o.Agent == g.Agent && o.Protocol == g.Protocol && o.Arm == arm.String() &&
			m.sameSuite(o, g) && m.labels(o) == m.labels(g)
	}, func(o *report.Group) {
		for _, r := range o.Rows {
			key := [2]string{r.Grade.Task, r.Condition}
			rows[key] = append(rows[key], r)
		}
	})
	return rows
}
