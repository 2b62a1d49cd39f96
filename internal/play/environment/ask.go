package environment

import (
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// userAtStart records that somebody is there to answer, so that an episode in which nobody asked can be told from one
// in which nobody could be asked.
func (e *Environment) userAtStart() {
	if e.config.User != nil {
		e.record.Append(transcript.Event{
			Kind: transcript.EventDecision, Condition: condition.NameClarify, Detail: e.config.User.Waits(),
		})
	}
}

// recordAsk has the user answer a question. Where there is no user, asking is a mistake.
func (e *Environment) recordAsk(a *task.Action) task.Observation {
	if e.config.User == nil {
		o := mistaken(task.CodeUnsupported, "Nobody is there to answer questions.")
		e.record.Append(transcript.Event{Kind: transcript.EventAsk, Turn: e.turns, Text: a.Text, Error: o.Error})
		return o
	}
	reply, understood := e.config.User.Answer(e.asked, a.Text)
	e.asked = append(e.asked, a.Text)
	e.record.Append(transcript.Event{
		Kind: transcript.EventAsk, Turn: e.turns, Text: a.Text, Note: reply, Condition: condition.NameClarify,
		Detail: understood,
	})
	return task.Observation{Note: reply}
}
