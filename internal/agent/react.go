package agent

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// react is the loop of thoughts, actions and observations in text (NL2API appendix G): one action a reply, ten
// replies by default. Its tags are the paper's; `Decline:` is added, so that declining is an act.
type react struct {
	config  ProtocolConfig
	reader  *Reader
	reminds string // what the model is told where its reply held no act
}

func newReact(config ProtocolConfig) dialect { return &react{config: config} }

const (
	promptReact = `You answer a request by calling tools, one call at a time. After each call you are shown what ` +
		`came back, and you go on from there.`

	promptReactTools = "These are the tools, one specification a line:"

	promptReactForm = `Write every reply in one of three forms. To call a tool:
Thought: what you make of the situation and what you will do next
Action: the name of one tool
Action Input: its arguments as a JSON object

To answer:
Thought: why you are done
Final Answer: the answer as JSON

To decline:
Thought: why it cannot be done
Decline: the reason

End your reply after these lines. The line that starts with "Observation:" is written for you and shows the result ` +
		`or the error of your call.`

	promptReactLabels = `Calls are labelled call_1, call_2 and so on in the order in which you make them; each ` +
		`observation shows the label.`

	remindReact = `Observation: nothing was done, because the reply had no "Action:", no "Final Answer:" and no ` +
		`"Decline:" that could be read.`
)

// observationTag begins the environment's part.
const observationTag = "Observation:"

func (r *react) open(view *task.View) (model.Request, error) {
	r.reader = NewReader(view.Tools)
	var request model.Request
	listing, err := r.config.Specs.listing(view.Tools)
	if err != nil {
		return request, err
	}
	results, references := promptOf(view)
	system := paragraphs(promptReact, results, promptReactLabels, references, promptAnswer, promptDecline,
		promptErrors, promptReactTools+"\n"+listing, promptReactForm, repliesLeft(view, r.config.Loops))
	request.System, request.Messages = conversationOf(view, system)
	request.Stop = []string{observationTag}
	return request, nil
}

// grow lets calls of tools that have come into view be read as those of others are. What they do the model has read
// where they were shown.
func (r *react) grow(view *task.View) { r.reader = NewReader(view.Tools) }

// section is a part of a reply under one tag; tag is in lower case, "" before the first.
type section struct {
	tag   string
	start int // of the tag
	body  string
	end   int
}

// reactTag is a tag at the beginning of a line, also in bold or as a heading.
var reactTag = regexp.MustCompile(
	`(?im)^[ \t>*_#-]*(thought|action input|action|observation|final answer|decline)[ \t]*[*_]*[ \t]*:[*_]*`)

func sections(text string) []section {
	list := []section{{end: len(text)}}
	for _, m := range reactTag.FindAllStringSubmatchIndex(text, -1) {
		last := &list[len(list)-1]
		last.end = m[0]
		list = append(list, section{tag: strings.ToLower(text[m[2]:m[3]]), start: m[0], end: len(text), body: text[m[1]:]})
	}
	for i := range list {
		s := &list[i]
		if s.tag == "" {
			s.body = text[:s.end]
		} else {
			s.body = s.body[:len(s.body)-(len(text)-s.end)]
		}
		s.body = strings.TrimSpace(s.body)
	}
	return list
}

// reactStep is what one reply says.
type reactStep struct {
	reader   *Reader
	labels   []string
	text     string
	thoughts musings
	reasoned int // how many of the thoughts come from reasoning blocks
	unparsed []task.Unparse
	action   *task.Action
	tagged   bool
	cut      int // where the hallucinated observation begins, or the end
}

func (s *reactStep) leave(reason, text string) {
	if text = strings.TrimSpace(text); text != "" {
		s.unparsed = append(s.unparsed, task.Unparse{Reason: reason, Text: text})
	}
}

