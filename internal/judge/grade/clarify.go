package grade

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// What an agent did about a request that lacks a value, where somebody was there to be asked.
const (
	ClarifyAsked     = "asked"           // it asked for the value and was told
	ClarifyOtherwise = "asked_otherwise" // it asked, and was told nothing
	ClarifyGuessed   = "guessed"         // it answered without having asked
	ClarifyGaveUp    = "gave_up"         // it declined, or judged that the request cannot be met, without having asked
	ClarifyNothing   = "nothing"         // it did neither
)

// asksDetail is what the user makes of a question for the value that is missing, as the record has it.
const asksDetail = "detail"

// scoreClarification says what the agent did about a value that the request lacks. The record says that somebody is
// there to be asked before the first turn, and of each question what it was taken for.
func scoreClarification(e *episode, g *Grade) error {
	waiting, asked, told := false, false, false
	for i := range e.t.Events {
		ev := &e.t.Events[i]
		var detail struct {
			Questions int    `json:"questions"`
			Asked     string `json:"asked"`
		}
		if ev.Detail == nil || ev.Kind != transcript.EventAsk && (ev.Kind != transcript.EventDecision || ev.Turn > 0) {
			continue
		}
		if err := task.DecodeStrict(ev.Detail, &detail); err != nil {
			if ev.Kind == transcript.EventDecision {
				continue // of another condition
			}
			return fmt.Errorf("event %d: %w", ev.Seq, err)
		}
		waiting = waiting || detail.Questions > 0
		asked = asked || ev.Kind == transcript.EventAsk
		told = told || detail.Asked == asksDetail
	}
	switch {
	case !waiting || !g.Valid:
	case told:
		g.Clarification = ClarifyAsked
	case asked:
		g.Clarification = ClarifyOtherwise
	case e.act == nil:
		g.Clarification = ClarifyNothing
	case e.act.Kind == transcript.EventAnswer:
		g.Clarification = ClarifyGuessed
	default:
		g.Clarification = ClarifyGaveUp
	}
	return nil
}
