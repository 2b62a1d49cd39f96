package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

var responsesFields = words(`model input background conversation include instructions max_output_tokens max_tool_calls
	metadata parallel_tool_calls previous_response_id prompt prompt_cache_key reasoning safety_identifier service_tier
	store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user`)

// checkResponses checks a request of OpenAI's Responses API whose conversation is sent whole.
func checkResponses(body []byte, chat *Chat) error {
	o, err := readObject(body, "request", words("model input"), responsesFields)
	if err != nil {
		return err
	}
	if err := o.common(chat, 2); err != nil {
		return err
	}
	if chat.System, err = o.text("request", "instructions"); err != nil {
		return err
	}
	limit, err := o.number("max_output_tokens", 16, 1e9, true)
	if err != nil {
		return err
	}
	if limit != nil {
		chat.MaxTokens = int(*limit)
	}
	tools, err := o.list("", "tools")
	if err != nil {
		return err
	}
	for i, data := range tools {
		at := fmt.Sprintf("tools[%d]", i)
		tool, err := readObject(data, at, words("type name parameters strict"), words("description"))
		if err != nil {
			return err
		}
		var texts [3]string
		for k, name := range words("type name description") {
			if texts[k], err = tool.text(at, name); err != nil {
				return err
			}
		}
		if texts[0] != "function" {
			return fmt.Errorf("%s.type: %q", at, texts[0])
		}
		if err := chat.addTool(at, Tool{texts[1], texts[2], tool["parameters"]}, openAIName); err != nil {
			return err
		}
	}
	return o.inputItems(chat)
}

// inputItems reads the input: calls and messages of one reply become one assistant message.
func (o object) inputItems(chat *Chat) error {
	items, err := o.list("", "input")
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return errors.New("input: at least one item is needed")
	}
	var waiting []string
	for i, data := range items {
		at := fmt.Sprintf("input[%d]", i)
		var head struct {
			Type string `json:"type"`
			Role string `json:"role"`
		}
		if err := json.Unmarshal(data, &head); err != nil {
			return fmt.Errorf("%s: an object is needed", at)
		}
		kind := head.Type
		if kind == "" || kind == "message" {
			kind = head.Role
		}
		last := func() *Message {
			if n := len(chat.Messages); n == 0 || chat.Messages[n-1].Role != "assistant" {
				chat.Messages = append(chat.Messages, Message{Role: "assistant"})
			}
			return &chat.Messages[len(chat.Messages)-1]
		}
		if kind == "user" && len(waiting) > 0 {
			return fmt.Errorf("%s: calls before it are not answered", at)
		}
		switch kind {
		case "user":
			err = readInputText(data, at, func(text string) {
				chat.Messages = append(chat.Messages, Message{Role: "user", Content: text})
			})
		case "assistant":
			err = readInputText(data, at, func(text string) { last().Content += text })
		case "reasoning":
			item, itemErr := readObject(data, at, words("type summary encrypted_content"), words("id content status"))
			if err = itemErr; err == nil && len(item["encrypted_content"]) < 3 {
				err = fmt.Errorf("%s: reasoning that was not stored needs encrypted_content", at)
			}
			var summary []struct {
				Text string `json:"text"`
			}
			_ = json.Unmarshal(item["summary"], &summary) // refused above if it is missing
			for _, s := range summary {
				last().Reasoning += s.Text
			}
		case "function_call":
			err = readInputCall(data, at, last(), &waiting)
		case "function_call_output":
			err = readInputResult(data, at, chat, &waiting)
		default:
			err = fmt.Errorf("%s: type %q, role %q", at, head.Type, head.Role)
		}
		if err != nil {
			return err
		}
	}
	if len(waiting) > 0 {
		return errors.New("input: the last calls are not answered")
	}
	return nil
}

