package reply

import (
	"regexp"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// reasoningTag opens a block in which a model thinks.
var reasoningTag = regexp.MustCompile(`(?i)<(think|thinking|thought|reasoning|scratchpad)>`)

// reasoningEnd closes one. Chat templates open the block themselves, so that only its end is in the reply.
var reasoningEnd = regexp.MustCompile(`(?i)</(think|thinking|thought|reasoning|scratchpad)>`)

// readReasoning sets the blocks apart in which a model thinks: calls in them are weighed, not made.
func readReasoning(p *reading) {
	if len(p.native) > 0 {
		return
	}
	opens := reasoningTag.FindAllStringIndex(p.text, -1)
	at := 0
	for _, closing := range reasoningEnd.FindAllStringIndex(p.text, -1) {
		// Without an opening tag the block began with the reply, or where the last one ended.
		start, inner := at, at
		if opens = from(opens, at); len(opens) > 0 && opens[0][0] < closing[0] {
			start, inner = opens[0][0], opens[0][1]
		}
		p.claims = append(p.claims, claim{Span: literal.Span{Start: start, End: closing[1]}, thought: p.text[inner:closing[0]]})
		at = closing[1]
	}
	if opens = from(opens, at); len(opens) > 0 {
		p.claims = append(p.claims, claim{Span: literal.Span{Start: opens[0][0], End: len(p.text)}, thought: p.text[opens[0][1]:]})
	}
}

// musings are the parts of a reply that are thought, and not said.
type thoughts []string

func (m *thoughts) add(text string) {
	if text = strings.TrimSpace(text); text != "" {
		*m = append(*m, text)
	}
}

func (m thoughts) String() string { return strings.Join(m, "\n") }

// SplitThoughts gives what stands in the blocks in which a model thinks, and the rest, its pieces on lines of their own.
func SplitThoughts(text string) (thoughts thoughts, rest string) {
	set := &reading{text: text}
	readReasoning(set)
	for i := range set.claims {
		thoughts.add(set.claims[i].thought)
	}
	var pieces []string
	for _, free := range set.free() {
		pieces = append(pieces, text[free.Start:free.End])
	}
	return thoughts, strings.Join(pieces, "\n")
}

// from drops the matches that begin before at.
func from(matches [][]int, at int) [][]int {
	for len(matches) > 0 && matches[0][0] < at {
		matches = matches[1:]
	}
	return matches
}

// The marks between which models put calls, and what closes them; where nothing closes them, the block goes on to the
// next mark or to the end.
const (
	callTagForm = `(?i:<(?:tool_calls?|function_calls?|tool_use|tool_code)>|<\|tool_calls?\|>|\[TOOL_CALLS?\]` +
		`|<\|python_tag\|>)`
	callEndForm = `(?i:</(?:tool_calls?|function_calls?|tool_use|tool_code)>|<\|/tool_calls?\|>|\[/TOOL_CALLS?\]` +
		`|<\|(?:eom_id|eot_id|im_end)\|>)`
)

var (
	callTag   = regexp.MustCompile(callTagForm)
	callTags  = regexp.MustCompile(`^(?:\s*` + callTagForm + `)*`) // tags in tags: <tool_calls><tool_call>…
	callEnd   = regexp.MustCompile(callEndForm)
	callsEnds = regexp.MustCompile(`^(?:\s*` + callEndForm + `)*`)
)

// A call that is named in its tag, <function=f> or <invoke name="f">, and its arguments, each in a tag of its own.
const (
	functionTagForm  = `(?i:<function=["']?([^>"'\s]+)["']?>|<invoke name=["']?([^>"'\s]+)["']?>)`
	parameterTagForm = `(?i:<parameter=["']?([^>"'\s]+)["']?>|<parameter name=["']?([^>"'\s]+)["']?>)`
)

var (
	functionTag      = regexp.MustCompile(functionTagForm)
	functionTagFirst = regexp.MustCompile(`^\s*` + functionTagForm)
	functionEnd      = regexp.MustCompile(`(?i)</(?:function|invoke)>`)
	parameterTag     = regexp.MustCompile(parameterTagForm)
	parameterEnd     = regexp.MustCompile(`(?i)</parameter>`)
)

// readTagged reads calls between tags.
func readTagged(p *reading) {
	if len(p.native) > 0 {
		return
	}
	for _, s := range p.free() {
		text := p.text[:s.End]
		outer := shifted(callTag.FindAllStringIndex(text[s.Start:], -1), s.Start)
		named := shifted(functionTag.FindAllStringIndex(text[s.Start:], -1), s.Start)
		for len(outer) > 0 || len(named) > 0 {
			var c claim
			if len(named) == 0 || len(outer) > 0 && outer[0][0] < named[0][0] {
				c = p.taggedBlock(text, outer[0][0], outer[0][1])
			} else {
				c = p.taggedFunctions(text, named[0][0])
			}
			p.claims = append(p.claims, c)
			outer, named = from(outer, c.End), from(named, c.End)
		}
	}
}

func shifted(matches [][]int, by int) [][]int {
	for _, m := range matches {
		m[0], m[1] = m[0]+by, m[1]+by
	}
	return matches
}

// within gives the part of text from inner to the first closing tag, or to the next opening one where that comes
// first (the block is not closed then), or to the end; after is the place behind the closing tag.
func within(text string, inner int, opening, closing *regexp.Regexp) (end, after int) {
	end, after = len(text), len(text)
	if next := opening.FindStringIndex(text[inner:]); next != nil {
		end, after = inner+next[0], inner+next[0]
	}
	if m := closing.FindStringIndex(text[inner:end]); m != nil {
		end, after = inner+m[0], inner+m[1]
	}
	return end, after
}

// taggedBlock reads the block whose tag stands from start to inner.
func (p *reading) taggedBlock(text string, start, inner int) claim {
	inner += len(callTags.FindString(text[inner:]))
	end, after := within(text, inner, callTag, callEnd)
	c := p.block(text[:end], inner, ReasonTag)
	// The ends of tags that stood around this one go with it.
	c.Span = literal.Span{Start: start, End: after + len(callsEnds.FindString(text[after:]))}
	return c
}

// taggedFunctions reads the calls that name their function in a tag, one behind the other, from start.
func (p *reading) taggedFunctions(text string, start int) claim {
	c := claim{Span: literal.Span{Start: start, End: start}}
	for {
		m := functionTagFirst.FindStringSubmatch(text[c.End:])
		if m == nil {
			return c
		}
		inner := c.End + len(m[0])
		end, after := within(text, inner, functionTag, functionEnd)
		call, unparsed := p.taggedFunction(p.tools.resolve(m[1]+m[2]), text[inner:end])
		c.calls = append(c.calls, call)
		c.unparsed = append(c.unparsed, unparsed...)
		c.End = after
	}
}

// taggedFunction reads the arguments inside a function's tag: an object, or a tag for each argument.
func (p *reading) taggedFunction(tool, inner string) (Call, []task.Unparse) {
	call := Call{Tool: tool}
	if parameterTag.FindStringIndex(inner) == nil {
		var unparsed []task.Unparse
		call.Arguments, unparsed = readArguments(inner)
		return call, unparsed
	}
	var unparsed []task.Unparse
	arguments := literal.Node{Kind: literal.ObjectKind}
	index := map[string]int{}
	written := map[string]string{}
	leave := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			unparsed = append(unparsed, task.Unparse{Reason: ReasonTag, Text: text})
		}
	}
	at := 0
	for at < len(inner) {
		m := parameterTag.FindStringSubmatchIndex(inner[at:])
		if m == nil {
			break
		}
		leave(inner[at : at+m[0]])
		name := submatch(inner[at:], m, 1) + submatch(inner[at:], m, 2)
		start := at + m[1]
		end, after := within(inner, start, parameterTag, parameterEnd)
		field := literal.Field{Name: name, Value: p.tagValue(tool, name, inner[start:end])}
		if i, twice := index[name]; twice {
			unparsed = append(unparsed, task.Unparse{Reason: ReasonDuplicateField, Text: name + ": " + written[name]})
			arguments.Fields[i] = field
		} else {
			index[name] = len(arguments.Fields)
			arguments.Fields = append(arguments.Fields, field)
		}
		written[name] = inner[start:end]
		at = after
	}
	leave(inner[at:])
	text, err := arguments.AppendJSON(nil)
	if err != nil {
		text = literal.Quote(inner)
		unparsed = append(unparsed, task.Unparse{Reason: ReasonBadArguments, Text: inner})
	}
	call.Arguments = text
	return call, unparsed
}

