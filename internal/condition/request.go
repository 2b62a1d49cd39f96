package condition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// Names of the conditions of the request.
const (
	NameSurface      = "surface"
	NameParaphrase   = "paraphrase"
	NameDisambiguate = "disambiguate"
	NameDropDetail   = "drop-detail"
	NameClarify      = "clarify"
)

const (
	sourceRFC = "Robustness of Agentic Function Calling, "
	sourceICT = "Incomplete Conditions, "
)

// requestConditions are the conditions of the request. No two stand together, and those that change what is right stand
// alone.
var requestConditions = []entry{
	{Info: Info{
		Name: NameSurface, Kind: KindRequest,
		Parameter: &Parameter{Symbol: "STRENGTH", Name: "strength", Minimum: 1, Maximum: 5, Default: 3},
		Summary:   "writes the request with slips of the keyboard, other case, punctuation and forms of numbers, dates and names",
		Source:    sourceRFC + "meaning-preserving rephrasings",
	}, role: RoleClean, excludes: []string{NameParaphrase, NameDisambiguate}},
	{Info: Info{
		Name: NameParaphrase, Kind: KindRequest,
		Summary: "says the request in other words, every value kept", Source: sourceRFC + "meaning-preserving rephrasings",
	}, role: RoleClean, excludes: []string{NameSurface, NameDisambiguate}},
	{Info: Info{
		Name: NameDisambiguate, Kind: KindRequest,
		Summary: "adds what the schema knows: which table, which of two columns", Source: sourceRFC +
			"discussion of mismatched values",
	}, role: RoleClean, excludes: []string{NameSurface, NameParaphrase}},
	{Info: Info{
		Name: NameDropDetail, Kind: KindRequest,
		Summary: "keeps a condition of the request and leaves out its value, so that nobody can know the answer",
		Source:  sourceICT + "partial removal of user utterance",
	}, role: RoleHopeless},
	{Info: Info{
		Name: NameClarify, Kind: KindRequest,
		Summary: "leaves out a value, and a simulated user answers one question", Source: sourceICT +
			"partial removal of user utterance",
	}, role: RoleFault},
}

// Request is the parameters of a condition of the request. What a user asks for has at most a strength; in an instance
// stands what was made of it, so that nothing has to be derived again.
type Request struct {
	Strength int `json:"strength,omitempty"`
	// Texts are the messages that read otherwise, in their order.
	Texts []Text `json:"texts,omitempty"`
	// Evidence is what the evidence reads, nil where it stays as it is.
	Evidence *string `json:"evidence,omitempty"`
	// Kept lists the values of the request and how each stands in its new wording.
	Kept []Kept `json:"kept,omitempty"`
	// Dropped is the value that the request does not say any more.
	Dropped *Dropped `json:"dropped,omitempty"`
	// User is whom the agent can ask.
	User *User `json:"user,omitempty"`
	// Writer is who wrote the wording, "" where rules did.
	Writer string `json:"writer,omitempty"`
}

// Text is a message of the request in its new wording.
type Text struct {
	Message int    `json:"message"` // from 0
	Content string `json:"content"`
}

// Kept is a value of the request that its new wording still says. Form is how it stands there: as the value is written,
// or in another form that means the same, which Rule names then.
type Kept struct {
	Value json.RawMessage `json:"value"` // as [task.AppendValue] writes it
	Form  string          `json:"form"`
	Rule  string          `json:"rule,omitempty"`
}

// Dropped is a value that a request does not say any more. No agent is shown any of it.
type Dropped struct {
	Argument string          `json:"argument,omitempty"` // of the plan's tool, "" where the value reaches it otherwise
	Table    string          `json:"table,omitempty"`
	Column   string          `json:"column,omitempty"`
	Value    json.RawMessage `json:"value"`  // as [task.AppendValue] writes it
	Form     string          `json:"form"`   // how the request said it
	Phrase   string          `json:"phrase"` // what rules say in its place; a writer may say it otherwise
	// Names are the words by which the value can be asked for: argument, column and synonyms.
	Names []string `json:"names"`
}

// ChangeRequest gives the messages and the evidence of a task under conditions, of which those of other kinds are
// passed over. It is pure: what it is given it does not change. The error is Seatrial's own failure: parameters that
// nobody can have made for these messages.
func ChangeRequest(
	conditions []Condition, messages []task.Message, evidence string,
) ([]task.Message, string, error) {
	for _, c := range conditions {
		r, err := c.Request()
		if err != nil {
			return nil, "", err
		}
		if r == nil {
			continue
		}
		messages = slices.Clone(messages)
		for _, t := range r.Texts {
			if t.Message < 0 || t.Message >= len(messages) {
				return nil, "", fmt.Errorf("condition %s: there is no message %d", c.Name, t.Message)
			}
			messages[t.Message].Content = t.Content
		}
		if r.Evidence != nil {
			evidence = *r.Evidence
		}
	}
	return messages, evidence, nil
}

// Request reads the parameters of a condition of the request, nil of another kind.
func (c Condition) Request() (*Request, error) {
	at := find(c.Name)
	if at < 0 {
		return nil, unknown(c.Name)
	}
	if catalogue[at].Kind != KindRequest {
		return nil, nil
	}
	return catalogue[at].decodeRequest(c)
}

// WithRequest gives the condition that an instance has: the one that was asked for, with what was made of it.
func (c Condition) WithRequest(r *Request) (Condition, error) {
	asked, err := c.Request()
	if err != nil {
		return Condition{}, err
	}
	written := *r
	written.Strength = asked.Strength
	parameters, err := task.Marshal(&written)
	if err != nil {
		return Condition{}, fmt.Errorf("condition %s: %w", c.Name, err)
	}
	return Condition{Name: c.Name, Parameters: parameters}, nil
}

// decodeRequest reads the parameters of a condition of the request, strictly and in their one form.
func (e *entry) decodeRequest(c Condition) (*Request, error) {
	r := &Request{}
	if c.Parameters == nil && e.Parameter == nil {
		return r, nil
	}
	if err := task.DecodeStrict(c.Parameters, r); err != nil {
		return nil, fmt.Errorf("condition %s: parameters %s: %w", c.Name, c.Parameters, err)
	}
	written, err := task.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("condition %s: %w", c.Name, err)
	}
	if !bytes.Equal(written, c.Parameters) || e.Parameter == nil && r.empty() {
		return nil, fmt.Errorf("condition %s: its parameters are %s, which nobody would write", c.Name, c.Parameters)
	}
	switch {
	case e.Parameter == nil && r.Strength != 0:
		return nil, fmt.Errorf("condition %s takes no strength", c.Name)
	case e.Parameter != nil:
		if err := e.inRange(r.Strength); err != nil {
			return nil, err
		}
	}
	if (r.User != nil) != (e.Name == NameClarify && !r.empty()) || r.User != nil && r.Dropped == nil {
		return nil, fmt.Errorf("condition %s: its parameters are %s, in which somebody to ask is missing or too many", c.Name,
			c.Parameters)
	}
	return r, nil
}

// empty says whether nothing was made of it yet.
func (r *Request) empty() bool {
	return r.Texts == nil && r.Evidence == nil && r.Kept == nil && r.Dropped == nil && r.User == nil && r.Writer == ""
}
