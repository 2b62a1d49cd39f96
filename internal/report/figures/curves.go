package figures

import (
	"cmp"
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/report/chart"
	"github.com/seatrial/seatrial/internal/report/table"
)

// maxOwnTicks is up to how many places of a curve the axis has a label for each.
const maxOwnTicks = 10

// finished sorts the places of curves. With own ticks, the axis has a label at each place.
func finished(panels []*chart.Curves, own bool) []chart.Panel {
	var list []chart.Panel
	for _, p := range panels {
		ticks := map[float64]bool{}
		for i := range p.Series {
			slices.SortStableFunc(p.Series[i].Places, func(a, b chart.Place) int { return cmp.Compare(a.X, b.X) })
			for _, place := range p.Series[i].Places {
				ticks[place.X] = true
			}
		}
		if own {
			p.X.Ticks = slices.Sorted(maps.Keys(ticks))
		}
		list = append(list, p)
	}
	return list
}

// severalPlaces keeps the panels in which some series has places at several x: others show no course.
func severalPlaces(panels []chart.Panel) []chart.Panel {
	return slices.DeleteFunc(panels, func(p chart.Panel) bool {
		c, ok := p.(*chart.Curves)
		return ok && !slices.ContainsFunc(c.Series, func(s chart.Series) bool {
			return s.Places[0].X != s.Places[len(s.Places)-1].X // they are sorted
		})
	})
}

// curves draws a table: x and y are keys, and split names the panel of a row, and what distinguishes its series from
// others of the same cohort.
func curves(
	t *table.Table, x string, axis chart.Axis, y string, split func(record) (panel, series string),
) []chart.Panel {
	rows := records(t)
	named := names(cohorts(rows))
	var order order[string]
	panels := []*chart.Curves{}
	series := []map[string]int{}
	ticks := map[float64]bool{}
	for _, r := range rows {
		at, okX := r.number(x)
		p, okY := r.point(0, y)
		if !okX || !okY || axis.Log && at <= 0 {
			continue
		}
		title, more := split(r)
		i := order.place(title)
		if i == len(panels) {
			panels = append(panels, &chart.Curves{Title: title, X: axis, Y: chart.Shares("success")})
			series = append(series, map[string]int{})
		}
		name := spaced([]string{named[r.ID()], more})
		n, known := series[i][name]
		if !known {
			n = len(panels[i].Series)
			series[i][name] = n
			panels[i].Series = append(panels[i].Series, chart.Series{Name: name, Joined: true})
		}
		list := &panels[i].Series[n]
		list.Places = append(list.Places, chart.Place{X: at, Point: p})
		ticks[at] = true
	}
	return finished(panels, axis.Ticks == nil && len(ticks) <= maxOwnTicks)
}
