package condition

import (
	"encoding/json"

	"github.com/seatrial/seatrial/internal/universe"
)

// Step is one condition at work in an environment. What it can do it says by implementing one or more of [Refuser],
// [ArgumentStep], [ValueStep], [ResultStep] and [DeliveryStep]; the environment asks them in that order, and within one
// kind in the order in which the steps are listed.
//
// A step is pure: what it does depends on its own parameters, its seed and the [Call] alone, never on time, on the agent
// or on what ran beside it. It must not change what it is given, but return a changed copy.
type Step interface {
	Name() string // of the condition, for the record
}

// Call is what a step may know of a call. It is fixed before any body of the same turn runs.
type Call struct {
	Tool    *universe.Tool
	Label   string
	Turn    int      // from 1
	Number  int      // of the call in the episode, from 1
	Attempt int      // of the call to this tool in the episode, from 1
	Earlier []string // the tools named by the calls before it in the episode, in order; not to be changed
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
	Refuse(c *Call) (*universe.ToolError, *Decision)
}

// ArgumentStep changes the arguments as the agent gave them: references are not resolved yet, and names and types are
// not checked. It must not put in references that the agent did not give. An error takes the place of the call's result.
type ArgumentStep interface {
	ChangeArguments(c *Call, arguments map[string]any) (map[string]any, *universe.ToolError, *Decision)
}

// ValueStep changes the values that are bound to the placeholders of the tool's statement, after they were checked.
type ValueStep interface {
	ChangeValues(c *Call, values []universe.Value) ([]universe.Value, *Decision)
}

// ResultStep changes what the body returned. Later references see the changed result; the digest is of the result as the
// body returned it.
type ResultStep interface {
	ChangeResult(c *Call, r *universe.Result) (*universe.Result, *Decision)
}

// Delivery is what is about to be handed to the agent. Exactly one of Content and Error is set.
type Delivery struct {
	Content json.RawMessage
	Note    string
	Error   *universe.ToolError
}

// DeliveryStep changes the form in which a result, or an error, is handed over. References are not affected.
type DeliveryStep interface {
	ChangeDelivery(c *Call, d Delivery) (Delivery, *Decision)
}
