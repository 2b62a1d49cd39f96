package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// wire is the form of one provider's requests and replies. It has no state: what is sent and answered stands in the
// exchange that the context carries (see tap).
type wire interface {
	// send encodes the request and sends it once through the provider's library.
	send(ctx context.Context, r Request) error
	// decode reads the body of a successful answer. turn is the number of messages in the request.
	decode(body []byte, turn int) (*Reply, error)
	// outputEstimate is how many tokens the reply to r may have, for the spending limit.
	outputEstimate(r Request) int
}

// invalidArguments is the field under which a model is shown again what it wrote as a call's arguments where that is no
// JSON object: services refuse a conversation that holds it, and the model's mistake would become the provider's
// failure. Anthropic's documentation of fine-grained tool streaming recommends this form.
const invalidArguments = "INVALID_JSON"

// argumentsObject gives the arguments of a call as a JSON object, so that the call can be sent back.
func argumentsObject(text string) string {
	switch {
	case strings.TrimSpace(text) == "":
		return "{}"
	case isObject([]byte(text)):
		return text
	}
	object, err := task.Marshal(map[string]string{invalidArguments: strings.ToValidUTF8(text, "\uFFFD")})
	if err != nil {
		panic(err) // a map of text always has a JSON form
	}
	return string(object)
}

// plainName makes a name or an id that services accept (letters, digits, _ and -, at most limit of them) of what a
// model may have made up.
func plainName(name string, limit int) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
	if len(name) > limit {
		name = name[:limit]
	}
	if name == "" {
		return "unnamed"
	}
	return name
}

// callIDs hands out the ids of a reply's calls: the provider's own where they can be told apart, else made up from
// their place in the conversation.
type callIDs struct {
	turn int
	seen map[string]bool
}

func (c *callIDs) next(own string, index int) string {
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	id := own
	for k := 0; id == "" || c.seen[id]; k++ {
		id = fmt.Sprintf("call_%d_%d", c.turn, index+k)
	}
	c.seen[id] = true
	return id
}

// count is a number of tokens as services write it: whole numbers, some with a decimal point, null where unknown.
type count int

// UnmarshalJSON reads any number; what is negative or absurd counts as the nearest that is not.
func (c *count) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	var f float64
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*c = count(min(max(f, 0), 1e12))
	return nil
}

// textOf reads a text that may be null, a string, or a list of parts of which those of type text count.
func textOf(data json.RawMessage) (string, error) {
	if len(data) == 0 || string(data) == "null" {
		return "", nil
	}
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return "", errors.New("neither text nor a list of parts")
	}
	for _, p := range parts {
		if p.Type == "text" {
			text += p.Text
		}
	}
	return text, nil
}

// dropNulls removes the fields that are null: services write them and some refuse to read them.
func dropNulls(object map[string]json.RawMessage) {
	for key, value := range object {
		if string(value) == "null" {
			delete(object, key)
		}
	}
}

// mustJSON encodes what always has a JSON form.
func mustJSON(v any) json.RawMessage {
	data, err := task.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("model: %T has no JSON form: %v", v, err))
	}
	return data
}

// extraFields gives Options.Extra in the form that the libraries take.
func extraFields(extra map[string]json.RawMessage) map[string]any {
	fields := make(map[string]any, len(extra))
	for key, value := range extra {
		fields[key] = value
	}
	return fields
}

// parametersOf gives a tool's schema, of type object even where it does not say so.
func parametersOf(tool ToolSpec) (json.RawMessage, error) {
	if len(tool.Parameters) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var schema struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
		return nil, fmt.Errorf("parameters of tool %s: %w", tool.Name, err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("parameters of tool %s: a JSON Schema of type object is needed", tool.Name)
	}
	return tool.Parameters, nil
}
