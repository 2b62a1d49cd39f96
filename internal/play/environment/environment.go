// Package environment is a live instance: it takes an agent's actions, runs the tools that they name on a world, gives
// observations and records everything in a transcript. Every part of Seatrial that runs a tool for an agent, a proof or
// a server uses it. It must never know gold, plans, agents or transports, and it holds no clock: time reaches it only
// as the context of a step.
package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/relation"
)

// World is a database at work. Both methods are safe for concurrent use, and what they return is shared: the
// environment does not change it.
type World interface {
	// Query runs a statement; the i-th argument is bound to placeholder ?i.
	Query(ctx context.Context, statement string, args []task.Value) (*task.Result, error)
	// TextValues lists the distinct text values of a column, in an order that depends on the database alone.
	TextValues(ctx context.Context, table, column string) ([]string, error)
}

// Digester is what a [World] may be beside: one that remembers the digests of the results that it gave.
type Digester interface {
	// Digest gives [task.Result.Digest] of a result that has the rows of one which the world gave.
	Digest(r *task.Result, ordered bool) string
}

// DefaultRows is the row limit of a result where [Limits] names none.
const DefaultRows = 10_000

// Limits bound a call, beside the limits that the worlds themselves have.
type Limits struct {
	Rows int           // of a result; 0 means DefaultRows
	Time time.Duration // of a statement; 0 leaves it to the world
}

// ErrWall is the cause with which the context of a step is cancelled when the wall-clock budget of the episode is
// spent. Whoever holds the clock cancels it so; any other cancellation is an interruption.
var ErrWall = errors.New("the wall-clock budget is spent")

// Names of budgets in the last event of a transcript.
const (
	BudgetTurns  = "turns"
	BudgetCalls  = "calls"
	BudgetTokens = "tokens"
	BudgetWall   = "wall"
)

// Config says what an environment is made of.
type Config struct {
	Header   transcript.Header
	Messages []task.Message
	Evidence string
	Toolkit  *Toolkit // what the agent is shown
	Unlisted *Toolkit // what can be called without being shown; may be nil
	// Recorded says that no tool of the toolkit can be run: calls are recorded and acknowledged, and the first turn that
	// makes any ends the episode. No world is needed then.
	Recorded bool
	// Companions are the tools that conditions add: shown after the toolkit. May be nil.
	Companions *Toolkit
	// Database is that of World. Tools of other databases run on what Elsewhere gives, which is the same for every
	// neighbour of World; where it is nil, all tools run on World.
	Database  string
	Elsewhere func(ctx context.Context, database string) (World, error)
	// Open has the agent find its tools; nil shows it the toolkit.
	Open   *Open
	Budget task.Budget
	World  World
	// Starts are the labels that stand for something before the first call: the starting tables of the slot and sel
	// styles.
	Starts []Start
	// Names are the names under which operations on data handles are shown; nil where they bear their own.
	Names Names
	// Handles says what an agent sees of a data handle: HandlesReference ("" too) or HandlesPreview.
	Handles string
	// Settled remembers the digests of data handles between environments of one world and the same neighbours; may be nil.
	Settled *Settled
	// Memory remembers what calls gave, between environments; may be nil.
	Memory *Memory
	// Neighbours are the worlds on which every successful call is repeated for its digests; empty for none.
	Neighbours []World
	Limits     Limits
	Steps      []fault.Step // the conditions at work, in the order in which they apply
	Hint       Hint         // advice on them, and when it is given
	// User answers what the agent asks; nil where nobody is there to answer.
	User *condition.User
	// Parallelism bounds how many calls of one turn run side by side; 0 means the number of processors. It changes no
	// byte of what comes out.
	Parallelism int
}

// Names translates between the names under which tools are shown and their own.
type Names interface {
	// Call gives the tool and the arguments that a call under shown names means.
	Call(tool string, arguments map[string]any) (string, map[string]any, *task.ToolError)
	// Message puts shown names in place of own ones in what is said of a call.
	Message(tool, text string) string
}

// Start is a starting table under its label.
type Start struct {
	Label  string
	Handle *relation.Handle
	Table  task.Table // as the agent sees it
}

// What an agent sees of a data handle that it did not ask the rows of (NL2API §3.1 shows the reference alone).
const (
	HandlesReference = "reference"
	HandlesPreview   = "preview" // keys, the number of rows, and the first rows
)

// Environment is one instance for one episode. Its methods are safe for concurrent use; steps run one at a time.
type Environment struct {
	config Config
	stages stages
	scene  *scene // in which calls are remembered; nil where none is

	mu       sync.Mutex
	record   record
	ended    bool
	open     bool // the turn goes on: see [task.Turn]
	outcomes map[string]*outcome
	attempts map[string]int
	called   []string // the tools named so far, in the order of the calls
	calledIn []int    // the turns of these calls
	found    []string // the tools of an open world that were shown, in that order
	hinted   bool     // the advice that waits for an anomaly was given
	turns    int
	calls    int
	usage    task.Usage
	timeouts int
	unread   []unread // data handles whose digests are still to be found
	asked    []string // the questions so far

	countsMu sync.Mutex
	counts   map[string]int // of rows, by the statement that counts them
}

