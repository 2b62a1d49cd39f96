package recovery

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/task"
)

// TacticInfo describes a tactic of the recovery policy to a person.
type TacticInfo struct {
	Name        string
	Description string // one line: the sign, and what is done
}

// tactic recognises one sign of trouble and says what to do next. It knows what any agent can see: the view, the words
// of errors, payloads, and what other tools answer. A tactic speaks of signs, never of kinds of faults, and does
// nothing where its sign is absent. Which of the functions it has says where it looks.
type tactic struct {
	TacticInfo
	// heal reads the error of a call.
	heal func(s *sign) (remedy, bool)
	// complete reads a result that is not, or not all of, what was asked for.
	complete func(s *sign) (remedy, bool)
	// shape finds the rows in a payload in which they do not stand as a list of records.
	shape func(v any, f *finding) bool
	// undo reads values back as the documentation has them, and says whether anything was changed.
	undo func(f *finding) bool
	// judge says whether the source of a result is to be trusted.
	judge func(s *sign) (verdict, bool)
}

// tactics is the table of all tactics, in the order in which they are asked. What changed a call last is undone first:
// what was delivered, then the form of values, the values, their shape, at last the source.
var tactics = []*tactic{
	waitTactic, renewTactic, repeatTactic, argumentNameTactic, argumentTypeTactic, argumentAddedTactic,
	freshSpecificationTactic,
	strictFormTactic, nextPageTactic,
	envelopeTactic, sentenceTactic, labelTactic, measureTactic, numberFormatTactic, numberTextTactic,
	sortTactic, missingTactic, legendTactic, unitTactic, fieldNameTactic,
	readTogetherTactic, checksumTactic, newestTactic, majorityTactic,
	otherPlanTactic,
}

// Tactics lists the tactics of the recovery policy in the order in which they are asked.
func Tactics() []TacticInfo {
	list := make([]TacticInfo, len(tactics))
	for i, t := range tactics {
		list[i] = t.TacticInfo
	}
	return list
}

// tacticsWithout gives the tactics but those that are named. An unknown name is an error of exit code 2 that names the
// nearest known one.
func tacticsWithout(without []string) ([]*tactic, error) {
	if len(without) == 0 {
		return tactics, nil
	}
	known := make([]string, len(tactics))
	for i, t := range tactics {
		known[i] = t.Name
	}
	for _, name := range without {
		if !slices.Contains(known, name) {
			return nil, diag.Unknown("tactic", name, known)
		}
	}
	return slices.DeleteFunc(slices.Clone(tactics), func(t *tactic) bool { return slices.Contains(without, t.Name) }), nil
}

// sign is what a tactic is shown: a call, and the error or the result that came back.
type sign struct {
	p   *Policy
	j   *job
	err *task.ToolError // nil where a result came back
	f   *finding        // nil where an error came back
}

// says tells whether the error's message holds one of the phrases, given in small letters.
func (s *sign) says(phrases ...string) bool {
	return holds(s.err.Message, phrases...)
}

// holds says whether a text holds one of the phrases, given in small letters, whatever its case.
func holds(text string, phrases ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
}

// remedy says what to do next about a call. One of its fields is set, or none, which means to make the call again as it
// now stands.
type remedy struct {
	wait    int       // turns to let pass before the call is made again; 1 is the next one
	ask     *question // to be asked before anything else
	instead string    // a tool to be called in place of this one, now and later
	give    string    // why no further call of this tool will help
}

// question is a call beside the plan: its answer says how to go on.
type question struct {
	tool      string
	arguments map[string]any
	// heard reads the answer; it is false where that is of no use.
	heard func(o *task.Observation) (remedy, bool)
	again bool // with the answer heard the call that raised the question is made again; else its result is looked at again

	jobs  []*job // that wait for it
	tries int
}

// verdict is what a tactic makes of a source.
type verdict struct {
	ask   string // another source to be asked for the same, by its tool
	take  *job   // whose finding is to be trusted in place of the call's own
	doubt string // why the result is not to be trusted, where no other is known
}

// quotedNames lists what stands between backquotes in a text.
func quotedNames(text string) []string {
	var names []string
	for {
		_, rest, found := strings.Cut(text, "`")
		if !found {
			return names
		}
		name, after, found := strings.Cut(rest, "`")
		if !found {
			return names
		}
		names, text = append(names, name), after
	}
}
