package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/agent/reply"
	"github.com/seatrial/seatrial/internal/task"
)

// HumanName is the name of the agent that is a person at a terminal.
const HumanName = "human"

// Console is a terminal. Say writes text as it is; Line reads a line, without its end, and returns [io.EOF] at the end
// of the input.
type Console interface {
	Say(text string)
	Line(ctx context.Context) (string, error)
}

// Human is a person at a terminal, for one episode, who sees the request and the tools and can call, answer, decline,
// or judge whether the request can be met (Incomplete Conditions, "Human Analysis", has only the last).
type Human struct {
	console Console
	title   string
	told    bool
	view    *task.View
}

// NewHuman makes a person the agent of an episode, which is announced by the title.
func NewHuman(console Console, title string) *Human { return &Human{console: console, title: title} }

const humanHelp = `  yes [WHY]            the request can be met with these tools
  no [WHY]             it cannot
  call TOOL [JSON]     call a tool with arguments, as call homes {"city": "Bergen"}
  answer TEXT          hand in the answer: text, JSON, or $call_1$ for what that call returned
  decline [WHY]        state that the request cannot be met
  ask QUESTION         ask the user, if somebody is there
  tools                list the tools again
  tool TOOL            show all that is said of a tool
  quit                 stop here; what is finished is kept
`

// Next asks for one act. It explains a line that is not an act, and asks again. The end of the input is [io.EOF].
func (h *Human) Next(ctx context.Context, view *task.View, seen []task.Observation) (task.Turn, error) {
	if !h.told {
		h.told, h.view = true, view
		h.console.Say(h.opening())
	}
	for i := range seen {
		text, err := new(Config).render(&seen[i])
		if err != nil {
			return task.Turn{}, err
		}
		h.console.Say(text + "\n")
	}
	for {
		h.console.Say("> ")
		line, err := h.console.Line(ctx)
		if err != nil {
			if errors.Is(err, io.EOF) {
				return task.Turn{}, io.EOF
			}
			return task.Turn{}, fmt.Errorf("the terminal: %w", err)
		}
		action, reply, err := h.act(line)
		switch {
		case err != nil:
			return task.Turn{}, err
		case action != nil:
			return task.Turn{Actions: []task.Action{*action}, Reply: line}, nil
		default:
			h.console.Say(reply)
		}
	}
}

// opening shows the request and the tools.
func (h *Human) opening() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n— %s —\n", h.title)
	for _, m := range h.view.Messages {
		fmt.Fprintf(&b, "%s%s\n", speakers[m.Role], m.Content)
	}
	if h.view.Evidence != "" {
		fmt.Fprintf(&b, "Good to know: %s\n", h.view.Evidence)
	}
	if h.view.Hint != "" {
		fmt.Fprintf(&b, "%s%s\n", action.Advice, h.view.Hint)
	}
	if len(h.view.Starts) > 0 {
		fmt.Fprintf(&b, "\nYou begin with, ready under their labels:\n%s\n", startsOf(h.view))
	}
	fmt.Fprintf(&b, "\n%s\nWhat you can do:\n%s", h.list(), humanHelp)
	return b.String()
}

// list has a line for each tool: its name, its arguments with optional ones in brackets, and its description.
func (h *Human) list() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Tools (%d):\n", len(h.view.Tools))
	for _, t := range h.view.Tools {
		var arguments []string
		if t.Parameters != nil {
			for _, p := range t.Parameters.Properties {
				name := p.Name
				if !slices.Contains(t.Parameters.Required, name) {
					name = "[" + name + "]"
				}
				arguments = append(arguments, name)
			}
		}
		fmt.Fprintf(&b, "  %s(%s)  %s\n", t.Name, strings.Join(arguments, ", "), t.Description)
	}
	return b.String()
}

// act reads a line: an action, or a response to show instead.
func (h *Human) act(line string) (action *task.Action, response string, err error) {
	verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch strings.ToLower(strings.TrimRight(verb, ".,:!")) {
	case "yes", "y":
		a := task.Judge(true, rest)
		return &a, "", nil
	case "no", "n":
		a := task.Judge(false, rest)
		return &a, "", nil
	case "decline":
		return &task.Action{Kind: task.ActionDecline, Text: rest}, "", nil
	case "answer":
		if rest == "" {
			return nil, "Answer what? For example: answer 42\n", nil
		}
		return &task.Action{Kind: task.ActionAnswer, Answer: reply.FinalAnswer(rest)}, "", nil
	case "ask":
		if rest == "" {
			return nil, "Ask what? For example: ask which city?\n", nil
		}
		return &task.Action{Kind: task.ActionAsk, Text: rest}, "", nil
	case "call":
		return h.call(rest)
	case "tools":
		return nil, h.list(), nil
	case "tool":
		return nil, h.specification(rest), nil
	case "quit", "exit":
		return nil, "", io.EOF
	case "", "help", "?":
		return nil, humanHelp, nil
	default:
		return nil, fmt.Sprintf("%q is none of these:\n%s", verb, humanHelp), nil
	}
}

// call reads the words after "call": a tool and its arguments, with or without parentheses.
func (h *Human) call(text string) (action *task.Action, reply string, err error) {
	at := strings.IndexAny(text, " ({")
	name, arguments := text, ""
	if at >= 0 {
		name, arguments = text[:at], strings.TrimSpace(text[at:])
	}
	if strings.HasPrefix(arguments, "(") && strings.HasSuffix(arguments, ")") {
		arguments = strings.TrimSpace(arguments[1 : len(arguments)-1])
	}
	if arguments == "" {
		arguments = "{}"
	}
	switch {
	case name == "":
		return nil, "Call which tool? For example: call " + h.anyTool() + " {}\n", nil
	case !strings.HasPrefix(arguments, "{") || !json.Valid([]byte(arguments)):
		return nil, "The arguments must be a JSON object, such as {\"city\": \"Bergen\"}.\n", nil
	}
	return &task.Action{Kind: task.ActionCall, Tool: name, Arguments: json.RawMessage(arguments)}, "", nil
}

func (h *Human) anyTool() string {
	if len(h.view.Tools) > 0 {
		return h.view.Tools[0].Name
	}
	return "TOOL"
}

// specification writes everything that the specification of a tool says.
func (h *Human) specification(name string) string {
	for _, t := range h.view.Tools {
		if t.Name == name {
			text, err := new(Specs).listing([]*task.Tool{t})
			if err != nil {
				return err.Error() + "\n"
			}
			return text + "\n"
		}
	}
	return fmt.Sprintf("There is no tool %q.\n", name)
}

// speakers say who speaks, by the role.
var speakers = map[string]string{"user": "User: ", "assistant": "Assistant: ", "system": "Instructions: "}
