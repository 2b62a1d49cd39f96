package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"
)

// Limits of the messages API.
const (
	anthropicNameLimit = 128
	anthropicIDLimit   = 64
	anthropicMaxTokens = 4096 // sent where the request names no number, since one is demanded
)

// messages is the form of Anthropic's messages API.
type messages struct {
	service anthropic.MessageService
	plain   bool
	extra   map[string]any
}

func newAnthropic(base string, o Options) *messages {
	// The service is made without anthropic.NewClient, which reads the environment.
	options := []option.RequestOption{
		option.WithBaseURL(base), option.WithMaxRetries(0),
		option.WithHTTPClient(&http.Client{Transport: tap{}, CheckRedirect: noRedirect}),
		// Without a timeout the library refuses long replies; the real one is kept below it.
		option.WithRequestTimeout(24 * time.Hour),
	}
	if o.APIKey != "" {
		options = append(options, option.WithAPIKey(o.APIKey))
	}
	return &messages{
		service: anthropic.NewMessageService(options...), plain: o.PlainHistory, extra: extraFields(o.Extra),
	}
}

func (w *messages) outputEstimate(r Request) int {
	if r.MaxTokens > 0 {
		return r.MaxTokens
	}
	return anthropicMaxTokens
}

func (w *messages) send(ctx context.Context, r Request) error {
	params, err := w.params(r)
	if err != nil {
		return err
	}
	var body []byte // tap keeps the body too; asking for bytes keeps the library from decoding it
	_, err = w.service.New(ctx, params, option.WithResponseBodyInto(&body))
	return err
}

func (w *messages) params(r Request) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{
		Model: r.Model, MaxTokens: int64(w.outputEstimate(r)),
	}
	for _, stop := range r.Stop {
		if strings.TrimSpace(stop) != "" { // white space alone is refused
			p.StopSequences = append(p.StopSequences, stop)
		}
	}
	if strings.TrimSpace(r.System) != "" {
		p.System = []anthropic.TextBlockParam{{Text: r.System}}
	}
	for i := range r.Messages {
		m := &r.Messages[i]
		role := anthropic.MessageParamRoleUser
		var blocks []anthropic.ContentBlockParamUnion
		switch m.Role {
		case RoleUser:
			blocks = textBlocks(m.Content)
		case RoleTool:
			// All answers to a turn's calls must stand in the one message after it, which the merging below sees to.
			result := anthropic.ToolResultBlockParam{ToolUseID: plainName(m.ToolCallID, anthropicIDLimit)}
			if strings.TrimSpace(m.Content) != "" {
				result.Content = []anthropic.ToolResultBlockParamContentUnion{
					{OfText: &anthropic.TextBlockParam{Text: m.Content}},
				}
			}
			if m.IsError {
				result.IsError = anthropic.Bool(true)
			}
			blocks = []anthropic.ContentBlockParamUnion{{OfToolResult: &result}}
		case RoleAssistant:
			role = anthropic.MessageParamRoleAssistant
			var err error
			if blocks, err = w.assistantBlocks(m); err != nil {
				return p, fmt.Errorf("message %d: %w", i+1, err)
			}
		}
		if last := len(p.Messages) - 1; last >= 0 && p.Messages[last].Role == role {
			p.Messages[last].Content = append(p.Messages[last].Content, blocks...)
		} else if len(blocks) > 0 { // a message without blocks is refused
			p.Messages = append(p.Messages, anthropic.MessageParam{Role: role, Content: blocks})
		}
	}
	if len(p.Messages) == 0 {
		return p, errors.New("chat request: all messages are empty")
	}
	for _, tool := range r.Tools {
		parameters, err := parametersOf(tool)
		if err != nil {
			return p, err
		}
		spec := anthropic.ToolParam{
			Name: tool.Name,
			// The library's own fields would lose the order of the schema.
			InputSchema: param.Override[anthropic.ToolInputSchemaParam](parameters),
		}
		if tool.Description != "" {
			spec.Description = anthropic.String(tool.Description)
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &spec})
	}
	if r.Temperature != nil {
		p.Temperature = anthropic.Float(*r.Temperature)
	}
	if len(w.extra) > 0 {
		p.SetExtraFields(w.extra)
	}
	return p, nil
}

// textBlocks gives no block for text without a visible character, which is refused.
func textBlocks(text string) []anthropic.ContentBlockParamUnion {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []anthropic.ContentBlockParamUnion{anthropic.NewTextBlock(text)}
}

