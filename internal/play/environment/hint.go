package environment

import (
	"bytes"
	"fmt"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// When advice is given.
const (
	HintStart    = "start"    // with the view, before the first turn
	HintDeferred = "deferred" // with what the agent is shown of the first visible anomaly
)

// Hint is advice on trouble with the tools, and when the agent gets it. It changes nothing else: steps, attempts and
// observations are the same with and without it.
//
// A visible anomaly is a call whose outcome, as the agent sees it, a condition had a hand in: it was refused; it failed
// after its arguments were altered; its records, their names or their form are not those that the body returned, or a
// field stands beside them; or a note was added. What look-alikes say counts as well, and so does what stands beside
// the records of a source that is right, so that the advice does not tell harm from the appearance of it. What the
// tools that conditions add answer, and what the agent got wrong by itself, does not count. Conditions that do nothing
// to calls show no anomaly.
type Hint struct {
	When string // HintStart, HintDeferred, or "" for never
	Text string
}

func (h Hint) check() error {
	switch h.When {
	case "", HintStart, HintDeferred:
		return nil
	default:
		return fmt.Errorf("advice cannot be given %q", h.When)
	}
}

// hintAtStart records the advice that the view gives.
func (e *Environment) hintAtStart() {
	if e.config.Hint.When == HintStart {
		e.record.Append(transcript.Event{Kind: transcript.EventHint, Text: e.config.Hint.Text})
	}
}

// hintOnAnomaly gives the advice with the first call of the turn that is an anomaly, once in the episode. It is asked
// once all calls of the turn have run: what is the first one is a matter of their order in the turn. An episode that
// has ended gives none, as nobody would read it.
func (e *Environment) hintOnAnomaly(s *step, observations []task.Observation) {
	if e.config.Hint.When != HintDeferred || e.hinted || e.ended {
		return
	}
	for i, c := range s.callAt {
		if c == nil || !c.anomaly {
			continue
		}
		observations[i].Hint = e.config.Hint.Text
		e.record.Append(transcript.Event{Kind: transcript.EventHint, Turn: e.turns, Text: e.config.Hint.Text})
		e.hinted = true
		return
	}
}

// differs says whether steps changed a payload in a way that shows. Steps copy what they change.
func differs(before, after *fault.Payload) bool {
	return before.Result != after.Result || before.Shape != after.Shape || len(before.Beside) != len(after.Beside) ||
		after.Content != nil
}

// redelivered says whether steps changed a delivery.
func redelivered(before, after *fault.Delivery) bool {
	return before.Note != after.Note || before.Error != after.Error || !bytes.Equal(before.Content, after.Content)
}
