package suite

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/universe"
)

// Pair is an instance whose request cannot be met, and the complete one that it is scored with (Incomplete Conditions,
// "Task Formulation": original and manipulated instances, as many of the one as of the other).
type Pair struct {
	Incomplete *Instance
	Complete   *Instance
}

// Pairs puts each instance of the role hopeless beside exactly one complete instance of its task, in the order of the
// suite; whatever judges all requests alike is right about half of a list of pairs. The complete one is of the role clean,
// and the first of these that there is:
//
//  1. one under conditions of the same names: the control of a kind that changes the toolkit, which shows the same tools and
//     those that do the job;
//  2. one whose conditions are all the incomplete one's too, with their parameters; of several the one that shares most. The
//     instance without conditions is such a one.
//
// In doubt the one that stands first counts. Several incomplete instances may share a complete one, which is then scored
// with each of them. Incomplete instances that have no complete one are listed apart, and belong to no pair.
func (s *Suite) Pairs() (pairs []Pair, alone []*Instance) {
	complete := map[string][]*Instance{}
	for _, in := range s.Instances {
		if in.Role == condition.RoleClean {
			complete[in.Task] = append(complete[in.Task], in)
		}
	}
	for _, in := range s.Instances {
		if in.Role != condition.RoleHopeless {
			continue
		}
		if original := original(in, complete[in.Task]); original != nil {
			pairs = append(pairs, Pair{Incomplete: in, Complete: original})
		} else {
			alone = append(alone, in)
		}
	}
	return pairs, alone
}

// original chooses the complete instance for an incomplete one.
func original(in *Instance, complete []*Instance) *Instance {
	var best *Instance
	for _, c := range complete {
		switch {
		case slices.EqualFunc(c.Conditions, in.Conditions, sameName):
			return c
		case !among(c.Conditions, in.Conditions):
		case best == nil || len(c.Conditions) > len(best.Conditions):
			best = c
		}
	}
	return best
}

func sameName(a, b condition.Condition) bool { return a.Name == b.Name }

// among says whether conditions all stand in a list, with the same parameters.
func among(some, list []condition.Condition) bool {
	for _, c := range some {
		if !slices.ContainsFunc(list, func(d condition.Condition) bool {
			return sameName(c, d) && string(c.Parameters) == string(d.Parameters)
		}) {
			return false
		}
	}
	return true
}

// Lacking says what an incomplete instance lacks, whichever condition took it away: the tools of its task's plans that it
// does not show, in the order of the plans, and the values that the task's own request mentions and the request as the
// instance shows it does not. shown is the task as its agent meets it. Both are empty where neither is known.
func (s *Suite) Lacking(in *Instance, shown *universe.Task) (tools []*universe.Tool, details []universe.Literal, err error) {
	at := slices.IndexFunc(s.Tasks, func(t *universe.Task) bool { return t.ID == in.Task })
	if at < 0 {
		return nil, nil, fmt.Errorf("instance %s: the suite has no task %q", in.ID, in.Task)
	}
	task := s.Tasks[at]
	kit, whole := s.Toolkit(in, task), s.Toolkit(&Instance{}, task)
	for _, plan := range task.Plans {
		for i := range plan.Calls {
			named := func(t *universe.Tool) bool { return t.Name == plan.Calls[i].Tool }
			if slices.ContainsFunc(kit, named) || slices.ContainsFunc(tools, named) {
				continue
			}
			if at := slices.IndexFunc(whole, named); at >= 0 {
				tools = append(tools, whole[at])
			}
		}
	}
	before, after := said(task), said(shown)
	if before == after {
		return tools, nil, nil
	}
	question := task.Question()
	for _, l := range task.Literals {
		mention := fmt.Sprint(l.Value)
		if 0 <= l.Start && l.Start < l.End && l.End <= len(question) {
			mention = question[l.Start:l.End]
		}
		if mentions(before, mention) && !mentions(after, mention) {
			details = append(details, l)
		}
	}
	return tools, details, nil
}

// said is everything that a request says, its evidence included.
func said(t *universe.Task) string {
	var b strings.Builder
	for _, m := range t.Messages {
		b.WriteString(m.Content)
		b.WriteByte('\n')
	}
	b.WriteString(t.Evidence)
	return b.String()
}

// mentions says whether a text has a phrase, without regard to case, that no letter or digit adjoins.
func mentions(text, phrase string) bool {
	text, phrase = strings.ToLower(text), strings.ToLower(phrase)
	if phrase == "" {
		return false
	}
	for from := 0; ; {
		at := strings.Index(text[from:], phrase)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
		if !wordRune(before) && !wordRune(after) {
			return true
		}
		from = at + 1
	}
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