func readInputText(data json.RawMessage, at string, add func(string)) error {
	item, err := readObject(data, at, words("role content"), words("type id status phase"))
	if err != nil {
		return err
	}
	var parts []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	}
	var text string
	if json.Unmarshal(item["content"], &text) != nil {
		if err := json.Unmarshal(item["content"], &parts); err != nil || len(parts) == 0 {
			return fmt.Errorf("%s.content: text or a list of parts is needed", at)
		}
		for _, p := range parts {
			if !slices.Contains(words("input_text output_text refusal"), p.Type) {
				return fmt.Errorf("%s.content: type %q", at, p.Type)
			}
			text += p.Text + p.Refusal
		}
	}
	add(text)
	return nil
}

func readInputCall(data json.RawMessage, at string, into *Message, waiting *[]string) error {
	item, err := readObject(data, at, words("type call_id name arguments"), words("id status"))
	if err != nil {
		return err
	}
	var call Call
	for name, field := range map[string]*string{"call_id": &call.ID, "name": &call.Name, "arguments": &call.Arguments} {
		if *field, err = item.text(at, name); err != nil {
			return err
		}
	}
	switch {
	case call.ID == "" || slices.Contains(*waiting, call.ID):
		return fmt.Errorf("%s: the call_id %q is empty or appears twice", at, call.ID)
	case !openAIName.MatchString(call.Name):
		return fmt.Errorf("%s: the name %q does not match %s", at, call.Name, openAIName)
	case !isJSONObject([]byte(call.Arguments)):
		return fmt.Errorf("%s: the arguments are not a JSON object", at)
	}
	*waiting = append(*waiting, call.ID)
	into.Calls = append(into.Calls, call)
	return nil
}

func readInputResult(data json.RawMessage, at string, chat *Chat, waiting *[]string) error {
	item, err := readObject(data, at, words("type call_id output"), words("id status"))
	if err != nil {
		return err
	}
	m := Message{Role: "tool"}
	if m.CallID, err = item.text(at, "call_id"); err != nil {
		return err
	}
	if m.Content, err = item.text(at, "output"); err != nil {
		return err
	}
	index := slices.Index(*waiting, m.CallID)
	if index < 0 {
		return fmt.Errorf("%s: call_id %q answers no call", at, m.CallID)
	}
	*waiting = slices.Delete(*waiting, index, index+1)
	chat.Messages = append(chat.Messages, m)
	return nil
}

func renderResponses(chat Chat, r Response, calls []Call) []byte {
	output := []any{}
	if r.Reasoning != "" {
		output = append(output, fields{"id": "rs_1", "type": "reasoning", "encrypted_content": Sign(r.Reasoning),
			"summary": []any{fields{"type": "summary_text", "text": r.Reasoning}}})
	}
	if r.Text != "" || len(calls) == 0 {
		output = append(output, fields{"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
			"content": []any{fields{"type": "output_text", "text": r.Text, "annotations": []any{}}}})
	}
	for i, c := range calls {
		output = append(output, fields{"id": fmt.Sprintf("fc_%d", i), "type": "function_call", "status": "completed",
			"call_id": c.ID, "name": c.Name, "arguments": c.Arguments})
	}
	response := fields{"id": fmt.Sprintf("resp_%d", chat.Number), "object": "response", "model": r.Model,
		"status": "completed", "error": nil, "incomplete_details": nil, "output": output}
	reasons := map[string]string{"length": "max_output_tokens", "content_filter": "content_filter"}
	if reason := reasons[r.Finish]; reason != "" {
		response["status"], response["incomplete_details"] = "incomplete", fields{"reason": reason}
	}
	if !r.NoUsage {
		response["usage"] = fields{"input_tokens": r.Input, "output_tokens": r.Output,
			"total_tokens": r.Input + r.Output, "input_tokens_details": fields{"cached_tokens": r.Cached},
			"output_tokens_details": fields{"reasoning_tokens": r.Reasoned}}
	}
	return encode(response)
}
