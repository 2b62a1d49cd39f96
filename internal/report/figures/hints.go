package figures

import (
	"github.com/seatrial/seatrial/internal/report/chart"
)

var hints = Entry{
	Name: "hints", Title: "Gain by hints", Needs: "instances with hints and without (--hints)",
	Description: "Each row is the paired difference of success with a hint and without, in percentage points, with its " +
		"95 % interval.",
	make: func(s *Source) ([]chart.Panel, []string, error) {
		panel := &chart.Rows{Axis: differences("gain by the hint, in percentage points"), Reference: new(float64)}
		if s.Report.Robustness == nil {
			return nil, nil, nil
		}
		heading := ""
		list := s.Report.Robustness.Hints
		for i := range list {
			h := &list[i]
			label := h.Part
			if h.Hazard != "" {
				label += ", " + h.Hazard
			}
			differ(panel, &heading, h.ID().String(), label, h.Gained(), &h.Test, h.Counted())
		}
		return some(panel), []string{"Right column: the gain, its 95 % interval, the p value of a sign-flip test, and " +
			"how many are paired."}, nil
	},
}