func (r *react) read(reply *model.Reply, labels []string) decision {
	content := reply.Message.Content
	thoughts, text := apart(content)
	s := &reactStep{reader: r.reader, labels: labels, thoughts: thoughts, reasoned: len(thoughts), text: text}
	s.cut = len(s.text)
	s.readSections()
	if s.action == nil {
		s.readUntagged(reply)
	}
	d := decision{thought: s.thoughts.String(), unparsed: s.unparsed}
	r.reminds = ""
	if s.action != nil {
		d.actions = []task.Action{*s.action}
	} else {
		d.silent = strings.TrimSpace(s.text) == "" && len(reply.Message.ToolCalls) == 0
		r.reminds = remindReact
	}
	d.history = s.history(&reply.Message)
	return d
}

// history is what the conversation keeps of a reply: all of it, up to an observation that the model made up. A call
// that came natively, though none was offered, is written as text.
func (s *reactStep) history(m *model.Message) []model.Message {
	kept := model.Message{Role: model.RoleAssistant, Content: m.Content, Raw: m.Raw}
	if s.cut < len(s.text) {
		kept.Content, kept.Raw = s.text[:s.cut], nil
	}
	if len(m.ToolCalls) > 0 {
		kept.Raw = nil
		if s.action != nil && s.action.Kind == task.ActionCall {
			kept.Content += fmt.Sprintf("\nAction: %s\nAction Input: %s", s.action.Tool, s.action.Arguments)
		}
	}
	kept.Content = strings.TrimSpace(kept.Content)
	if kept.Content == "" {
		return nil
	}
	return []model.Message{kept}
}

// readSections takes the first act of the reply; all that follows it is named.
func (s *reactStep) readSections() {
	list := sections(s.text)
	for i := 0; i < len(list); i++ {
		part := &list[i]
		s.tagged = s.tagged || part.tag != ""
		switch {
		case part.tag == "observation":
			s.leave(ReasonObservation, s.text[part.start:])
			s.cut = part.start
			return
		case s.action != nil:
			reason := ReasonAfterAct
			if part.tag == "action" || part.tag == "action input" {
				reason = ReasonSecondAction
			}
			s.leave(reason, s.text[part.start:part.end])
		case part.tag == "thought", part.tag == "" && len(list) > 1:
			s.thoughts.add(part.body)
		case part.tag == "action":
			input, given := "", false
			if i+1 < len(list) && list[i+1].tag == "action input" {
				i++
				input, given = list[i].body, true
			}
			s.act(part.body, input, given)
		case part.tag == "action input":
			s.leave(ReasonNoTool, s.text[part.start:part.end])
		case part.tag == "final answer":
			s.answer(part.body)
		case part.tag == "decline":
			s.action = &task.Action{Kind: task.ActionDecline, Text: part.body}
		}
	}
}

func (s *reactStep) answer(text string) {
	if text == "" {
		s.leave(ReasonMissingArgument, "Final Answer:")
		return
	}
	s.action = &task.Action{Kind: task.ActionAnswer, Answer: finalAnswer(text)}
}

// toolName is an action that names a tool and nothing else, also in brackets, quotes or backticks.
var toolName = regexp.MustCompile("^[`\"'\\[*]*([\\pL_][\\pL\\pN_./-]*)[`\"'\\]*.]*$")

// act reads an action and its input. An action may also be a whole call in one of the ways in which [Reader] reads
// them.
func (s *reactStep) act(action, input string, given bool) {
	switch strings.ToLower(strings.Trim(action, "`\"'[]*. ")) {
	case "", "none", "n/a", "no action":
		s.leave(ReasonNoTool, strings.TrimSpace("Action: "+action+"\n"+input))
		return
	case actDecline:
		if tools := s.reader.tools; !tools.known(actDecline) {
			reason := input
			if arguments, unparsed := readArguments(input); len(unparsed) == 0 && input != "" {
				reason = reasonIn(arguments)
			}
			s.action = &task.Action{Kind: task.ActionDecline, Text: reason}
			return
		}
	case "final answer", "final_answer", actAnswer:
		if arguments, unparsed := readArguments(input); len(unparsed) == 0 && input != "" {
			if answer, left, ok := answerOf(arguments); ok {
				s.action = &answer
				s.unparsed = append(s.unparsed, left...)
				return
			}
		}
		s.answer(input)
		return
	}
	if m := toolName.FindStringSubmatch(action); m != nil || s.reader.tools.known(action) {
		name := action
		if m != nil && !s.reader.tools.known(action) {
			name = strings.TrimRight(m[1], ".")
		}
		s.call(s.reader.tools.resolve(name), input)
		return
	}
	text := action
	if given {
		text += "\n" + input
	}
	if !s.firstCall(&model.Message{Content: text}) {
		s.leave(ReasonNoTool, text)
	}
}

