package statistics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

func TestX(t *testing.T) {
	const runs = 4000
	for _, k := range []int{5, 10, 20, 40, 100, 300} {
		for _, p := range []float64{.02, .05, .1, .3, .5, .7, .9, .95, .98} {
			for name, cluster := range map[string]func(r *rand.Rand) (float64, float64){
				"iid": func(r *rand.Rand) (float64, float64) { return float64(One(r.Float64() < p)), 1 },
				"five": func(r *rand.Rand) (float64, float64) {
					s := 0
					for range 5 {
						s += One(r.Float64() < p)
					}
					return float64(s), 5
				},
				"mix": func(r *rand.Rand) (float64, float64) {
					q := float64(One(r.Float64() < p))
					q = q*.8 + .2*p
					s := 0
					for range 4 {
						s += One(r.Float64() < q)
					}
					return float64(s), 4
				},
				"uneven": func(r *rand.Rand) (float64, float64) {
					w := float64(1 + r.IntN(8))
					return w * float64(One(r.Float64() < p)), w
				},
				"loss": func(r *rand.Rand) (float64, float64) { return -float64(One(r.Float64() < p)), 1 },
				"winloss": func(r *rand.Rand) (float64, float64) {
					u := r.Float64()
					return float64(One(u < .1)) - float64(One(u > 1-p*.9)), 1
				},
				"logn": func(r *rand.Rand) (float64, float64) { return math.Exp(r.NormFloat64()), 1 },
			} {
				mean, low, high := p, 0.0, 1.0
				switch name {
				case "loss":
					mean, low, high = -p, -1, 1
				case "winloss":
					mean, low, high = .1-p*.9, -1, 1
				case "logn":
					mean = math.Exp(.5)
					if p != .5 {
						continue
					}
				}
				r := task.Draw(uint64(k), name, fmt.Sprint(p))
				var wrong [2][2]int
				for range runs {
					c := Clusters{}
					most := 0.0
					for i := range k {
						s, w := cluster(r)
						most = max(most, s)
						c.Add(fmt.Sprint(i), s, w)
					}
					if name == "logn" {
						high = most
					}
					lo, up := c.BoundOf(Below, low), c.BoundOf(Above, high)
					for i, a := range []float64{.05, .01} {
						wrong[i][0] += One(lo.At(a) > mean)
						wrong[i][1] += One(up.At(a) < mean)
					}
				}
				for i, a := range []float64{.05, .01} {
					for s := range 2 {
						rate := float64(wrong[i][s]) / runs
						if rate > a+2.5*math.Sqrt(a*(1-a)/runs) {
							t.Errorf("k %d p %v %s alpha %v side %d: %v", k, p, name, a, s, rate)
						}
					}
				}
			}
		}
	}
}