// New makes an environment. A missing toolkit is an error; so is a missing world where tools can be run.
func New(config Config) (*Environment, error) {
	if config.World == nil && !config.Recorded {
		return nil, fmt.Errorf("environment %s: no world", config.Header.Instance)
	}
	if config.Open != nil {
		config.Toolkit = openTools
		for _, t := range openTools.Specifications() {
			if config.Open.Toolkit.find(t.Name) != nil {
				return nil, fmt.Errorf("environment %s: a tool of the open world is called %q", config.Header.Instance, t.Name)
			}
		}
		config.Companions = config.Companions.without(task.ToolSearch, task.ToolInfo)
	}
	if config.Toolkit == nil {
		return nil, fmt.Errorf("environment %s: no toolkit", config.Header.Instance)
	}
	for _, t := range config.Companions.Specifications() {
		if config.Toolkit.find(t.Name) != nil {
			return nil, fmt.Errorf("environment %s: the companion %q bears the name of a tool", config.Header.Instance, t.Name)
		}
	}
	if config.Limits.Rows == 0 {
		config.Limits.Rows = DefaultRows
	}
	if config.Parallelism == 0 {
		config.Parallelism = runtime.GOMAXPROCS(0)
	}
	switch config.Handles {
	case "":
		config.Handles = HandlesReference
	case HandlesReference, HandlesPreview:
	default:
		return nil, fmt.Errorf("environment %s: data handles cannot be shown as %q", config.Header.Instance, config.Handles)
	}
	if err := config.Hint.check(); err != nil {
		return nil, fmt.Errorf("environment %s: %w", config.Header.Instance, err)
	}
	config.Header.Format = transcript.Format
	e := &Environment{
		config:   config,
		stages:   newStages(config.Steps),
		record:   record{whole: transcript.Transcript{Header: config.Header}},
		outcomes: map[string]*outcome{},
		attempts: map[string]int{},
	}
	if !config.Recorded && config.Open == nil && !e.stages.changesCalls() {
		e.scene = config.Memory.scene(config.World, config.Neighbours, config.Limits)
	}
	for _, s := range config.Starts {
		e.outcomes[s.Label] = &outcome{handle: s.Handle}
	}
	e.hintAtStart()
	e.userAtStart()
	return e, nil
}

// View is what the agent is given at the start; in an open world, what it is given now: see [Environment.Grows].
func (e *Environment) View() *task.View {
	e.mu.Lock()
	defer e.mu.Unlock()
	view := &task.View{
		Messages: e.config.Messages,
		Evidence: e.config.Evidence,
		Tools:    e.specifications(fault.SpecificationStep.Documented),
		Budget:   e.config.Budget,
	}
	for _, s := range e.config.Starts {
		view.Starts = append(view.Starts, s.Table)
	}
	if e.config.Hint.When == HintStart {
		view.Hint = e.config.Hint.Text
	}
	if e.config.Open != nil {
		view.Hidden = e.hidden
	}
	if e.config.User != nil {
		view.Questions = condition.Questions
	}
	return view
}

// Specifications lists the tools as they stand now, in the order of the view: what a fresh listing says. They differ
// from those of the view where a condition has changed a specification and the agent was not told.
func (e *Environment) Specifications() []*task.Tool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.specifications(func(fault.SpecificationStep) bool { return true })
}

// specifications lists the tools with the changes of some steps.
func (e *Environment) specifications(which func(fault.SpecificationStep) bool) []*task.Tool {
	tools := e.listed()
	cloned := false
	for _, s := range e.stages.specific {
		if !which(s.step) {
			continue
		}
		if !cloned {
			tools, cloned = slices.Clone(tools), true
		}
		for i, t := range tools {
			tools[i] = s.step.Specify(t)
		}
	}
	return tools
}

// Done says whether the episode has ended.
func (e *Environment) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// Finish ends the episode for a reason that is none of the agent's acts: one of the End constants of the transcript. It
// does nothing if the episode has ended.
func (e *Environment) Finish(end, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finish(transcript.Event{End: end, Message: message})
}

// FinishBudget ends the episode because that budget is spent.
func (e *Environment) FinishBudget(budget string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.finish(transcript.Event{End: transcript.EndBudget, Budget: budget})
}

func (e *Environment) finish(end transcript.Event) {
	if e.ended {
		return
	}
	usage := e.usage
	end.Kind, end.Turn = transcript.EventEnd, e.turns
	end.Usage, end.Turns, end.Calls = &usage, e.turns, e.calls
	end.Open = e.config.Open != nil
	e.record.Append(end)
	e.ended = true
}

// Transcript gives the record so far. It is the environment's own once the episode has ended, and must then not be
// changed; before that it is a copy.
func (e *Environment) Transcript() *transcript.Transcript {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return e.record.gather()
	}
	return &transcript.Transcript{Header: e.config.Header, Events: e.record.from(0)}
}

// EventsFrom gives a copy of the events of the record after the first n, in their order: what has happened since it had
// n. Whoever holds the clock learns from it how late a condition wants an answer to be; agents must not see it.
func (e *Environment) EventsFrom(n int) []transcript.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.record.from(n)
}

// Timeouts counts the statements that ran into a time limit, those on neighbours too. Stages that prove things must not
// publish what such a statement decided.
func (e *Environment) Timeouts() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.timeouts
}

// decodeArguments reads the arguments of a call: an object, or nothing for no arguments. What is no JSON and what is no
// object get the same answer, so that a replay of [recordable] arguments gives the same transcript.
func decodeArguments(raw json.RawMessage) (map[string]any, *task.ToolError) {
	if len(raw) == 0 {
		return nil, nil
	}
	v, err := task.DecodeValue(raw)
	object, ok := v.(map[string]any)
	if err != nil || !ok && v != nil {
		return nil, &task.ToolError{
			Code:    task.CodeBadArguments,
			Message: "The arguments of a call must be one JSON object.",
		}
	}
	return object, nil
}

// recordable gives arguments in a form that a transcript can hold: as given, or as a JSON string where they are not
// JSON.
func recordable(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	return task.AppendValue(nil, string(raw))
}
