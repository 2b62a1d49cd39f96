package report

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seatrial/seatrial/internal/task"
)

// Methods of intervals.
const (
	// MethodBootstrap is the percentile bootstrap over tasks (Efron and Tibshirani 1993, "An Introduction to the
	// Bootstrap", section 13.3), all episodes of a task drawn together, because they are not independent.
	MethodBootstrap = "bootstrap"
	// MethodWilson stands in where all tasks came out alike, so that every resample would give the same and the bootstrap
	// would claim certainty. Of n tasks seen, a share of up to u = z²/(n+z²) may have gone unseen (the Wilson score bound
	// for 0 of n; Wilson 1927), and may come out anyhow. At 0 % and 100 % this is the Wilson score interval.
	MethodWilson = "wilson"
)

// cluster is what the episodes of one task come to: their weight, and the sum of what is averaged.
type cluster struct{ sum, weight float64 }

// ratio gives the weighted mean over clusters, nil where there is none.
func ratio(clusters map[string]cluster) *float64 {
	if len(clusters) == 0 {
		return nil
	}
	sum, weight := 0.0, 0.0
	for _, k := range kindsOf(clusters) {
		sum += float64(k.count) * k.sum
		weight += float64(k.count) * k.weight
	}
	v := sum / weight
	return &v
}

// kind is a cluster and how many tasks have it.
type kind struct {
	cluster
	count int
}

// kindsOf counts equal clusters. A resample of tasks is a draw of such counts, and there are few kinds: two where every
// task has one episode.
func kindsOf(clusters map[string]cluster) []kind {
	counts := map[cluster]int{}
	for _, c := range clusters {
		counts[c]++
	}
	kinds := make([]kind, 0, len(counts))
	for c, n := range counts {
		kinds = append(kinds, kind{c, n})
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.sum, b.sum), cmp.Compare(a.weight, b.weight))
	})
	return kinds
}

// interval gives a 95 % interval of the ratio of clusters, whose single values lie between low and 1.
func interval(clusters map[string]cluster, low float64, o Options, names []string) (*[2]float64, string) {
	value := ratio(clusters)
	if value == nil {
		return nil, ""
	}
	kinds := kindsOf(clusters)
	alike := true
	for _, k := range kinds[1:] {
		alike = alike && k.sum*kinds[0].weight == kinds[0].sum*k.weight
	}
	if alike {
		return unseen(*value, len(clusters), low), MethodWilson
	}
	if o.exact {
		if ci := exactBootstrap(kinds, len(clusters)); ci != nil {
			return ci, MethodBootstrap
		}
	}
	resampled := bootstrap(kinds, len(clusters), o, names)
	slices.Sort(resampled)
	ci := [2]float64{
		stat.Quantile(0.025, stat.Empirical, resampled, nil),
		stat.Quantile(0.975, stat.Empirical, resampled, nil),
	}
	// A task with very many episodes can outweigh all others in a way that leaves the value itself outside.
	ci[0], ci[1] = min(ci[0], *value), max(ci[1], *value)
	return &ci, MethodBootstrap
}

// bootstrap draws the ratio of o.Resamples resamples of n tasks. The counts of the kinds are multinomial, drawn as a
// chain of binomials.
func bootstrap(kinds []kind, n int, o Options, names []string) []float64 {
	source := task.Draw(o.Seed, names...)
	resampled := make([]float64, o.Resamples)
	for i := range resampled {
		left, rest := n, n
		sum, weight := 0.0, 0.0
		for _, k := range kinds {
			if left == 0 {
				break
			}
			drawn := left
			if k.count < rest {
				p := float64(k.count) / float64(rest)
				drawn = int(distuv.Binomial{N: float64(left), P: p, Src: source}.Rand())
			}
			sum += float64(drawn) * k.sum
			weight += float64(drawn) * k.weight
			left, rest = left-drawn, rest-k.count
		}
		resampled[i] = sum / weight
	}
	return resampled
}

// maxConvolution bounds the additions that an exact bootstrap may take: about as many as resamples cost.
const maxConvolution = 1 << 22

