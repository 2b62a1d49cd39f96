package agent

import (
	"regexp"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

var argumentAddedTactic = &tactic{
	TacticInfo: TacticInfo{"argument-added",
		"an error asks for one more argument and says which value answers as before: gives it"},
	heal: func(s *sign) (remedy, bool) {
		if s.err.Code != task.CodeMissingArgument && !s.says("missing", "required") {
			return remedy{}, false
		}
		names := quotedNames(s.err.Message)
		if len(names) == 0 {
			return remedy{}, false
		}
		value, ok := valueAsBefore(s.err.Message)
		if _, given := s.j.sent[names[0]]; given || !ok {
			return remedy{}, false
		}
		return remedy{}, s.p.learn(s.j.tool, fix{argument: names[0], add: value})
	},
}

var asBefore = regexp.MustCompile(`(?i)"((?:[^"\\]|\\.)*)"[^".;]{0,60}\b(?:before|default|unchanged|as usual)\b`)

// valueAsBefore reads which of several values leaves everything as it was.
func valueAsBefore(text string) (string, bool) {
	m := asBefore.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	v, ok := readPayload([]byte(`"` + m[1] + `"`))
	value, isText := v.(string)
	return value, ok && isText
}

// amongValues reads the value of a closed set that leaves everything as it was: the one that is said to, or the only
// one.
func amongValues(values []any, description string) (any, bool) {
	if value, ok := valueAsBefore(description); ok && slices.Contains(values, any(value)) {
		return value, true
	}
	if len(values) == 1 {
		return values[0], true
	}
	return nil, false
}
