package condition

import (
	"encoding/json"

	"github.com/seatrial/seatrial/internal/task"
)

// Step is one condition at work in an environment. What it can do it says by implementing one or more of [Refuser],
// [ArgumentStep], [ValueStep], [ResultStep], [BesideStep], [PageStep] and [DeliveryStep]; the environment asks them in
// that order, and within one kind in the order in which the steps are listed. Beside these, [Companion] answers calls
// to tools of its own, and [SpecificationStep] changes what is said of tools.
//
// A step is pure: what it does depends on its own parameters and on what it is given alone, never on time, on the agent
// or on what ran beside it. It must not change what it is given, but return a changed copy. Its methods are called from
// several goroutines at once.
type Step interface {
	Name() string // of the condition, for the record
}

// Call is what a step may know of a call. It is fixed before any body of the same turn runs.
type Call struct {
	Tool      *task.Tool
	Label     string
	Turn      int            // from 1
	Number    int            // of the call in the episode, from 1
	Attempt   int            // of the call to this tool in the episode, from 1
	Arguments map[string]any // as the agent gave them, nil where they could not be read; not to be changed
	Earlier   []string       // the tools named by the calls before it in the episode, in order; not to be changed
	Turns     []int          // in which they were made, by the position in Earlier; not to be changed
}

// Decision is what a step did to a call. It goes into the transcript and never to the agent. A step to which the call
// is of no concern returns none.
type Decision struct {
	Applied bool            // something was changed or refused
	Detail  json.RawMessage // what was changed
}

// Refuser refuses calls before their arguments are looked at. The first refusal counts; the refusers after it are not
// asked.
type Refuser interface {
	Refuse(c *Call) (*task.ToolError, *Decision)
}

// ArgumentStep changes the arguments as the agent gave them: references are not resolved yet, and names and types are
// not checked. It must not put in references that the agent did not give. An error takes the place of the call's
// result.
type ArgumentStep interface {
	ChangeArguments(c *Call, arguments map[string]any) (map[string]any, *task.ToolError, *Decision)
}

// ValueStep changes the values that are bound to the placeholders of the tool's statement, after they were checked.
type ValueStep interface {
	ChangeValues(c *Call, values []task.Value) ([]task.Value, *Decision)
}

// ResultStep changes what the body returned. Later references see the changed result: they stand for what the tool
// really returned. The digest is of the result as the body returned it. It is asked where a call gives rows, not where
// it makes a data handle that nothing has read.
type ResultStep interface {
	ChangeResult(c *Call, p Payload) (Payload, *Decision)
}

// BesideStep says something beside what a call hands over, be it rows or a data handle. The arguments are those that
// reached the tool: what [ArgumentStep] made of them.
type BesideStep interface {
	Beside(c *Call, arguments map[string]any) ([]Field, *Decision)
}

// PageStep hands over a part of the rows: later references see that part. The whole is kept for a [Companion] that
// hands over the rest. A step that changed nothing returns a decision that was not applied, or none.
type PageStep interface {
	Divide(c *Call, whole Payload) (Payload, *Decision)
}

// Delivery is what is about to be handed to the agent. Exactly one of Content and Error is set.
type Delivery struct {
	Content json.RawMessage
	Note    string
	Error   *task.ToolError
}

// DeliveryStep changes the form in which a result, or an error, is handed over. References are not affected.
type DeliveryStep interface {
	ChangeDelivery(c *Call, d Delivery) (Delivery, *Decision)
}

// Companion answers the calls to tools that stand in a toolkit because of a condition: those with the engine
// [task.EngineCompanion]. What an earlier call gave before a [PageStep] divided it, and the tool of that call, are
// given by its label, on the world of the call; ok is false where there is nothing. Refusers, arguments and values are
// passed over, and so is every change of the result.
type Companion interface {
	Serves(tool string) bool
	Answer(c *Call, whole func(label string) (tool string, p Payload, ok bool)) (Payload, *task.ToolError, *Decision)
}

// SpecificationStep changes what is said of tools.
type SpecificationStep interface {
	// Specify gives the specification of a tool as it stands now: what a fresh listing says. It gives t itself where
	// nothing has changed.
	Specify(t *task.Tool) *task.Tool
	// Documented says whether the agent is shown that specification at the start too, and not the one before.
	Documented() bool
}
