package figures

import (
	"github.com/seatrial/seatrial/internal/report/chart"
	"github.com/seatrial/seatrial/internal/report/table"
)

var hohwSizes = Entry{
	Name: "hohw-fig-4", Title: "Success by the size of the model (Hell or High Water, figure 4)",
	Needs:       "runs with a label size (run --label size=7B), under open-world or closed-world:N",
	Description: "Success against the number of parameters, with and without external errors, a panel for each world.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		t, err := s.table("hohw-fig-4")
		if err != nil {
			return nil, nil, err
		}
		// A model has one size, so that a curve joins different models.
		rows := &table.Table{}
		for _, r := range records(t) {
			rows.Records = append(rows.Records, map[string]any{
				"style": r["style"], "protocol": r["protocol"], "arm": r["arm"], "world": r["world"],
				"parameters": r["parameters"], "agent": "without errors", "success": r["clean"],
				"success_ci95_low": r["clean_ci95_low"], "success_ci95_high": r["clean_ci95_high"],
			}, map[string]any{
				"style": r["style"], "protocol": r["protocol"], "arm": r["arm"], "world": r["world"],
				"parameters": r["parameters"], "agent": "with errors", "success": r["struck"],
				"success_ci95_low": r["struck_ci95_low"], "success_ci95_high": r["struck_ci95_high"],
			})
		}
		axis := chart.Axis{Title: "parameters", Log: true, Tick: short, Write: short}
		panels := curves(rows, "parameters", axis, "success", func(r record) (panel, series string) {
			return r.text("world"), ""
		})
		return severalPlaces(panels), intervalNote(), nil
	},
}

// short writes a large number with a letter.
func short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}} {
		if v >= unit.size {
			return table.Brief(v/unit.size) + unit.name
		}
	}
	return table.Brief(v)
}

var hohwTurns = Entry{
	Name: "hohw-fig-5", Title: "Turns of episodes (Hell or High Water, figure 5)",
	Needs: "episodes under distractors-only and its control, or under open-world or closed-world:N",
	Description: "How many turns episodes take: a curve for each side of the comparison, as shares of its episodes. A " +
		"panel for each agent and world.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		t, err := s.table("hohw-fig-5")
		if err != nil {
			return nil, nil, err
		}
		rows := records(t)
		named := names(cohorts(rows))
		list := &table.Table{}
		for _, r := range rows {
			if r.text("world") != "database" { // the paper's figure is about worlds
				list.Records = append(list.Records, map[string]any{
					"agent": r.text("side"), "turns": r["turns"], "share": r["share"],
					"panel": spaced([]string{named[r.ID()], r.text("world")}),
				})
			}
		}
		axis := chart.Axis{Title: "turns", Tick: table.Brief}
		panels := curves(list, "turns", axis, "share", func(r record) (panel, series string) { return r.text("panel"), "" })
		for _, p := range panels {
			if c, ok := p.(*chart.Curves); ok {
				c.Y.Title = "share of episodes"
			}
		}
		return panels, []string{"The paper draws violins; a curve shows the same distribution. It has no intervals: " +
			"it is one of counts."}, nil
	},
}
