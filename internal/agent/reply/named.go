package reply

import (
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
	"github.com/seatrial/seatrial/internal/task/pattern"
)

const (
	toolNameForm = `((?:[\pL_][\pL\pN_]*[.:/-])*[\pL_][\pL\pN_-]*)`
	// nameOfObject is a tool's name before an object of arguments, possibly with the call's number and a colon.
	nameOfObject = toolNameForm + `(?::\d+)?(?:[ \t]|\[ARGS\])*(?:[:：][ \t]*)?`
	lineStart    = "(?:^|\\n)[ \\t>*+#`-]*"
	afterObject  = `[}\])][ \t]*[,;|]?[ \t]*` // between the arguments of a call and the next one
	nextWord     = `(?i:\b(?:and|then|next|call(?:ing)?|us(?:e|ing)|invok(?:e|ing))[ \t,]+)`
)

var wordBefore = pattern.New(nextWord + `$`)

// deepSeekPrefix precedes a tool's name in replies of DeepSeek, from servers that drop its special tokens.
const deepSeekPrefix = "function"

// readNamed reads calls that are recognised by the name of an offered tool.
func readNamed(p *reading) {
	if len(p.native) > 0 {
		return
	}
	for _, f := range formats {
		if f.readNamed == nil {
			continue
		}
		for _, s := range p.free() {
			text := p.text[:s.End]
			at, budget := s.Start, attemptBudget(s)
			for _, m := range f.mark.FindAllStringSubmatchIndex(text[s.Start:], -1) {
				start := s.Start + m[2]
				written := text[start : s.Start+m[3]]
				tool := p.tools.resolve(written)
				if rest, found := strings.CutPrefix(written, deepSeekPrefix); found && p.tools.known(rest) {
					tool = rest
				}
				if start < at || budget <= 0 || !p.tools.known(tool) && tool != parallelTool {
					continue
				}
				from := max(at, s.Start+m[0])
				if wordBefore.MatchString(text[from:start]) {
					from = start // the word is prose
				}
				c := f.readNamed(p, tool, text, from, s.Start+m[1])
				if budget -= max(c.End, s.Start+m[1]) - start; len(c.calls) == 0 && len(c.unparsed) == 0 {
					continue
				}
				for i := range c.calls {
					c.calls[i].Format = f.name
				}
				if written == deepSeekPrefix+tool {
					c.thought = written
				}
				p.claims = append(p.claims, c)
				at = c.End
			}
		}
	}
}

var colonBeforeObject = pattern.New(`[:：]\s*\{$`)

// namedObject reads the object at the end of a mark as the arguments of the tool in the mark.
func (p *reading) namedObject(tool, text string, start, inner int) claim {
	c := claim{Span: literal.Span{Start: start, End: inner}}
	v := p.values(text, inner-1)
	n, err := v.Value()
	object, ok := asArguments(n)
	if err != nil || !ok {
		return c
	}
	arguments, err := object.AppendJSON(nil)
	if err != nil {
		return c
	}
	if colonBeforeObject.MatchString(text[start:inner]) && p.ownFields(tool, &object, -1, -1) < 0 {
		return c // what the tool returned
	}
	c.calls = p.parallel(Call{Tool: tool, Arguments: arguments})
	c.End, c.unparsed = v.Pos, v.Notes
	c.End += len(fenceEnd.FindString(text[c.End:]))
	return c
}

// readToolCallCode reads tool_call(…) as a call of the tool in the mark.
func readToolCallCode(p *reading, tool, text string, start, inner int) claim {
	c := claim{Span: literal.Span{Start: start, End: inner}}
	v := p.code(text, inner-len("tool_call("))
	n, err := v.Value()
	if err != nil || n.Kind != literal.Call {
		return c
	}
	n.Text = tool
	l := &lowering{p: p}
	saved := p.labels.save()
	if l.call(&n, "") != nil {
		p.labels.restore(saved)
		return c
	}
	c.calls, c.unparsed = l.calls, v.Notes
	c.End = v.Pos + len(fenceEnd.FindString(text[v.Pos:]))
	return c
}

var attribute = pattern.New(`\s([\w.-]+)="([^"<>]*)"`)

