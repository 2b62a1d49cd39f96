package figures

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/chart"
)

var kindsAgents = Entry{
	Name: "kinds-agents", Title: "Success under faults, kinds by agents", Needs: needsFaults,
	Description: "Each row is a kind of fault and each column an agent. A cell says how many per cent of the valid " +
		"episodes succeeded; the darker, the more in a light scheme.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		notes := []string{"The line in a cell is the 95 % interval, from 0 % at the left edge to 100 % at the right one."}
		list := faulted(s, report.ByKind)
		if len(cohorts(list)) > maxColumns {
			list = faulted(s, report.ByHazard)
			notes = append(notes, "Kinds are summed up by hazard, because there are so many agents: the table tbx-5 shows each.")
		}
		all := cohorts(list)
		named := names(all)
		grid := &chart.Grid{Scale: chart.Shares("")}
		for _, c := range all {
			grid.Columns = append(grid.Columns, named[c])
		}
		type rowKey struct{ hazard, kind string }
		var kinds order[rowKey]
		cells := map[int][]chart.Cell{}
		for _, f := range list {
			at := kinds.place(rowKey{f.Hazard, aspect(f)})
			if cells[at] == nil {
				cells[at] = make([]chart.Cell, len(all))
				for i := range cells[at] {
					cells[at][i].Note = "no episode"
				}
			}
			for i, c := range all {
				if c == f.ID() {
					cells[at][i] = chart.Cell{Value: f.Rate, Interval: f.CI95,
						Note: fmt.Sprintf("%d of %d", f.Successes, f.Valid)}
				}
			}
		}
		hazard := ""
		for at, key := range kinds.keys {
			if key.hazard != hazard && key.hazard != key.kind {
				hazard = key.hazard
				grid.Rows = append(grid.Rows, chart.GridRow{Label: hazard, Heading: true})
			}
			grid.Rows = append(grid.Rows, chart.GridRow{Label: key.kind, Cells: cells[at]})
		}
		if grid.Rows == nil {
			return nil, nil, nil
		}
		return []chart.Panel{grid}, notes, nil
	},
}

// maxColumns bounds the columns of a chart with a row for each kind of fault.
const maxColumns = 24
