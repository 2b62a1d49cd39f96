package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// freshTable holds success on fresh worlds against success on the published databases, paired by task: an agent that
// read the published answers somewhere is better there, one that finds them out is not.
func (m *material) freshTable() *Table {
	t := &Table{Columns: append(groupColumns(), nameColumn("labels", "labels"), column("world", 0, "world"),
		nameColumn("condition", "condition"),
		column("tasks", 0, "tasks"), column("published", 0, "published"), column("fresh", 0, "fresh"),
		column("gap", 0, "gap"),
		column("95 % interval", 1, intervalKeys("gap_ci95")...), column("lost", 2, "lost"), column("gained", 2, "gained"),
		column("McNemar p", 3, "mcnemar_p"))}
	t.Notes = []string{
		"gap: success on the published databases less success on the fresh world, in percentage points, over the tasks that have both, a task counting once. What is not " +
			"explained by chance was remembered, not found out. lost: right in most episodes on the published database and not on the fresh world; " +
			"gained: the other way; p is McNemar's exact test on them.",
	}
	starred, unpaired := false, false
	for i := range m.groups {
		g := &m.groups[i]
		arm := armOf(g.subject.Arm)
		if arm.World == 0 {
			continue
		}
		published := m.publishedOf(g)
		_, byCondition := partition(g.rows, func(r *Row) string { return r.Condition })
		for _, specification := range slices.Sorted(maps.Keys(byCondition)) {
			pairs := map[string]cluster{}
			var before, after float64
			lost, gained := 0, 0
			_, fresh := partition(byCondition[specification], func(r *Row) string { return r.Grade.Task })
			for _, task := range slices.Sorted(maps.Keys(fresh)) {
				is, ok := successRate(fresh[task])
				was, paired := successRate(published[[2]string{task, specification}])
				if !ok || !paired {
					continue
				}
				pairs[task] = cluster{sum: was - is, weight: 1}
				before, after = before+was, after+is
				lost += one(was > 0.5 && is <= 0.5)
				gained += one(is > 0.5 && was <= 0.5)
			}
			why := "no task has valid episodes on both"
			unpaired = unpaired || len(pairs) == 0
			l := g.line()
			l.text("labels", m.labels(g))
			l.count("world", arm.World)
			l.text("condition", cmp.Or(specification, roleClean))
			l.count("tasks", len(pairs))
			l.value("published", share(before, len(pairs)), percent, why)
			l.value("fresh", share(after, len(pairs)), percent, why)
			l.value("gap", ratio(pairs), points, why)
			ci, method := interval(pairs, -1, m.options, g.names("fresh", specification))
			l.interval("gap_ci95", ci, method, points)
			starred = starred || method == MethodWilson
			l.count("lost", lost)
			l.count("gained", gained)
			p := mcnemar(lost, gained)
			l.value("mcnemar_p", &p, func(v *float64) string { return pValue(*v) }, "")
			t.add(l)
		}
	}
	if unpaired {
		t.Notes = append(t.Notes, "Lines without tasks: no run was given in which the same agent, with the same protocol and labels, played the same suite on "+
			"its published databases.")
	}
	t = t.marked(starred).orNone("it takes " + needsFresh)
	for _, name := range slices.Sorted(maps.Keys(m.sets)) {
		if left := m.sets[name].LeftOut; len(left) > 0 {
			t.Notes = append(t.Notes, leftOutNote(name, left))
		}
	}
	return t
}

func leftOutNote(name string, left map[string]int) string {
	var reasons []string
	n := 0
	for _, reason := range slices.Sorted(maps.Keys(left)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", reason, left[reason]))
		n += left[reason]
	}
	return fmt.Sprintf("%s does without %d instances on its fresh worlds: %s.", name, n, strings.Join(reasons, ", "))
}

// publishedOf gives the rows of the same agent in the same arm on the published databases, by task and conditions:
// those of the same suite and labels.
func (m *material) publishedOf(g *styled) map[[2]string][]Row {
	arm := armOf(g.subject.Arm)
	arm.World = 0
	rows := map[[2]string][]Row{}
	for i := range m.groups {
		o := &m.groups[i]
		if o.style != g.style || o.subject.Agent != g.subject.Agent || o.subject.Protocol != g.subject.Protocol ||
			o.subject.Arm != arm.String() ||
			m.sets[o.run].Suite.Manifest.Digest != m.sets[g.run].Suite.Manifest.Digest || m.labels(o) != m.labels(g) {
			continue
		}
		for _, r := range o.rows {
			key := [2]string{r.Grade.Task, r.Condition}
			rows[key] = append(rows[key], r)
		}
	}
	return rows
}
