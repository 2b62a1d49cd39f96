package figures

import (
	"github.com/seatrial/seatrial/internal/report/chart"
	"github.com/seatrial/seatrial/internal/report/table"
)

var budget = Entry{
	Name: "budget", Title: "Success against the budget", Needs: "episodes of several budgets (--budgets)",
	Description: "A curve for each agent and part of the instances: success against the scale of the budget, with 95 % " +
		"intervals.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		t, err := s.table("budgets")
		if err != nil {
			return nil, nil, err
		}
		axis := chart.Axis{Title: "budget, as a multiple of the base budget", Log: true, Tick: times, Write: times}
		panels := curves(t, "budget", axis, "success", func(r record) (panel, series string) { return r.text("role"), "" })
		return severalPlaces(panels), intervalNote(), nil
	},
}

func times(v float64) string { return "×" + table.Brief(v) }

func intervalNote() []string { return []string{"Vertical lines are 95 % intervals."} }
