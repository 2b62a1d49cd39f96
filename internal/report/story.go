package report

import (
	"bytes"
	"encoding/json"

	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// Scene is a call and its result as a person reads them.
type Scene struct{ Call, Result string }

// Scenes lists the calls of an episode, at least one.
func Scenes(t *transcript.Transcript) []Scene {
	var list []Scene
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != transcript.EventCall {
			continue
		}
		s := Scene{Call: e.Tool + " " + string(e.Arguments), Result: compact(e.Content)}
		if e.Error != nil {
			s.Result = "error: " + e.Error.Message
		}
		list = append(list, s)
	}
	if list == nil {
		list = []Scene{{Call: "no call"}}
	}
	return list
}

// AnswerText writes the final answer of an episode: the rows if it refers to a result.
func AnswerText(t *transcript.Transcript) string {
	for i := len(t.Events) - 1; i >= 0; i-- {
		switch e := &t.Events[i]; e.Kind {
		case transcript.EventAnswer:
			if e.Columns != nil {
				text, err := task.Marshal(e.Result)
				if err == nil {
					return string(text)
				}
			}
			return compact(e.Answer)
		case transcript.EventDecline:
			return "declined: " + e.Text
		}
	}
	return "none"
}

// compact writes JSON without white space; text that is not JSON stays.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
