package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"
)

// openAINameLimit bounds the names of functions in chat completions.
const openAINameLimit = 64

// openAI is the form of chat completions, which many services share.
type openAI struct {
	service openai.ChatCompletionService
	own     bool // the provider's own service, whose newer models refuse max_tokens; others know nothing else
	plain   bool
	extra   map[string]any
}

func newOpenAI(base string, o Options) *openAI {
	// The service is made without openai.NewClient, which reads the environment.
	options := []option.RequestOption{
		option.WithBaseURL(base), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: tap{}, CheckRedirect: noRedirect}),
	}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	return &openAI{
		service: openai.NewChatCompletionService(options...),
		own:     base == openAIBaseURL, plain: o.PlainHistory, extra: extraFields(o.Extra),
	}
}

func (w *openAI) outputEstimate(r Request) int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return 1024
}

func (w *openAI) send(ctx context.Context, r Request) error {
	params, err := w.params(r)
	if err != nil {
		return err
	}
	var body []byte // tap keeps the body too; asking for bytes keeps the library from decoding it
	_, err = w.service.New(ctx, params, option.WithResponseBodyInto(&body))
	return err
}

func (w *openAI) params(r Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{Model: r.Model}
	if r.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(r.System))
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		switch m.Role {
		case RoleUser:
			p.Messages = append(p.Messages, openai.UserMessage(m.Content))
		case RoleTool:
			p.Messages = append(p.Messages, openai.ToolMessage(m.Content, m.ToolCallID))
		case RoleAssistant:
			raw := m.Raw
			if w.plain || !isObject(raw) {
				raw = openAIAssistant(m)
			}
			p.Messages = append(p.Messages, param.Override[openai.ChatCompletionMessageParamUnion](raw))
		}
	}
	for _, tool := range r.Tools {
		parameters, err := parametersOf(tool)
		if err != nil {
			return p, err
		}
		function := shared.FunctionDefinitionParam{Name: tool.Name}
		if tool.Description != "" {
			function.Description = openai.String(tool.Description)
		}
		// The library's own field is a map, which would lose the order of the properties.
		function.SetExtraFields(map[string]any{"parameters": parameters})
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(function))
	}
	if r.Temperature != nil {
		p.Temperature = openai.Float(*r.Temperature)
	}
	if r.MaxTokens > 0 && w.own {
		p.MaxCompletionTokens = openai.Int(int64(r.MaxTokens))
	} else if r.MaxTokens > 0 {
		p.MaxTokens = openai.Int(int64(r.MaxTokens))
	}
	if len(r.Stop) > 0 {
		p.Stop.OfStringArray = r.Stop
	}
	if r.Seed != nil {
		p.Seed = openai.Int(*r.Seed)
	}
	if len(w.extra) > 0 {
		p.SetExtraFields(w.extra)
	}
	return p, nil
}

// openAIFunction is the function of a tool call. Its arguments are JSON inside a string.
type openAIFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// openAIAssistant makes an assistant message of text and calls alone.
func openAIAssistant(m *Message) json.RawMessage {
	type call struct {
		ID       string         `json:"id"`
		Type     string         `json:"type"`
		Function openAIFunction `json:"function"`
	}
	message := struct {
		Role    string  `json:"role"`
		Content *string `json:"content,omitempty"`
		Calls   []call  `json:"tool_calls,omitempty"`
	}{Role: RoleAssistant}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		message.Content = &m.Content
	}
	for _, c := range m.ToolCalls {
		message.Calls = append(message.Calls, call{c.ID, "function",
			openAIFunction{plainName(c.Name, openAINameLimit), argumentsObject(c.Arguments)}})
	}
	return mustJSON(message)
}

func (w *openAI) decode(body []byte, turn int) (*Reply, error) { return decodeOpenAI(body, turn) }

