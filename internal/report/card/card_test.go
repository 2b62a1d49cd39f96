package card

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/suite"
)

func TestCardNamesTheLimitsOfARun(t *testing.T) {
	const trial = "a: one trial of each instance"
	of := func(trials int) *Card {
		rows := make([]report.Row, trials)
		for i := range rows {
			rows[i] = report.Row{Role: "clean", Grade: grade.Grade{
				Episode: fmt.Sprint("e", i), Agent: "a", Task: "t", Instance: "i", Trial: i, Valid: true,
			}}
		}
		r, err := report.Build([]report.Run{{Name: "run", Rows: rows}}, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Notes = []string{"the note of the run"}
		return Of(&suite.Manifest{Counts: suite.Counts{Read: 9, Rejected: 2}},
			map[string]json.RawMessage{"agent": []byte(`["a` + "`" + `b"]`), "seed": []byte("0"), "gate": []byte(`""`)}, r)
	}
	for trials, want := range map[int]bool{1: true, 2: false} {
		c := of(trials)
		if got := slices.ContainsFunc(c.Limits, func(s string) bool { return strings.HasPrefix(s, trial) }); got != want {
			t.Errorf("with %d trials, the limits are %q", trials, c.Limits)
		}
		text := c.Markdown()
		for _, want := range []string{"- the note of the run", "- 2 of 9 examples", "- The run has no episode under faults.",
			"- agent: `[\"a'b\"]`"} {
			if !strings.Contains(text, want) {
				t.Errorf("the card lacks %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, "- seed") || strings.Contains(text, "- gate") {
			t.Errorf("the card has empty settings:\n%s", text)
		}
	}
}