func submatch(text string, m []int, group int) string {
	if m[2*group] < 0 {
		return ""
	}
	return text[m[2*group]:m[2*group+1]]
}

// tagValue reads an argument that stands between tags, where text has no quotes: it is text where the parameter takes
// nothing else, and otherwise JSON if it reads as JSON.
func (p *reading) tagValue(tool, name, text string) literal.Node {
	text = strings.TrimSuffix(strings.TrimPrefix(text, "\n"), "\n")
	if s := p.tools.parameter(tool, name); s != nil && len(s.Types) == 1 && s.Types[0] == "string" {
		return literal.Node{Kind: literal.Text, Text: text}
	}
	v := literal.NewReader(text, false)
	n, err := v.Value()
	v.Space()
	bare := n.Kind == literal.Text && !strings.HasPrefix(strings.TrimSpace(text), `"`)
	if err != nil || v.AtEnd() != nil || len(v.Notes) > 0 || bare {
		return literal.Node{Kind: literal.Text, Text: text}
	}
	return n
}

// block reads text from at to its end as calls in any of the ways of the stages: named in tags, JSON, code, or one of
// them in a fence. What cannot be read is named; a block without any call is named as a whole.
func (p *reading) block(text string, at int, reason string) claim {
	whole := trimSpan(text, literal.Span{Start: at, End: len(text)})
	c := claim{Span: whole}
	if whole.Start >= whole.End {
		return c
	}
	if m := fenceAround(text[whole.Start:whole.End]); m != nil {
		inner := text[:whole.Start+m[7]]
		c := p.block(inner, whole.Start+m[6], reason)
		c.thought = foreignLanguage(fenceLanguage(text[whole.Start:whole.End], m)) + c.thought
		return c
	}
	if functionTagFirst.MatchString(text[whole.Start:]) {
		c = p.taggedFunctions(text, whole.Start)
		return p.leaveRest(c, text, reason)
	}
	sequence, err := p.jsonSequence(text[:whole.End], whole.Start)
	if len(sequence.calls) > 0 {
		if err == nil {
			return sequence
		}
		return p.leaveRest(sequence, text[:whole.End], reasonOf(err, ReasonNotJSON))
	}
	jsonError := err
	saved := p.labels.save()
	if code, _ := p.program(text[:whole.End], whole.Start, false); len(code.calls) > 0 {
		return code
	}
	p.labels.restore(saved)
	c.unparsed = []task.Unparse{{Reason: reason, Text: text[whole.Start:whole.End]}}
	if jsonError == literal.ErrTruncated && strings.IndexByte("[{", text[whole.Start]) >= 0 {
		c.unparsed[0].Reason = ReasonTruncated
	}
	return c
}

// leaveRest names what stands behind the part of the text that c has read.
func (p *reading) leaveRest(c claim, text, reason string) claim {
	if rest := strings.TrimSpace(text[c.End:]); rest != "" {
		c.unparsed = append(c.unparsed, task.Unparse{Reason: reason, Text: rest})
	}
	c.End = len(text)
	return c
}