// readNameTag reads a tag that has the name of a tool. Its arguments are attributes, tags inside it, or an object.
func readNameTag(p *reading, name, text string, start, inner int) claim {
	c := claim{Span: literal.Span{Start: start, End: inner}}
	mark := text[start:inner]
	fields := argumentFieldsOf(&Call{Tool: name})
	for _, m := range attribute.FindAllStringSubmatch(mark, -1) {
		fields.add(m[1], p.tagValue(name, m[1], m[2], anyValue), m[2])
	}
	if !strings.HasSuffix(mark, "/>") {
		end, after, closed := endOf(tagNameOf(mark), text, inner)
		c.End = after
		if !closed {
			c.unparsed = []task.Unparse{{Reason: ReasonTruncated, Text: strings.TrimSpace(text[start:])}}
			return c
		}
		body := text[inner:end]
		if object, unparsed := readArguments(body); len(fields.object.Fields) == 0 && len(unparsed) == 0 {
			c.calls = []Call{{Tool: name, Arguments: object}}
			return c
		}
		if !p.addTags(fields, name, body) {
			c.unparsed = []task.Unparse{{Reason: ReasonTag, Text: text[start:c.End]}}
			return c
		}
	}
	for i := range fields.object.Fields {
		if p.tools.parameter(name, fields.object.Fields[i].Name) == nil {
			c.unparsed = []task.Unparse{{Reason: ReasonTag, Text: text[start:c.End]}}
			return c
		}
	}
	call, unparsed := fields.call(mark)
	c.calls, c.unparsed = []Call{call}, unparsed
	return c
}

// tagNameOf returns the name of an opening tag as it is written.
func tagNameOf(mark string) string {
	end := strings.IndexAny(mark, " \t\r\n/>")
	return mark[1:end]
}

// anyTag matches a tag without attributes. Its end repeats its name: see [endOf].
var anyTag = tagsOf(`<([\w.:-]+)>`, `</[\w.:-]+>`)

// addTags adds the arguments in <name>value</name> tags, and reports whether the text has nothing else.
func (p *reading) addTags(fields *taggedFields, tool, text string) bool {
	for at := 0; strings.TrimSpace(text[at:]) != ""; {
		t, found := anyTag.first(text, at)
		if !found {
			return false
		}
		end, after, closed := endOf(t.name(), text, t.End)
		if !closed {
			return false
		}
		value := text[t.End:end]
		fields.add(t.name(), p.tagValue(tool, t.name(), value, anyValue), value)
		at = after
	}
	return true
}

// Tags with the name of a tool, and with its arguments, inside a tag of calls.
var (
	callTags     = tagsOf(`<`+namespace+`(?:invoke|function|call|tool)>`, `</(?:antml:)?(?:invoke|function|call|tool)>`)
	sourceTags   = tagsNamed(namespace + `(?:server_name|tool_usage_card_id)`)
	nameTags     = tagsNamed(namespace + `(?:(?:tool|function)_)?name`)
	argumentTags = tagsNamed(namespace + `(?:arguments|parameters|(?:tool_)?args|input|params)`)
	literalText  = pattern.New(`(?s)^\s*<!\[CDATA\[(.*)\]\]>\s*$`)
)

// nameInTag returns the name of a call in a tag of its own, after tags of the call and of its source, and the position
// after it.
func nameInTag(text string, at int) (name string, after int, found bool) {
	if t, found := callTags.first(text, at); found {
		at = t.End
	}
	if t, found := sourceTags.first(text, at); found {
		_, at, _ = sourceTags.end(text, t.End)
	}
	t, found := nameTags.first(text, at)
	if !found {
		return "", 0, false
	}
	end, after, closed := nameTags.end(text, t.End)
	name = strings.TrimSpace(text[t.End:end])
	return name, after, closed && name != "" && !strings.ContainsAny(name, "<> \t\r\n")
}

// taggedCall reads a call whose name and arguments are in tags of their own.
func (p *reading) taggedCall(text string, at int) (claim, bool) {
	name, after, found := nameInTag(text, at)
	if !found {
		return claim{}, false
	}
	call := Call{Tool: p.tools.resolve(name), Arguments: []byte("{}")}
	c := claim{Span: literal.Span{Start: at, End: after}}
	if t, found := argumentTags.first(text, after); found {
		end, after, closed := endOf(t.name(), text, t.End)
		c.End = after
		if !closed {
			c.unparsed = []task.Unparse{{Reason: ReasonTruncated, Text: text[at:]}}
			return c, true
		}
		body := text[t.End:end]
		if m := literalText.FindStringSubmatch(body); m != nil {
			body = m[1]
		}
		var unparsed []task.Unparse
		call.Arguments, unparsed = readArguments(body)
		fields := argumentFieldsOf(&Call{Tool: call.Tool})
		if len(unparsed) > 0 && p.addTags(fields, call.Tool, body) {
			call, unparsed = fields.call(body)
		}
		c.unparsed = unparsed
	} else if p.cut && !p.endsBefore(text[c.End:]) {
		return claim{}, false
	}
	c.End = callTags.skipEnd(text, c.End)
	c.calls = []Call{call}
	return c, true
}
