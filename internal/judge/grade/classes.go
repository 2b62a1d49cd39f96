package grade

import (
	"reflect"
	"slices"

	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// Error classes of failed episodes (NL2API appendix H.1.1), in their order of precedence: the first that applies
// counts. RULES.md, "Error classes", says what each means here.
const (
	ErrorAlignment    = "instruction_alignment_failure"
	ErrorCount        = "wrong_func_count"
	ErrorFormat       = "wrong_func_format"
	ErrorHallucinated = "hallucinated_func_name"
	ErrorName         = "wrong_func_name"
	ErrorMissing      = "missing_required_parameter"
	ErrorUnexpected   = "unexpected_param"
	ErrorValue        = "value_error"
	// ErrorOther is what none of the paper's classes covers: the calls are those of the plan and the answer is wrong all
	// the same, because of a fault or because the result was misreported.
	ErrorOther = "other"
)

// ErrorClasses lists the classes in their order of precedence.
func ErrorClasses() []string {
	names := make([]string, 0, len(errorClasses)+1)
	for _, c := range errorClasses {
		names = append(names, c.name)
	}
	return append(names, ErrorOther)
}

// errorClasses in their order of precedence.
var errorClasses = []struct {
	name    string
	applies func(*failure) bool
}{
	{ErrorAlignment, (*failure).misaligned},
	{ErrorCount, (*failure).miscounted},
	{ErrorFormat, (*failure).misformed},
	{ErrorHallucinated, (*failure).hallucinated},
	{ErrorName, (*failure).misnamed},
	{ErrorMissing, (*failure).lacking},
	{ErrorUnexpected, (*failure).exceeding},
	{ErrorValue, (*failure).misvalued},
}

// What a piece of a reply that could not be read means for the classes.
const (
	pieceHarmless  = iota // what it stands beside was read in full, or it was not needed
	pieceUnread           // the beginning of a call that could not be read
	pieceIdle             // nothing in which a call could be read, which matters where the reply has no other act
	pieceMalformed        // it was read as part of a call that has not the form of one
	pieceLostCall         // the same, and no call came of it
)

// pieces is the table of the reasons why protocols leave a piece of a reply unread.
var pieces = map[string]int{
	"truncated":                pieceUnread,
	"not_json":                 pieceUnread,
	"expression":               pieceUnread,
	"tag":                      pieceIdle,
	"fence":                    pieceIdle,
	"no_call":                  pieceIdle,
	"no_act":                   pieceIdle,
	"not_a_call":               pieceLostCall,
	"no_tool":                  pieceLostCall,
	"bad_arguments":            pieceMalformed,
	"bad_label":                pieceMalformed,
	"positional":               pieceMalformed,
	"missing_argument":         pieceMalformed,
	"extra_field":              pieceHarmless,
	"duplicate_field":          pieceHarmless,
	"comment":                  pieceHarmless,
	"hallucinated_observation": pieceHarmless,
	"second_action":            pieceHarmless,
	"after_act":                pieceHarmless,
	"no_verdict":               pieceIdle,
	"two_verdicts":             pieceIdle,
	"unknown_format":           pieceUnread,
	"open_thought":             pieceUnread,
	"repeated":                 pieceHarmless,
}

// failure is a failed episode with the plan that fits its calls best.
type failure struct {
	*matching
	acted     bool            // an answer or a decline ended it
	codes     map[string]bool // of the errors that calls came back with
	lost      int             // pieces of replies that were to be calls, and are none
	malformed bool            // some piece of a reply is malformed
	unread    bool            // the last reply has a call that could not be read
	idle      bool            // the last reply has something in which no call could be read, and no act
}

func newFailure(e *episode) *failure {
	f := &failure{matching: e.matching, acted: e.act != nil, codes: map[string]bool{}}
	for i := range e.t.Events {
		switch ev := &e.t.Events[i]; ev.Kind {
		case transcript.EventTurn:
			f.read(ev.Decision)
		case transcript.EventCall:
			f.idle = false
			if ev.Error != nil {
				f.codes[ev.Error.Code] = true
			}
		case transcript.EventAnswer, transcript.EventDecline, transcript.EventJudge:
			f.idle = false
		}
	}
	return f
}

// read reads what could not be read of a turn. A turn in which the agent said nothing, because its protocol closed the
// episode, is passed over.
func (f *failure) read(d *task.Turn) {
	if d == nil || d.Reply == "" && d.Usage.Requests == 0 && len(d.Unparsed) == 0 {
		return
	}
	f.unread, f.idle = false, false
	for i := range d.Unparsed {
		switch pieces[d.Unparsed[i].Reason] {
		case pieceUnread:
			f.unread = true
		case pieceIdle:
			f.idle = true
		case pieceLostCall:
			f.lost++
			f.malformed = true
		case pieceMalformed:
			f.malformed = true
		}
	}
}

// misaligned: the last reply holds a call that could not be read, or nothing in which one could; or the episode has no
// call, no piece that was to be one, no answer and no decline.
func (f *failure) misaligned() bool {
	return f.unread || f.idle || len(f.agent) == 0 && f.lost == 0 && !f.acted
}

// miscounted: the calls, with the pieces of replies that were to be calls, are not as many as the plan's.
func (f *failure) miscounted() bool { return len(f.agent)+f.lost != len(f.plan) }

// misformed: a call could be read and has not the form of one.
func (f *failure) misformed() bool {
	return f.malformed || f.codes[task.CodeDuplicateLabel] || slices.ContainsFunc(f.agent, func(c invocation) bool {
		return c.malformed || c.event.Label != "" && !task.IsLabel(c.event.Label)
	})
}

// hallucinated: a call names a tool that does not exist, or was not among those shown.
func (f *failure) hallucinated() bool {
	return f.codes[task.CodeUnknownTool] || slices.ContainsFunc(f.agent,
		func(c invocation) bool { return c.event.Unlisted })
}

// misnamed: some intent is wrong.
func (f *failure) misnamed() bool { return f.intent.Right < max(f.intent.Predicted, f.intent.Gold) }

// lacking: a call was refused because a required argument is missing; or one was refused for an unknown argument and
// lacks one that its counterpart has: tools may look at unknown arguments before they look at missing ones.
func (f *failure) lacking() bool {
	if f.codes[task.CodeMissingArgument] {
		return true
	}
	for a, g := range f.planOf {
		if e := f.agent[a].event.Error; g < 0 || e == nil || e.Code != task.CodeUnknownArgument {
			continue
		}
		for name := range f.plan[g].arguments {
			if _, given := f.agent[a].arguments[name]; !given {
				return true
			}
		}
	}
	return false
}

// exceeding: a call was refused because an argument is unknown.
func (f *failure) exceeding() bool { return f.codes[task.CodeUnknownArgument] }

// misvalued: a call has another value, or leaves out or adds an optional argument, and is not proven to give what its
// counterpart gives; or it was refused for a value.
func (f *failure) misvalued() bool {
	return slices.Contains(f.wrong, true) || f.codes[task.CodeWrongType] || f.codes[task.CodeBadReference] ||
		f.codes[task.CodeBadArguments]
}

// scoreErrorClass names the class of a failed episode whose calls can be compared with a plan.
func scoreErrorClass(e *episode, g *Grade) error {
	if e.matching == nil || g.Success {
		return nil
	}
	f := newFailure(e)
	g.ErrorClass = ErrorOther
	for _, c := range errorClasses {
		if c.applies(f) {
			g.ErrorClass = c.name
			break
		}
	}
	return nil
}

// scoreLoops says how a failed episode went round (NL2API appendix H.1.2). Calls are consecutive in the order of their
// events, whatever turn they were made in.
func scoreLoops(e *episode, g *Grade) error {
	if !g.Valid || g.Success || g.Check != nil {
		return nil
	}
	for i := 1; i < len(e.calls) && !g.StuckSame; i++ {
		if before, c := &e.calls[i-1], &e.calls[i]; before.tool == c.tool {
			g.Stuck, g.StuckSame = true, sameArguments(before, c)
		}
	}
	g.Unclassified = !g.Stuck && g.Outcome != OutcomeOutOfBudget
	return nil
}

// sameArguments compares the arguments of two calls as JSON values, where 1 and 1.0 differ. No arguments are the same
// however they are written.
func sameArguments(a, b *invocation) bool {
	if a.malformed || b.malformed {
		return string(a.event.Arguments) == string(b.event.Arguments)
	}
	return len(a.arguments) == 0 && len(b.arguments) == 0 || reflect.DeepEqual(a.arguments, b.arguments)
}