// call reads the input of an action: an object, perhaps in a fence, perhaps with prose behind it.
func (s *reactStep) call(tool, input string) {
	if m := fence.FindStringSubmatchIndex(input); m != nil && m[0] == 0 {
		s.leave(ReasonAfterAct, input[m[1]:])
		s.thoughts.add(foreignLanguage(fenceLanguage(input, m)))
		input = input[m[6]:m[7]]
	}
	v := newValueReader(input, false)
	if _, err := v.value(); err == nil && v.peek() != 0 && strings.HasPrefix(strings.TrimSpace(input), "{") {
		s.leave(ReasonAfterAct, input[v.pos:])
		input = input[:v.pos]
	}
	arguments, unparsed := readArguments(input)
	s.unparsed = append(s.unparsed, unparsed...)
	one := []Call{{Tool: tool, Arguments: arguments}}
	s.reader.tools.mend(one, s.labels)
	s.action = &task.Action{Kind: task.ActionCall, Label: one[0].Label, Tool: tool, Arguments: one[0].Arguments}
}

// firstCall takes the first call that a text holds; more of them are named.
func (s *reactStep) firstCall(m *model.Message) bool {
	r := s.reader.Read(m, s.labels)
	if len(r.Calls) == 0 {
		return false
	}
	s.thoughts.add(r.Thought)
	s.unparsed = append(s.unparsed, r.Unparsed...)
	for i := range r.Calls {
		c := &r.Calls[i]
		if i > 0 {
			s.leave(ReasonSecondAction, callText(c))
			continue
		}
		s.action = &task.Action{Kind: task.ActionCall, Label: c.Label, Tool: c.Tool, Arguments: c.Arguments}
	}
	return true
}

// readUntagged reads a reply without an act under a tag: calls in another form, or, where there is no tag at all, an
// answer in prose, which is lenient.
func (s *reactStep) readUntagged(reply *model.Reply) {
	rest := s.text[:s.cut]
	thoughts, unparsed := s.thoughts, s.unparsed
	s.thoughts, s.unparsed = thoughts[:s.reasoned:s.reasoned], nil
	if s.firstCall(&model.Message{Content: rest, ToolCalls: reply.Message.ToolCalls}) {
		// What was named as unreadable under a tag is in the call, or in the thought, now; an observation is not.
		for _, u := range unparsed {
			if u.Reason == ReasonObservation {
				s.unparsed = append(s.unparsed, u)
			}
		}
		return
	}
	s.thoughts, s.unparsed = thoughts, unparsed
	if s.tagged {
		if len(s.unparsed) == 0 {
			s.leave(ReasonNoAct, rest)
		}
		return
	}
	r := s.reader.Read(&model.Message{Content: rest}, s.labels)
	if answer, ok := proseAnswer(&r, reply.Finish); ok && len(s.unparsed) == 0 {
		s.thoughts.add(r.Thought)
		s.action = &answer
		return
	}
	s.thoughts.add(r.Thought)
	s.unparsed = append(s.unparsed, r.Unparsed...)
	s.leave(ReasonNoAct, r.Prose)
}

func (r *react) observe(seen []task.Observation) ([]model.Message, error) {
	if r.reminds != "" {
		return []model.Message{{Role: model.RoleUser, Content: r.reminds}}, nil
	}
	var lines []string
	for i := range seen {
		text, err := render(&seen[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, observationTag+" "+text)
	}
	return []model.Message{{Role: model.RoleUser, Content: strings.Join(lines, "\n")}}, nil
}
