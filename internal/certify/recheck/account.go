package recheck

import (
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// account checks that nothing was dropped silently, and that every instance has a task and a certificate.
func (v *verifier) account() {
	if made := v.suite.Manifest.Generator; made != suite.Generator {
		v.report(wholeSuite, "it was made by %s and this is %s: neighbours, mutants and faults may differ", made,
			suite.Generator)
	}
	c := v.suite.Manifest.Counts
	read := 0
	for _, corpus := range v.suite.Manifest.Corpora {
		read += corpus.Examples
	}
	for _, style := range slices.Sorted(maps.Keys(c.Styles)) {
		v.accountStyle(style, c.Styles[style], read)
	}
	if c.Read != read || c.Published+c.Rejected != read || len(v.suite.Tasks) != c.Tasks {
		v.report(wholeSuite,
			"%d examples were read, and %d are counted as published and %d as rejected; it has %d of %d tasks",
			read, c.Published, c.Rejected, len(v.suite.Tasks), c.Tasks)
	}
	v.accountInstances()
	v.pair()
}

// accountInstances checks the counts of instances.
func (v *verifier) accountInstances() {
	certified, refused := map[string]int{}, map[string]int{}
	for _, in := range v.suite.Instances {
		certified[in.Specification().String()]++
	}
	for _, r := range v.suite.Rejected {
		if id, err := suite.ParseInstanceID(r.ID); r.What == suite.WhatInstance && err == nil {
			refused[id.Specification.String()]++
		}
	}
	counts := v.suite.Manifest.Counts.Instances
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c := counts[name]
		if c.Certified != certified[name] || c.Made != certified[name] || c.Refused != refused[name] {
			v.report(wholeSuite,
				"under %s, %d instances are counted as certified and %d as refused; the suite has %d and %d",
				name, c.Certified, c.Refused, certified[name], refused[name])
		}
	}
}

// accountStyle checks that every example that was read is a task of the style or rejected in it.
func (v *verifier) accountStyle(style string, c *suite.Counts, read int) {
	published, variants, rejected := 0, 0, 0
	for _, t := range v.suite.Tasks {
		switch {
		case t.Style != style:
		case t.Variant == "":
			published++
		default:
			variants++
		}
	}
	for _, r := range v.suite.Rejected {
		if r.What == suite.WhatExample && (r.Style == "" || r.Style == style) {
			rejected++
		}
	}
	if published+rejected != read {
		v.report(wholeSuite, "in the style %s, %d examples were read, %d published and %d rejected", style, read, published,
			rejected)
	}
	if published != c.Published || variants != c.Variants || published+variants != c.Tasks {
		v.report(wholeSuite, "in the style %s, %d tasks (%d of them variants) are counted; the suite has %d (%d)",
			style, c.Tasks, c.Variants, published+variants, variants)
	}
}

// pair finds the clean instance and the certificate of every task.
func (v *verifier) pair() {
	tasks := v.suite.Index()
	for _, c := range v.suite.Certificates {
		if v.certificates[c.Instance] != nil {
			v.report(c.Instance, "there are two certificates")
		}
		v.certificates[c.Instance] = c
	}
	seen := map[string]bool{}
	v.clean = v.suite.Clean()
	for _, in := range v.suite.Instances {
		switch {
		case tasks[in.Task] == nil:
			v.report(in.ID, "there is no task %s", in.Task)
		case in.IsClean() && v.clean[in.Task] != in:
			v.report(in.ID, "task %s has another clean instance, %s", in.Task, v.clean[in.Task].ID)
		case v.certificates[in.ID] == nil:
			v.report(in.ID, "there is no certificate")
		}
		seen[in.ID] = true
	}
	for _, c := range v.suite.Certificates {
		if !seen[c.Instance] {
			v.report(c.Instance, "the certificate belongs to no instance")
		}
	}
	for _, t := range v.suite.Tasks {
		if v.clean[t.ID] == nil {
			v.report(t.ID, "the task has no clean instance")
		}
	}
}

// settleMade drops made tools that have the name of another tool: nothing could show them.
func (v *verifier) settleMade() {
	type place struct{ style, database, name string }
	placeOf := func(t *task.Tool) place {
		if t.Style == task.StyleFunc {
			return place{style: t.Style, name: t.Name}
		}
		return place{t.Style, t.Database, t.Name}
	}
	taken := map[place]bool{}
	for _, tools := range v.suite.Tools {
		for _, t := range tools {
			taken[placeOf(t)] = true
		}
	}
	settled := *v.suite
	settled.Made = nil
	for _, t := range v.suite.Made {
		if taken[placeOf(t)] {
			v.report(wholeSuite, "the made tool %s of %s has the name of another tool", t.Name, t.Database)
			continue
		}
		taken[placeOf(t)] = true
		settled.Made = append(settled.Made, t)
	}
	v.suite = &settled
}
