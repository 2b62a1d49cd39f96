package figures

import (
	"slices"
	"strconv"

	"github.com/seatrial/seatrial/internal/report/chart"
	"github.com/seatrial/seatrial/internal/report/table"
)

var nl2apiClasses = Entry{
	Name: "nl2api-fig2", Title: "Error classes by style and agent (NL2API, figure 2)",
	Needs:       "failed episodes without conditions, under the protocol one-shot or of a policy",
	Description: "Each row is a class of errors and each column a style and an agent: the share of the failures.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		t, err := s.table("nl2api-fig2")
		if err != nil {
			return nil, nil, err
		}
		rows := slices.DeleteFunc(records(t), func(r record) bool {
			_, ok := r.number("share_of_failures")
			return !ok
		})
		all := cohorts(rows)
		named := names(all)
		grid := &chart.Grid{Scale: chart.Shares("")}
		for _, c := range all {
			grid.Columns = append(grid.Columns, named[c])
		}
		var classes order[string]
		for _, r := range rows {
			at := classes.place(r.text("error_class"))
			if at == len(grid.Rows) {
				grid.Rows = append(grid.Rows, chart.GridRow{Label: table.Words(classes.keys[at]),
					Cells: make([]chart.Cell, len(all))})
			}
			share, _ := r.number("share_of_failures")
			n, _ := r.number("episodes")
			grid.Rows[at].Cells[slices.Index(all, r.ID())] = chart.Cell{Value: &share,
				Note: strconv.Itoa(int(n)) + " episodes"}
		}
		if grid.Rows == nil {
			return nil, nil, nil
		}
		return []chart.Panel{grid}, []string{"Shares of the failures of a column. Classes exclude each other."}, nil
	},
}

var nl2apiObfuscation = Entry{
	Name: "nl2api-fig3", Title: "Completion with and without obfuscated names (NL2API, figure 3)",
	Needs:       "episodes with and without the condition obfuscate",
	Description: "Each row is an agent: completion with the names of tools as they are, and obfuscated, with intervals.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		t, err := s.table("nl2api-fig3")
		if err != nil {
			return nil, nil, err
		}
		panel := &chart.Rows{Axis: chart.Shares("completion"), Series: []string{"names as they are", "obfuscated"},
			Joined: true}
		rows := records(t)
		named := names(cohorts(rows))
		for _, r := range rows {
			clean, ok := r.point(0, "completion")
			hidden, both := r.point(1, "obfuscated_completion")
			if !ok || !both {
				continue
			}
			panel.Rows = append(panel.Rows, chart.Row{Label: named[r.ID()], Points: []chart.Point{clean, hidden}})
		}
		return some(panel), []string{"Lines are 95 % intervals."}, nil
	},
}
