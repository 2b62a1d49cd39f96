package instances

import (
	"testing"

	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// TestDoubtfulNeedsKeep publishes a doubtful substitute only if a reviewer keeps it.
func TestDoubtfulNeedsKeep(t *testing.T) {
	for verdict, refused := range map[string]bool{"keep": false, "drop": true, "unsure": true, "": true} {
		m := &staticMaker{maker: &maker{Input: &Input{Suite: &suite.Suite{}}}}
		if verdict != "" {
			m.Suite.Verdicts = []*suite.Verdict{{Instance: "x", Verdict: verdict, Reviewer: "r", Reason: "other", Note: "n"}}
		}
		d := &staticDraft{instances: []*suite.Instance{{ID: "x"}}, doubtful: true}
		m.judge(&task.Task{ID: "t"}, d)
		if (d.refused != nil) != refused {
			t.Errorf("verdict %q: refused %v", verdict, d.refused)
		}
	}
}