func (w *messages) assistantBlocks(m *Message) ([]anthropic.ContentBlockParamUnion, error) {
	var items []json.RawMessage
	if !w.plain && len(m.Raw) > 0 && m.Raw[0] == '[' {
		if err := json.Unmarshal(m.Raw, &items); err != nil {
			return nil, err
		}
		blocks := make([]anthropic.ContentBlockParamUnion, len(items))
		for i, item := range items {
			blocks[i] = param.Override[anthropic.ContentBlockParamUnion](item)
		}
		return blocks, nil
	}
	blocks := textBlocks(m.Content)
	for _, call := range m.ToolCalls {
		blocks = append(blocks, anthropic.NewToolUseBlock(plainName(call.ID, anthropicIDLimit),
			json.RawMessage(argumentsObject(call.Arguments)), plainName(call.Name, anthropicNameLimit)))
	}
	return blocks, nil
}

func (w *messages) decode(body []byte, turn int) (*Reply, error) { return decodeAnthropic(body, turn) }

// decodeAnthropic reads a message. Input tokens are all that the model read, those from and into the cache among them.
func decodeAnthropic(body []byte, turn int) (*Reply, error) {
	var message struct {
		Model   string                       `json:"model"`
		Content []map[string]json.RawMessage `json:"content"`
		Stop    *string                      `json:"stop_reason"`
		Usage   *struct {
			Input   count `json:"input_tokens"`
			Output  count `json:"output_tokens"`
			Cached  count `json:"cache_read_input_tokens"`
			Written count `json:"cache_creation_input_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	if message.Content == nil {
		return nil, errors.New("message: no content")
	}
	reply := &Reply{Message: Message{Role: RoleAssistant}, Model: message.Model}
	reply.Usage.Requests = 1
	if u := message.Usage; u != nil {
		reply.Usage.InputTokens, reply.Usage.OutputTokens = int(u.Input+u.Cached+u.Written), int(u.Output)
		reply.Usage.CachedTokens = int(u.Cached)
	}
	raw := []map[string]json.RawMessage{}
	ids := callIDs{turn: turn}
	for i, block := range message.Content {
		keep, err := reply.readBlock(block, i, &ids)
		if err != nil {
			return nil, fmt.Errorf("message: block %d: %w", i+1, err)
		}
		if keep {
			dropNulls(block)
			raw = append(raw, block)
		}
	}
	reply.Message.Raw = mustJSON(raw)
	reply.Finish = FinishStop
	if message.Stop != nil {
		switch *message.Stop {
		case "end_turn", "stop_sequence":
		case "tool_use":
			reply.Finish = FinishToolCalls
		case "max_tokens", "model_context_window_exceeded":
			reply.Finish = FinishLength
		case "refusal":
			reply.Finish = FinishFiltered
		default:
			reply.Finish = *message.Stop
		}
	}
	if reply.Finish == FinishStop && len(reply.Message.ToolCalls) > 0 {
		reply.Finish = FinishToolCalls
	}
	return reply, nil
}

// readBlock adds a block to the reply and makes it fit to be sent back; keep is false for one that would be refused.
func (r *Reply) readBlock(block map[string]json.RawMessage, index int, ids *callIDs) (keep bool, err error) {
	text := func(field string) (string, error) {
		var s *string
		if err := json.Unmarshal(block[field], &s); err != nil || s == nil {
			return "", fmt.Errorf("field %q is not text", field)
		}
		return *s, nil
	}
	kind, err := text("type")
	if err != nil {
		return false, err
	}
	switch kind {
	case "":
		return false, errors.New("an empty type")
	case "text":
		content, err := text("text")
		if err != nil {
			return false, err
		}
		r.Message.Content += content
		return strings.TrimSpace(content) != "", nil
	case "thinking":
		thought, err := text("thinking")
		if err != nil {
			return false, err
		}
		r.Reasoning += thought
		// Thoughts without a signature are shown, but refused when sent back.
		block["thinking"] = mustJSON(thought)
		signature, err := text("signature")
		return err == nil && signature != "", nil
	case "tool_use":
		call := ToolCall{Arguments: string(block["input"])}
		if call.Name, err = text("name"); err != nil {
			return false, err
		}
		own, err := text("id")
		if err != nil {
			own = ""
		} else if own != "" {
			own = plainName(own, anthropicIDLimit)
		}
		call.ID = ids.next(own, index)
		r.Message.ToolCalls = append(r.Message.ToolCalls, call)
		block["id"], block["name"] = mustJSON(call.ID), mustJSON(plainName(call.Name, anthropicNameLimit))
		block["input"] = json.RawMessage(argumentsObject(call.Arguments))
	}
	return true, nil
}
