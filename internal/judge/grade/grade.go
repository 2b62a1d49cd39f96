// Package grade turns a task and the transcript of an episode into a grade: what came of the episode, whether it
// counts, whether it succeeded, and the first cause if it did not. RULES.md states the rules. Grading is pure, so old
// transcripts can be graded again at any time. It must never know a model, a network, a database, or how the episode
// was run.
package grade

import (
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// Format is the version of a grade. Grades without one are of the first, which had neither Calling nor what follows it;
// those of the second had nothing from Reaction on, and counted what look-alikes did as landed; those of the third had
// no AST, those of the fourth neither Failure nor Backup, those of the fifth took plans that are right by accident for
// needed ones, and those of the sixth had no Message and accepted other answers (RULES.md, "Shapes" to "Extraction").
const Format = "seatrial.grade/7"

// Outcomes of an episode.
const (
	OutcomeSuccess     = "success"       // strictly right
	OutcomeWrong       = "wrong_answer"  // answered, and not strictly right
	OutcomeDeclined    = "declined"      // declined a request that can be met
	OutcomeWrongYes    = "wrong_yes"     // judged that a request can be met which cannot
	OutcomeWrongNo     = "wrong_no"      // judged that a request cannot be met which can
	OutcomeSilent      = "silent"        // stopped without an act
	OutcomeOutOfBudget = "out_of_budget" // Grade.Budget names the budget
	OutcomeCrashed     = "crashed"       // the agent's own program failed
	OutcomeInvalid     = "invalid"       // Grade.Invalid names the reason; the episode leaves the denominator
)

// Outcomes lists every outcome in the order of reports.
func Outcomes() []string {
	return []string{OutcomeSuccess, OutcomeWrong, OutcomeDeclined, OutcomeWrongYes, OutcomeWrongNo, OutcomeSilent,
		OutcomeOutOfBudget, OutcomeCrashed, OutcomeInvalid}
}

// First causes of a failure, beside the differences of the universe package.
const (
	CauseNoAnswer     = "no_answer"             // the episode ended before an answer
	CauseDeclined     = "declined"              // the request can be met
	CauseUnanswerable = "answered_unanswerable" // gold is declining
	CauseMisreported  = "misreported"           // a call returned gold, and the answer is something else
	CauseFailedCall   = "answered_failed_call"  // the answer refers to a call that failed
	CauseTooLong      = "answer_too_long"       // the answer refers to a result that is too long to be read
	CauseWrongYes     = "wrong_yes"             // the judgement is wrong: the request cannot be met
	CauseWrongNo      = "wrong_no"              // the judgement is wrong: the request can be met
)

// Where calls are compared with right ones (Grade.Check), the cause is the name of the leaderboard's error type.

// Judgements, in the words of Incomplete Conditions: whether the request can be met.
const (
	JudgedYes = "yes"
	JudgedNo  = "no"
)

// Grade is what an episode is worth. Counts are of events in the transcript; Tokens are input and output together;
// CostUSD is in US dollars.
type Grade struct {
	Format   string `json:"format"`
	Episode  string `json:"episode"`
	Suite    string `json:"suite"`
	Instance string `json:"instance"`
	Task     string `json:"task"`
	Agent    string `json:"agent"`
	Protocol string `json:"protocol,omitempty"`
	Arm      string `json:"arm,omitempty"`
	Trial    int    `json:"trial"`

	Outcome string `json:"outcome"`           // one of the Outcome constants
	Budget  string `json:"budget,omitempty"`  // what ran out: turns, calls, tokens or wall
	Message string `json:"message,omitempty"` // of a crash: the first line that the agent's program wrote
	Invalid string `json:"invalid,omitempty"` // provider, internal or interrupted
	Valid   bool   `json:"valid"`             // counts in the denominator
	Success bool   `json:"success"`           // strictly right
	// Judged is what an episode that ended with a judgement said of the request: JudgedYes or JudgedNo.
	Judged  string `json:"judged,omitempty"`
	Lenient bool   `json:"lenient"`        // strictly right, or right after extraction from prose
	Rule    string `json:"rule,omitempty"` // the extraction rule, where only lenient
	// Cause is the first cause of a failure, "" for successes and invalid episodes: a Cause constant, or a Diff constant
	// of the universe package.
	Cause string `json:"cause,omitempty"`
	// Difference is how the answer differs from gold, whatever the cause: a Diff constant of the universe package.
	Difference string `json:"difference,omitempty"`
	RightSeen  bool   `json:"right_seen,omitempty"` // a call returned gold
	// Clarification is what the agent did about a value that the request lacks, where somebody was there to be asked: a
	// Clarify constant.
	Clarification string `json:"clarification,omitempty"`

	Landed    bool `json:"landed,omitempty"`    // a fault changed or refused some call
	Lookalike bool `json:"lookalike,omitempty"` // trouble that is none showed on some call
	Hints     int  `json:"hints,omitempty"`     // pieces of advice that the agent was given

	Turns        int     `json:"turns"`
	Calls        int     `json:"calls"`
	Asks         int     `json:"asks,omitempty"`
	InputTokens  int     `json:"input_tokens,omitempty"`
	OutputTokens int     `json:"output_tokens,omitempty"`
	Tokens       int     `json:"tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
	Unparsed     int     `json:"unparsed,omitempty"`    // pieces of replies that could not be read
	ToolErrors   int     `json:"tool_errors,omitempty"` // calls that came back as an error, whoever's mistake it was

	// Check is there for valid episodes of tasks whose tools cannot be run, but for those that ended with a judgement.
	Check *Check `json:"check,omitempty"`

	// Calling is there for valid episodes of tasks that have plans and tools that can be run, but for those of the
	// protocol sql and those that ended with a judgement.
	Calling *Calling `json:"calling,omitempty"`
	// AST is there for valid episodes that have Check or Calling and whose request can be met.
	AST *AST `json:"ast,omitempty"`
	// ErrorClass is one of [ErrorClasses] for failed episodes that have Calling, else "".
	ErrorClass string `json:"error_class,omitempty"`
	// How a failed, valid episode went round (NL2API appendix H.1.2). Stuck and StuckSame do not exclude the outcome
	// out_of_budget; Unclassified is neither stuck nor out of budget.
	Stuck        bool `json:"stuck,omitempty"`                // two consecutive calls of one function, as the paper counts
	StuckSame    bool `json:"stuck_same_arguments,omitempty"` // two such calls with the same arguments too
	Unclassified bool `json:"unclassified,omitempty"`

	// Reaction is there for valid episodes in which a fault struck.
	Reaction *Reaction `json:"reaction,omitempty"`
	// Failure is there for valid episodes without success.
	Failure *Failure `json:"failure,omitempty"`
	// Backup is the number of calls of the shortest way to the answer that was left, of valid episodes in which a tool
	// failed for good; 0 for others, and where no way was left.
	Backup int `json:"backup,omitempty"`

	// Alarms over nothing, of valid episodes: calls made again though they had gone through, and changes to another way to
	// the answer though all was well. Declining is in Outcome.
	NeedlessRetries  int `json:"needless_retries,omitempty"`
	NeedlessSwitches int `json:"needless_switches,omitempty"`
}

// episode is what scorers read.
type episode struct {
	task *task.Task
	t    *transcript.Transcript
	end  *transcript.Event // never nil
	act  *transcript.Event // the answer, decline or judgement that ended the episode; nil where nothing did

	calls    []invocation
	struck   []bool    // by call: a fault changed or refused it
	matching *matching // what scoreCalling found; nil where calls cannot be compared with plans
}

// scorer fills its own part of a grade.
type scorer struct {
	name  string
	score func(e *episode, g *Grade) error
}

// scorers run in this order; each may read what those before it wrote.
func scorers() []scorer {
	return []scorer{
		{"identity", scoreIdentity},
		{"effort", scoreEffort},
		{"conditions", scoreConditions},
		{"evidence", scoreEvidence},
		{"outcome", scoreOutcome},
		{"cause", scoreCause},
		{"clarification", scoreClarification},
		{"calling", scoreCalling},
		{"ast", scoreAST},
		{"error class", scoreErrorClass},
		{"loops", scoreLoops},
		{"reaction", scoreReaction},
		{"failure", scoreFailure},
	}
}

// Of grades an episode. A transcript without an end counts as interrupted. Where the agent was shown tools under other
// names, the task's plans are to have those names. Errors are Seatrial's own: a transcript of
// another task, one that contradicts itself, or gold of a kind that this version cannot judge.
func Of(task *task.Task, t *transcript.Transcript) (Grade, error) {
	var g Grade
	e, err := read(task, t)
	if err != nil {
		return g, fmt.Errorf("grade episode %q: %w", t.Header.ID, err)
	}
	for _, s := range scorers() {
		if err := s.score(e, &g); err != nil {
			return Grade{}, fmt.Errorf("grade episode %q: %s: %w", t.Header.ID, s.name, err)
		}
	}
	return g, nil
}

// Succeeded gives [Grade.Success] of what [Of] gives, and finds out nothing else: for rewards, which are wanted often.
// Where it fails, Of fails too.
func Succeeded(task *task.Task, t *transcript.Transcript) (bool, error) {
	var g Grade
	e, err := readEnd(task, t)
	if err == nil {
		err = scoreOutcome(e, &g)
	}
	if err != nil {
		return false, fmt.Errorf("grade episode %q: %w", t.Header.ID, err)
	}
	return g.Success, nil
}

func read(task *task.Task, t *transcript.Transcript) (*episode, error) {
	e, err := readEnd(task, t)
	if err != nil {
		return nil, err
	}
	e.calls = made(t)
	e.struck = strikes(t, len(e.calls))
	return e, nil
}

// readEnd reads how an episode ended, without the calls that led there.
func readEnd(task *task.Task, t *transcript.Transcript) (*episode, error) {
	if t.Header.Task != task.ID {
		return nil, fmt.Errorf("the transcript is of task %q, not of %q", t.Header.Task, task.ID)
	}
	e := &episode{task: task, t: t, end: t.End()}
	if e.end != nil && e.end.Gold != nil {
		e.task = onFreshWorld(task, e.end.Gold)
	}
	if e.end == nil {
		e.end = &transcript.Event{Kind: transcript.EventEnd, End: transcript.EndInterrupted}
		return e, nil
	}
	acts := map[string]string{
		transcript.EndAnswered: transcript.EventAnswer,
		transcript.EndDeclined: transcript.EventDecline,
		transcript.EndJudged:   transcript.EventJudge,
	}
	kind, acted := acts[e.end.End]
	if !acted {
		return e, nil
	}
	// The first act ends the episode; what a turn holds after it was never done.
	for i := range t.Events {
		if k := t.Events[i].Kind; k == transcript.EventAnswer || k == transcript.EventDecline || k == transcript.EventJudge {
			e.act = &t.Events[i]
			break
		}
	}
	if e.act == nil || e.act.Kind != kind {
		return nil, fmt.Errorf("the transcript ends as %q without that act", e.end.End)
	}
	return e, nil
}

// onFreshWorld gives a task as it stands on a fresh world: with the right answer there, and without what its plans were
// seen to give on others.
func onFreshWorld(task *task.Task, gold *task.Gold) *task.Task {
	fresh := *task
	fresh.Gold = *gold
	fresh.Plans = slices.Clone(task.Plans)
	for i := range fresh.Plans {
		fresh.Plans[i].Evidence = nil
	}
	return &fresh
}
