package condition

import (
	"encoding/json"

	"github.com/seatrial/seatrial/internal/task"
)

// toolRenew is the companion of call.session.
const toolRenew = "renew_session"

// session is call.session: the session has expired, and calls to the tool are refused until it has been renewed that
// many times in the episode.
type session struct {
	target
	Renewals int `json:"renewals"`
}

func (f *session) place(p *placement) *Refusal {
	s, refused := p.choose(func(*site) string { return "" })
	if refused != nil {
		return refused
	}
	f.Tool, f.Renewals = s.tool.Name, 1+p.point
	return nil
}

func (f *session) again() { f.Renewals++ }

func (f *session) make(in FaultInput, m *made) error {
	if m.companion(companionTool(in, toolRenew,
		"Renews the session. Calls that were refused because the session had expired can then be made again.")) {
		m.step(&renewal{target: &f.target})
	}
	switch f.Variant {
	case VariantLookalike:
		m.step(&remark{target: &f.target, note: "The session is nearly as old as it may become; it is still valid."})
	case VariantFault:
		m.spend(f.Tool, f.Renewals)
		m.step(f)
	}
	return nil
}

// Refuse is that of [Refuser].
func (f *session) Refuse(c *Call) (*task.ToolError, *Decision) {
	if !f.hits(c) {
		return nil, nil
	}
	renewed := 0
	for _, earlier := range c.Earlier {
		if earlier == toolRenew {
			renewed++
		}
	}
	if renewed >= f.Renewals {
		return nil, &Decision{}
	}
	return &task.ToolError{
		Code: CodeSession, Message: "The session has expired. Call `" + toolRenew + "`, then make this call again.",
	}, applied(Field{"renewed", number(renewed)}, Field{"of", number(f.Renewals)})
}

// renewal answers calls to the companion. It keeps no state: refusals count the calls to it.
type renewal struct{ *target }

// Serves is that of [Companion].
func (*renewal) Serves(tool string) bool { return tool == toolRenew }

// Answer is that of [Companion].
func (*renewal) Answer(c *Call, _ func(string) (string, Payload, bool)) (Payload, *task.ToolError, *Decision) {
	if _, mistake := companionArguments(c); mistake != nil {
		return Payload{}, mistake, nil
	}
	return Payload{Content: json.RawMessage(`{"session":"renewed"}`)}, nil, nil
}
