// Package condition holds the conditions under which a task is put to an agent: named, seeded changes of the request,
// of the toolkit or of the environment. It must never know how agents meet them.
package condition

import "encoding/json"

// Roles of an instance.
const (
	RoleClean     = "clean"
	RoleFault     = "fault"
	RoleLookalike = "lookalike"
	RoleHopeless  = "hopeless"
)

// Condition is one change with its parameters, as it stands in instances.jsonl.
type Condition struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// OfEnvironment says whether a condition changes the environment, which is what faults do.
func (c Condition) OfEnvironment() bool {
	at := find(c.Name)
	return at >= 0 && catalogue[at].Kind == KindEnvironment
}

// OfRequest says whether a condition changes the request.
func (c Condition) OfRequest() bool {
	at := find(c.Name)
	return at >= 0 && catalogue[at].Kind == KindRequest
}

// Rephrases says whether a condition changes the words of the request and nothing of what is right.
func (c Condition) Rephrases() bool {
	at := find(c.Name)
	return at >= 0 && catalogue[at].Kind == KindRequest && catalogue[at].role == RoleClean
}
