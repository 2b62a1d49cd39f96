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
	HintDeferred = "deferred" // with the observation of the first visible anomaly
)

// Hint is advice on faults, and when the agent gets it. It changes nothing else: steps, attempts and observations are
// the same with and without it.
//
// A visible anomaly is a call whose outcome a condition changed visibly: it refused the call; the call failed after it
// altered the arguments; the records, their names or their form differ from what the tool returned; or it added a field
// or a note. Changes by look-alikes count too, and so do fields beside the records of a correct source. Otherwise the
// advice would reveal which changes are harmful. Answers of tools that conditions add, and the agent's own mistakes, do
// not count.
type Hint struct {
	When string // HintStart, HintDeferred, or "" for never
	Text string
}

func (h Hint) check() error {
	switch h.When {
	case "", HintStart, HintDeferred:
		return nil
	default:
		return fmt.Errorf("unknown time for a hint: %q", h.When)
	}
}

// hintAtStart records the advice in the view.
func (e *Environment) hintAtStart() {
	if e.config.Hint.When == HintStart {
		e.record.Append(transcript.Event{Kind: transcript.EventHint, Text: e.config.Hint.Text})
	}
}

// hintOnAnomaly adds the advice to the first call of the turn, in order, that is an anomaly, once in the episode. It
// runs after all calls of the turn. After the end of the episode it adds none.
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

// differs reports whether steps changed a payload visibly. Steps copy what they change.
func differs(before, after *fault.Payload) bool {
	return before.Result != after.Result || before.Shape != after.Shape || len(before.Beside) != len(after.Beside) ||
		after.Content != nil
}

// redelivered reports whether steps changed a delivery.
func redelivered(before, after *fault.Delivery) bool {
	return before.Note != after.Note || before.Error != after.Error || !bytes.Equal(before.Content, after.Content)
}