// exactBootstrap gives the interval that ever more resamples would come to, without drawing any: where all tasks weigh
// the same and their sums are whole numbers, the sum of n drawn tasks has a distribution that n convolutions give. It
// is nil where they do not, or where that would take longer.
func exactBootstrap(kinds []kind, n int) *[2]float64 {
	least, most := kinds[0].sum, kinds[len(kinds)-1].sum // kinds are sorted by their sums
	for _, k := range kinds {
		if k.weight != kinds[0].weight || k.sum != math.Trunc(k.sum) {
			return nil
		}
	}
	span := int(most - least)
	if span*n*n*len(kinds) > 2*maxConvolution {
		return nil
	}
	chances, next := make([]float64, span*n+1), make([]float64, span*n+1) // of the sum less n times the least
	chances[0] = 1
	for drawn := range n {
		reached := next[:span*(drawn+1)+1]
		clear(reached)
		for _, k := range kinds {
			p, shift := float64(k.count)/float64(n), int(k.sum-least)
			for i, c := range chances[:span*drawn+1] {
				reached[i+shift] += p * c
			}
		}
		chances, next = next, chances
	}
	const rounding = 1e-12
	value := func(p float64) float64 {
		sum, at := 0.0, 0
		for ; at < len(chances)-1; at++ {
			if sum += chances[at]; sum >= p-rounding {
				break
			}
		}
		return (least*float64(n) + float64(at)) / (kinds[0].weight * float64(n))
	}
	return &[2]float64{value(0.025), value(0.975)}
}

// unseen gives the interval where n tasks all gave the same value.
func unseen(value float64, n int, low float64) *[2]float64 {
	z := distuv.UnitNormal.Quantile(0.975)
	u := z * z / (float64(n) + z*z)
	ci := [2]float64{value*(1-u) + low*u, value*(1-u) + u}
	ci[0], ci[1] = min(ci[0], value), max(ci[1], value) // rounding
	return &ci
}

// passHatK estimates pass^k for every k up to the largest number of valid trials of an instance, which it gives too.
func passHatK(rows []Row) ([]PassHatK, int) {
	type count struct{ valid, right int }
	counts := map[string]*count{}
	most := 0
	for i := range rows {
		g := &rows[i].Grade
		if !g.Valid {
			continue
		}
		c := counts[g.Instance]
		if c == nil {
			c = &count{}
			counts[g.Instance] = c
		}
		c.valid++
		if g.Success {
			c.right++
		}
		most = max(most, c.valid)
	}
	kinds := map[count]int{}
	for _, c := range counts {
		kinds[*c]++
	}
	order := make([]count, 0, len(kinds))
	for c := range kinds {
		order = append(order, c)
	}
	slices.SortFunc(order, func(a, b count) int {
		return cmp.Or(cmp.Compare(a.valid, b.valid), cmp.Compare(a.right, b.right))
	})
	list := make([]PassHatK, most)
	for k := range list {
		p := &list[k]
		p.K = k + 1
		for _, c := range order {
			if c.valid < p.K {
				continue
			}
			p.Instances += kinds[c]
			p.Estimate += float64(kinds[c]) * allOf(c.valid, c.right, p.K)
		}
		p.Estimate /= float64(p.Instances)
	}
	return list, most
}

// allOf gives C(c,k)/C(n,k): the chance that k of n trials, drawn without replacement, are all among the c right ones.
func allOf(n, c, k int) float64 {
	p := 1.0
	for i := range k {
		if c <= i {
			return 0
		}
		p *= float64(c-i) / float64(n-i)
	}
	return p
}

// betweenTrials gives the sample variance of the success rates of trials, nil where fewer than two have valid episodes.
func betweenTrials(rows []Row) *float64 {
	byTrial := map[int][]Row{}
	for i := range rows {
		t := rows[i].Grade.Trial
		byTrial[t] = append(byTrial[t], rows[i])
	}
	var rates []float64
	for _, rows := range byTrial {
		if rate, ok := successRate(rows); ok {
			rates = append(rates, rate)
		}
	}
	if len(rates) < 2 {
		return nil
	}
	slices.Sort(rates)
	v := stat.Variance(rates, nil)
	return &v
}

func workflowOrder(workflow string) int {
	order := []string{
		task.WorkflowSingle, task.WorkflowSequential, task.WorkflowParallel, task.WorkflowMixed,
	}
	if i := slices.Index(order, workflow); i >= 0 {
		return i
	}
	return len(order)
}
