package agent

import (
	"bytes"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

var strictFormTactic = &tactic{
	TacticInfo: TacticInfo{"strict-form",
		"other arguments are echoed than were given, or right ones refused as bad: calls the strict form of the tool"},
	heal: func(s *sign) (remedy, bool) {
		name, ok := "", s.err.Code == task.CodeBadArguments
		if ok {
			name, ok = s.p.strictForm(s.j.tool)
		}
		return remedy{instead: name}, ok
	},
	complete: func(s *sign) (remedy, bool) {
		if !s.j.misheard(s.f) {
			return remedy{}, false
		}
		name, ok := s.p.strictForm(s.j.tool)
		return remedy{instead: name}, ok
	},
}

// misheard says whether a result echoes other arguments than were given.
func (j *job) misheard(f *finding) bool {
	for _, m := range f.beside("applied", "argument", "parameter") {
		echo, ok := m.value.(object)
		if ok && !sameArguments(echo, j.sent) && !sameArguments(echo, j.given) {
			return true
		}
	}
	return false
}

// sameArguments says whether an echo holds exactly these arguments.
func sameArguments(echo object, given map[string]any) bool {
	if len(echo) != len(given) {
		return false
	}
	for i := range echo {
		v, ok := given[echo[i].name]
		if !ok {
			return false
		}
		was, err := appendArgument(nil, v)
		is, echoErr := appendArgument(nil, plainJSON(echo[i].value))
		if err != nil || echoErr != nil || !bytes.Equal(was, is) {
			return false
		}
	}
	return true
}

// strictForm finds a tool that says of itself that it is another form of this one, which takes arguments as they are
// given.
func (p *recovery) strictForm(name string) (string, bool) {
	own := p.tool(name)
	if own == nil {
		return "", false
	}
	at := slices.IndexFunc(p.view.Tools, func(t *task.Tool) bool {
		return t.Name != name && strings.Contains(t.Description, "`"+name+"`") &&
			holds(t.Description, "strict", "exactly as", "unchanged", "verbatim") && slices.Equal(parameterNames(t),
			parameterNames(own))
	})
	if at < 0 {
		return "", false
	}
	return p.view.Tools[at].Name, true
}

func parameterNames(t *task.Tool) []string {
	var names []string
	if t != nil && t.Parameters != nil {
		for i := range t.Parameters.Properties {
			names = append(names, t.Parameters.Properties[i].Name)
		}
	}
	return names
}
