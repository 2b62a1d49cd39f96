package agent

import "github.com/seatrial/seatrial/internal/task"

var renewTactic = &tactic{
	TacticInfo: TacticInfo{"renew", "an error names another tool to be called first: calls it, then makes the call again"},
	heal: func(s *sign) (remedy, bool) {
		for _, name := range quotedNames(s.err.Message) {
			t := s.p.tool(name)
			if t == nil || name == s.j.tool || t.Parameters != nil && len(t.Parameters.Required) > 0 {
				continue
			}
			if holds(s.err.Message, "call `"+name, "use `"+name, "run `"+name, "with `"+name, "first") {
				return remedy{ask: &question{tool: name, again: true, heard: heardNothing}}, true
			}
		}
		return remedy{}, false
	},
}

// heardNothing takes any answer for one.
func heardNothing(*task.Observation) (remedy, bool) { return remedy{}, true }
