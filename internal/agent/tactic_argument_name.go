package agent

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

var argumentNameTactic = &tactic{
	TacticInfo: TacticInfo{"argument-name",
		"an error lists the arguments that a tool accepts now: gives them under these names"},
	heal: func(s *sign) (remedy, bool) {
		unknown, accepted := namesIn(s.err.Message)
		if len(accepted) == 0 {
			return remedy{}, false
		}
		learnt := false
		for _, old := range unknown {
			if fresh, ok := renamedTo(old, s.j.sent, accepted, s.p.parameters(s.j.tool)); ok {
				learnt = s.p.learn(s.j.tool, fix{argument: old, name: fresh}) || learnt
			}
		}
		return remedy{}, learnt
	},
}

var acceptsPattern = regexp.MustCompile(`(?i)accept`)

// namesIn reads the arguments that an error refuses, and those that it says are accepted.
func namesIn(message string) (unknown, accepted []string) {
	at := acceptsPattern.FindStringIndex(message)
	if at == nil || !holds(message, "unknown", "unexpected", "not known", "unrecogni") {
		return nil, nil
	}
	return quotedNames(message[:at[0]]), quotedNames(message[at[0]:])
}

// renamedTo finds the new name of an argument among those that are accepted and not given: the only one, the one that
// stands in its place in the specification, or the one that holds the old name.
func renamedTo(old string, sent map[string]any, accepted, documented []string) (string, bool) {
	var free []string
	for _, name := range accepted {
		if _, given := sent[name]; !given && !slices.Contains(documented, name) {
			free = append(free, name)
		}
	}
	if len(free) == 1 {
		return free[0], true
	}
	if at := slices.Index(documented, old); at >= 0 && len(accepted) == len(documented) &&
		slices.Contains(free, accepted[at]) {
		return accepted[at], true
	}
	for _, name := range free {
		if strings.Contains(name, old) {
			return name, true
		}
	}
	return "", false
}

// fix is what the policy has learnt of a tool: how its calls are to be spelt from now on.
type fix struct {
	argument string          // as the plan calls it, or as it is called by now
	name     string          // its new name; "" where that stays
	convert  func(v any) any // of its value; nil where that stays
	add      any             // the value of an argument that is new; nil for others
}

// spell gives arguments as the tool wants them by now. Given ones are left as they are.
func spell(arguments map[string]any, fixes []fix) map[string]any {
	if len(fixes) == 0 {
		return arguments
	}
	spelt := maps.Clone(arguments)
	if spelt == nil {
		spelt = map[string]any{}
	}
	called := map[string]string{} // new names by older ones
	for _, f := range fixes {
		name := f.argument
		for range fixes {
			if fresh, renamed := called[name]; renamed {
				name = fresh
			}
		}
		v, given := spelt[name]
		switch {
		case f.add != nil:
			if !given {
				spelt[name] = f.add
			}
		case !given:
		case f.convert != nil:
			spelt[name] = f.convert(v)
		default:
			delete(spelt, name)
			spelt[f.name] = v
			called[name] = f.name
		}
	}
	return spelt
}
