package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/seatrial/seatrial/internal/report/table"
)

// significant is the level at which a corrected difference is stated.
const significant = 0.05

// Verdicts says in one sentence for each two subjects that are paired where they differ, and how large a difference
// elsewhere the intervals still allow.
func (r *Report) Verdicts() []string {
	type two struct{ a, b Subject }
	var order []two
	pairs := map[two][]*Pair{}
	for i := range r.Pairs {
		p := &r.Pairs[i]
		k := two{p.A, p.B}
		if pairs[k] == nil {
			order = append(order, k)
		}
		pairs[k] = append(pairs[k], p)
	}
	var verdicts []string
	for _, k := range order {
		a, b := k.a.ID().String(), k.b.ID().String()
		sentence, elsewhere := "", 0.0
		for _, p := range stated(pairs[k]) {
			if p.Difference == nil {
				continue
			}
			corrected := p.Test.P
			if p.Test.Holm != nil {
				corrected = p.Test.Holm
			}
			if *corrected > significant {
				elsewhere = max(elsewhere, math.Abs(p.CI95[0]), math.Abs(p.CI95[1]))
				continue
			}
			where := p.Kind
			if where == "" {
				where = map[string]string{PartClean: "clean tasks", PartFault: "faults"}[p.Part]
			}
			if where == "" {
				where = p.Part + " instances"
			}
			better := "worse"
			if *p.Difference > 0 {
				better = "better"
			}
			if sentence != "" {
				sentence += "; "
			}
			value := table.PValue(*corrected)
			if value[0] != '<' {
				value = "= " + value
			}
			sentence += fmt.Sprintf("%s than %s under %s: %s points [%s, %s], p %s", better, a, where,
				table.Points(*p.Difference), table.Points(p.CI95[0]), table.Points(p.CI95[1]), value)
		}
		switch {
		case sentence == "":
			sentence = fmt.Sprintf("%s and %s do not differ significantly; no difference larger than %.1f points could have "+
				"been "+
				"missed.", b, a, 100*elsewhere)
		case elsewhere > 0:
			sentence = fmt.Sprintf("%s is %s; elsewhere no difference larger than %.1f points could have been missed.", b,
				sentence, 100*elsewhere)
		default:
			sentence = b + " is " + sentence + "."
		}
		verdicts = append(verdicts, sentence)
	}
	return verdicts
}

// stated are the pairs that a verdict speaks of: kinds of faults where there are several, else all faults together. The
// largest differences come first.
func stated(pairs []*Pair) []*Pair {
	kinds := 0
	for _, p := range pairs {
		if p.Kind != "" {
			kinds++
		}
	}
	list := slices.DeleteFunc(slices.Clone(pairs), func(p *Pair) bool {
		return p.Part == PartFault && (p.Kind == "") == (kinds > 1)
	})
	slices.SortStableFunc(list, func(p, q *Pair) int {
		size := func(p *Pair) float64 {
			if p.Difference == nil {
				return 0
			}
			return -math.Abs(*p.Difference)
		}
		switch {
		case size(p) < size(q):
			return -1
		case size(p) > size(q):
			return 1
		default:
			return 0
		}
	})
	return list
}

// maxFlipped bounds the listed tasks; JSON has all.
const maxFlipped = 20

// flipTable lists the tasks whose outcome differs.
func (r *Report) flipTable() *table.Table {
	type row struct {
		*Pair
		Flip
	}
	var rows []row
	left := 0
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if p.Kind != "" {
			continue // they are under faults already
		}
		for _, f := range p.Flipped {
			if len(rows) < maxFlipped {
				rows = append(rows, row{p, f})
			} else {
				left++
			}
		}
	}
	t := table.Make("Tasks whose outcome differs", rows, []table.Column[row]{
		table.Text("b", "b", func(r row) string { return r.Pair.B.ID().String() }),
		table.Text("part", "part", func(r row) string { return r.Part }),
		table.Text("task", "task", func(r row) string { return r.Task }),
		table.Number("success a", "rate_a", 0, table.Percent, "", func(r row) *float64 { return &r.Flip.A }),
		table.Number("success b", "rate_b", 0, table.Percent, "", func(r row) *float64 { return &r.Flip.B }),
	})
	if left > 0 {
		t.WithNotes(fmt.Sprintf("%d further tasks differ; --json lists all.", left))
	}
	return t
}