// decodeOpenAI reads a chat completion. It is strict where a reading would be a guess (no choice, a content of no known
// form) and lenient where services differ harmlessly: missing ids of calls, arguments as an object, unknown fields.
func decodeOpenAI(body []byte, turn int) (*Reply, error) {
	var completion struct {
		Model   string `json:"model"`
		Choices []struct {
			Finish  *string                    `json:"finish_reason"`
			Message map[string]json.RawMessage `json:"message"`
		} `json:"choices"`
		Usage *struct {
			Input   count `json:"prompt_tokens"`
			Output  count `json:"completion_tokens"`
			Details *struct {
				Cached count `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &completion); err != nil {
		return nil, fmt.Errorf("chat completion: %w", err)
	}
	if len(completion.Choices) == 0 || completion.Choices[0].Message == nil {
		return nil, errors.New("chat completion: no choice with a message")
	}
	choice := completion.Choices[0]
	reply := &Reply{Message: Message{Role: RoleAssistant}, Model: completion.Model}
	reply.Usage.Requests = 1
	if u := completion.Usage; u != nil {
		reply.Usage.InputTokens, reply.Usage.OutputTokens = int(u.Input), int(u.Output)
		if u.Details != nil {
			reply.Usage.CachedTokens = int(min(u.Details.Cached, u.Input))
		}
	}
	raw := choice.Message
	dropNulls(raw)
	var err error
	if reply.Message.Content, err = textOf(raw["content"]); err != nil {
		return nil, fmt.Errorf("chat completion: content: %w", err)
	}
	for _, field := range []string{"reasoning_content", "reasoning"} {
		if text, err := textOf(raw[field]); err == nil && reply.Reasoning == "" {
			reply.Reasoning = text
		}
	}
	if reply.Message.ToolCalls, err = openAICalls(raw, turn); err != nil {
		return nil, fmt.Errorf("chat completion: %w", err)
	}
	if raw["content"] == nil && raw["tool_calls"] == nil {
		raw["content"] = json.RawMessage(`""`)
	}
	raw["role"] = json.RawMessage(`"assistant"`)
	for _, only := range []string{"annotations", "audio", "function_call"} {
		delete(raw, only) // of replies alone, or of another form in requests
	}
	reply.Message.Raw = mustJSON(raw)
	if choice.Finish != nil {
		reply.Finish = *choice.Finish
	}
	if len(reply.Message.ToolCalls) > 0 && (reply.Finish == "" || reply.Finish == FinishStop) {
		reply.Finish = FinishToolCalls // some services say stop
	} else if reply.Finish == "" {
		reply.Finish = FinishStop
	}
	return reply, nil
}

// openAICalls reads the tool calls of a message and puts them back into it in the form in which they can be sent.
func openAICalls(raw map[string]json.RawMessage, turn int) ([]ToolCall, error) {
	if raw["tool_calls"] == nil {
		return nil, nil
	}
	var items []map[string]json.RawMessage
	if err := json.Unmarshal(raw["tool_calls"], &items); err != nil {
		return nil, fmt.Errorf("tool_calls: %w", err)
	}
	if len(items) == 0 {
		delete(raw, "tool_calls")
		return nil, nil
	}
	ids := callIDs{turn: turn}
	calls := make([]ToolCall, len(items))
	for i, item := range items {
		var function map[string]json.RawMessage
		var call ToolCall
		if err := json.Unmarshal(item["function"], &function); err != nil || function == nil {
			return nil, fmt.Errorf("tool call %d: no function", i+1)
		}
		if err := json.Unmarshal(function["name"], &call.Name); err != nil {
			return nil, fmt.Errorf("tool call %d: no name", i+1)
		}
		if arguments := function["arguments"]; json.Unmarshal(arguments, &call.Arguments) != nil {
			call.Arguments = string(arguments) // not a string: the JSON itself
		}
		var own string
		_ = json.Unmarshal(item["id"], &own) // an id that is no text is no id
		call.ID = ids.next(own, i)
		calls[i] = call

		dropNulls(item)
		delete(item, "index")
		item["id"], item["type"] = mustJSON(call.ID), json.RawMessage(`"function"`)
		item["function"] = mustJSON(openAIFunction{plainName(call.Name, openAINameLimit), argumentsObject(call.Arguments)})
	}
	raw["tool_calls"] = mustJSON(items)
	return calls, nil
}
