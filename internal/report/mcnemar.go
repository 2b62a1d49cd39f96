package report

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seatrial/seatrial/internal/task"
)

// mcnemar gives the two-sided p of McNemar's exact test (McNemar 1947, with the binomial in place of the chi-square):
// a and b count the pairs in which one side alone succeeded.
func mcnemar(a, b int) float64 {
	if a+b == 0 {
		return 1
	}
	tail := distuv.Binomial{N: float64(a + b), P: 0.5}.CDF(float64(min(a, b)))
	return math.Min(1, 2*tail)
}

// unit is what is paired: an instance on one side and what it is compared with on the other. Rows are in the order of
// their trials.
type unit struct {
	task, instance string
	base, rows     []Row
}

// Discordant counts the pairs in which one side alone succeeded, with the exact test of McNemar over them. Pairs of one
// task share what they are compared with and are not independent: of each task one pair counts, drawn by the seed.
type Discordant struct {
	Pairs    int     `json:"pairs"`
	BaseOnly int     `json:"base_only"` // the first alone: without the fault, or without the hint
	Only     int     `json:"only"`      // the second alone
	P        float64 `json:"mcnemar_p"`
}

// discordant counts over units, each by the first trial that is valid on both sides.
func discordant(units []unit, seed uint64) Discordant {
	drawn := map[string]string{} // by task: the least hash so far
	outcomes := map[string][2]bool{}
	for i := range units {
		u := &units[i]
		base, with, ok := firstShared(u.base, u.rows)
		if !ok {
			continue
		}
		key := task.Hash(seed, "mcnemar", u.task, u.instance)
		if least, any := drawn[u.task]; any && least <= key {
			continue
		}
		drawn[u.task], outcomes[u.task] = key, [2]bool{base, with}
	}
	d := Discordant{Pairs: len(outcomes)}
	for _, o := range outcomes {
		switch {
		case o[0] && !o[1]:
			d.BaseOnly++
		case o[1] && !o[0]:
			d.Only++
		}
	}
	d.P = mcnemar(d.BaseOnly, d.Only)
	return d
}

// firstShared gives the outcomes of the first trial of which both sides have a valid episode.
func firstShared(base, rows []Row) (first, second, ok bool) {
	for i := range base {
		for j := range rows {
			g, h := &base[i].Grade, &rows[j].Grade
			if g.Valid && h.Valid && g.Trial == h.Trial {
				return g.Success, h.Success, true
			}
		}
	}
	return false, false, false
}
