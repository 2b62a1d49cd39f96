package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// fleiss gives Fleiss' kappa of so many raters who put each subject into one of two classes (Fleiss 1971, "Measuring
// nominal scale agreement among many raters"), and the observed agreement. yes holds, by subject, how many raters said
// yes. kappa is nil where chance alone would make them agree on all: then all raters said the same of everything. Both
// are nil without subjects, or with fewer than two raters.
func fleiss(yes []int, raters int) (kappa, agreement *float64) {
	if len(yes) == 0 || raters < 2 {
		return nil, nil
	}
	n, pairs := float64(raters), float64(raters*(raters-1))
	observed, said := 0.0, 0.0
	for _, k := range yes {
		a, b := float64(k), n-float64(k)
		observed += (a*(a-1) + b*(b-1)) / pairs
		said += a
	}
	observed /= float64(len(yes))
	p := said / (n * float64(len(yes)))
	chance := p*p + (1-p)*(1-p)
	if said == 0 || said == n*float64(len(yes)) {
		return nil, &observed
	}
	v := (observed - chance) / (1 - chance)
	return &v, &observed
}

// kappaTable says whether agents fail on the same instances.
func (m *material) kappaTable() *Table {
	t := &Table{Columns: []Column{nameColumn("style", "style"), nameColumn("world", "world"),
		nameColumn("errors", "errors"),
		column("agents", 0, "agents"), column("instances", 0, "instances"), column("all right", 2, "all_right"),
		column("none right", 2, "none_right"),
		column("agreement", 1, "agreement"), column("Fleiss' kappa", 0, "kappa"), nameColumn("of", "raters")}}
	t.Notes = []string{
		"Over the instances of which every agent has a valid first trial, right or wrong. agreement: the share of pairs of agents that agree. 1: they " +
			"fail on the same instances; 0: as by chance.",
	}
	type key struct{ style, world, errors string }
	verdicts := map[key]map[string]map[string]bool{} // by rater and instance
	for i := range m.groups {
		g := &m.groups[i]
		rater := strings.Join(slices.DeleteFunc([]string{g.subject.Run, g.subject.Agent, g.subject.Protocol, g.subject.Arm},
			func(s string) bool { return s == "" }), " ")
		for _, s := range g.settings() {
			if s.world == "" || s.request != "" {
				continue
			}
			for errors, rows := range map[string][]Row{"N": s.clean, "Y": s.struck} {
				for j := range rows {
					e := &rows[j].Grade
					if !e.Valid || e.Trial != 0 {
						continue
					}
					k := key{g.style, s.world, errors}
					if verdicts[k] == nil {
						verdicts[k] = map[string]map[string]bool{}
					}
					if verdicts[k][rater] == nil {
						verdicts[k][rater] = map[string]bool{}
					}
					verdicts[k][rater][e.Instance] = e.Success
				}
			}
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(verdicts), func(a, b key) int {
		return cmp.Or(compareStyles(a.style, b.style), compareWorlds(a.world, b.world), cmp.Compare(a.errors, b.errors))
	}) {
		raters := slices.Sorted(maps.Keys(verdicts[k]))
		if len(raters) < 2 {
			continue
		}
		yes := agreed(verdicts[k])
		all, nobody := 0, 0
		for _, n := range yes {
			all += one(n == len(raters))
			nobody += one(n == 0)
		}
		kappa, agreement := fleiss(yes, len(raters))
		why := "no instance has a valid episode of every agent"
		l := newLine()
		l.text("style", k.style)
		l.text("world", k.world)
		l.text("errors", k.errors)
		l.count("agents", len(raters))
		l.count("instances", len(yes))
		l.count("all_right", all)
		l.count("none_right", nobody)
		l.value("agreement", agreement, percent, why)
		if len(yes) > 0 {
			why = "all agents came out the same everywhere"
		}
		l.value("kappa", kappa, func(v *float64) string { return strconv.FormatFloat(*v, 'f', 3, 64) }, why)
		l.text("raters", strings.Join(raters, ", "))
		t.add(l)
	}
	return t.orNone("it takes " + needsAgents)
}

// agreed counts, of each instance that all raters judged, in the order of instances, how many said yes.
func agreed(verdicts map[string]map[string]bool) []int {
	counts, right := map[string]int{}, map[string]int{}
	for _, list := range verdicts {
		for instance, success := range list {
			counts[instance]++
			right[instance] += one(success)
		}
	}
	var yes []int
	for _, instance := range slices.Sorted(maps.Keys(counts)) {
		if counts[instance] == len(verdicts) {
			yes = append(yes, right[instance])
		}
	}
	return yes
}
