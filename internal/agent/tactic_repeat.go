package agent

import "github.com/seatrial/seatrial/internal/task"

var repeatTactic = &tactic{
	TacticInfo: TacticInfo{"repeat",
		"an error says that it may pass, or a result that it is not complete: makes the same call again"},
	heal: func(s *sign) (remedy, bool) {
		return remedy{}, passes(s.err)
	},
	complete: func(s *sign) (remedy, bool) {
		return remedy{}, s.p.readsRows(s.j) && isIncomplete(s.f)
	},
}

// passing are the codes of errors that say nothing of the call itself.
var passing = map[string]bool{
	task.CodeTimeout: true, "connection_error": true, "server_error": true, "io_error": true, "rejected": true,
}

// passes says whether an error is one that a later attempt may not meet.
func passes(err *task.ToolError) bool {
	return !isLasting(err) &&
		(passing[err.Code] || holds(err.Message, "try again", "tried again", "may succeed", "temporar", "same call will be",
			"retry"))
}

// isLasting says whether an error says of itself that trying again is of no use.
func isLasting(err *task.ToolError) bool {
	return holds(err.Message, "will not help", "permanently", "no longer available", "another tool") ||
		err.Code == task.CodeUnknownTool
}

// isIncomplete says whether a result says of itself that records are missing for another reason than the length of a
// page.
func isIncomplete(f *finding) bool {
	for _, m := range f.beside("complete", "partial") {
		if said, ok := m.value.(bool); ok && said == holds(m.name, "incomplete", "partial") {
			return true
		}
	}
	return false
}
