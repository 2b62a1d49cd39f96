package figures

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/chart"
	"github.com/seatrial/seatrial/internal/report/table"
)

var recovery = Entry{
	Name: "recovery", Title: "Recovery by hazard and agent", Needs: needsFaults + " and took effect",
	Description: "For each hazard, a row for each agent: the share of the episodes in which a fault took effect and the " +
		"agent still succeeded, with its 95 % interval.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		list := append(faulted(s, report.ByAll), faulted(s, report.ByHazard)...)
		named := names(cohorts(list))
		var hazards order[string]
		rows := map[int][]chart.Row{}
		for _, f := range list {
			p, ok := estimate(f.Recovery())
			if !ok {
				continue
			}
			text := fmt.Sprintf("%d of %d", f.Recovered, f.TookEffect)
			p.Note = bracketed(table.Percent, p) + ", " + text
			at := hazards.place(aspect(f))
			rows[at] = append(rows[at], chart.Row{Label: named[f.ID()], Points: []chart.Point{p}, Text: text})
		}
		panel := &chart.Rows{Axis: chart.Shares("recovered of the faults that took effect")}
		for at, hazard := range hazards.keys {
			panel.Rows = append(panel.Rows, chart.Row{Label: hazard, Heading: true})
			panel.Rows = append(panel.Rows, rows[at]...)
		}
		return some(panel), []string{"Lines are 95 % intervals. Right column: recovered episodes of those in which a fault " +
			"took effect."}, nil
	},
}
