package figures

import (
	"strconv"

	"github.com/seatrial/seatrial/internal/report/chart"
	"github.com/seatrial/seatrial/internal/report/table"
)

var trials = Entry{
	Name: "trials", Title: "Success against the number of trials", Needs: "repeated trials (--trials)",
	Description: "What several trials of an instance achieve: the chance that all are right (pass^k), and what votes " +
		"over them reach, with 95 % intervals.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		all, err := s.table("surface")
		if err != nil {
			return nil, nil, err
		}
		votes, err := s.table("tts")
		if err != nil {
			return nil, nil, err
		}
		axis := chart.Axis{Title: "trials", Tick: table.Fixed(0), Write: table.Fixed(0)}
		panels := curves(all, "k", axis, "pass_hat_k", func(r record) (panel, series string) {
			return "All right (pass^k), " + placeOf(r), ""
		})
		one := map[string]record{}
		sampled := &table.Table{}
		for _, r := range records(votes) {
			if n, _ := r.number("n"); n == 1 {
				one[r.ID().String()] = r
			}
		}
		for _, r := range records(votes) {
			if n, _ := r.number("n"); n < 2 {
				continue
			}
			// Every way of using trials begins with one trial.
			if first := one[r.ID().String()]; first != nil && r["n"] == 2 {
				start := record{}
				for key, v := range first {
					start[key] = v
				}
				start["method"] = r["method"]
				sampled.Records = append(sampled.Records, start)
			}
			sampled.Records = append(sampled.Records, r)
		}
		panels = append(panels, curves(sampled, "n", axis, "success", func(r record) (panel, series string) {
			return spaced([]string{"By", r.text("method")}), ""
		})...)
		return severalPlaces(panels), intervalNote(), nil
	},
}

// placeOf names a place on the surface.
func placeOf(r record) string {
	load, _ := r.number("failpoints")
	text := ""
	if r.text("rewording") != "original" {
		text = "reworded by " + r.text("rewording")
	}
	switch load {
	case 0:
		return spaced([]string{text, "clean"})
	case 1:
		return spaced([]string{text, "1 failpoint"})
	default:
		return spaced([]string{text, strconv.Itoa(int(load)), "failpoints"})
	}
}
