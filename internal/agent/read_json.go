package agent

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// Names that models give to the parts of a call, in the order in which they count where several stand side by side.
var (
	nameFields     = []string{"name", "tool", "tool_name", "function", "function_name", "api", "action"}
	argumentFields = []string{
		"arguments", "parameters", "args", "input", "params", "kwargs", "tool_input", "action_input", "function_args",
	}
	labelFields = []string{"label", "id", "call_id", "tool_call_id"}
	// listFields hold the calls of an object that is only their envelope.
	listFields = []string{"tool_calls", "calls", "function_calls", "actions", "tools", "output"}
	// kindWords are the values of a field `type`, which says that the object is a call and nothing more.
	kindWords = map[string]bool{"function": true, "tool_use": true, "tool_call": true, "function_call": true}
)

// asArguments gives the object that holds a call's arguments: an object, a text that is one, or one in extra
// brackets. Null means no arguments.
func asArguments(n node) (node, bool) {
	switch n.kind {
	case nodeObject:
		return n, true
	case nodeNull:
		return node{kind: nodeObject}, true
	case nodeList:
		if len(n.items) == 1 && n.items[0].kind == nodeObject {
			return n.items[0], true
		}
	case nodeText:
		v := newValueReader(n.text, false)
		inner, err := v.value()
		v.space()
		if err == nil && v.atEnd() == nil && len(v.notes) == 0 && inner.kind == nodeObject {
			return inner, true
		}
	}
	return n, false
}

// field gives the index of the field of the first of those names, or -1.
func (n *node) field(names ...string) int {
	for _, name := range names {
		for i := range n.fields {
			if n.fields[i].name == name {
				return i
			}
		}
	}
	return -1
}

// objectField gives the index of the first of those fields that holds an object, or -1.
func (n *node) objectField(names ...string) int {
	for _, name := range names {
		if i := n.field(name); i >= 0 && n.fields[i].value.kind == nodeObject {
			return i
		}
	}
	return -1
}

// callsIn reads a value as a call or as a list of calls, nested in whatever brackets. It is false where the value
// holds no call at all; among calls, a value that is none is named.
func (p *reading) callsIn(text string, n *node) (calls []Call, unparsed []task.Unparse, ok bool) {
	switch n.kind {
	case nodeList:
		for i := range n.items {
			inner, left, isCall := p.callsIn(text, &n.items[i])
			if !isCall {
				left = []task.Unparse{{Reason: ReasonNotACall, Text: text[n.items[i].start:n.items[i].end]}}
			}
			calls, unparsed, ok = append(calls, inner...), append(unparsed, left...), ok || isCall
		}
		return calls, unparsed, ok
	case nodeObject:
		isCall := n.field(nameFields...) >= 0 && n.field(argumentFields...) >= 0
		if i := n.field(listFields...); i >= 0 && !isCall && n.fields[i].value.kind == nodeList {
			calls, unparsed, ok = p.callsIn(text, &n.fields[i].value)
			if ok {
				return calls, append(unparsed, extraFields(text, n, i)...), true
			}
		}
		call, unparsed, ok := p.callIn(text, n)
		if !ok {
			return nil, nil, false
		}
		return []Call{call}, unparsed, true
	default:
		return nil, nil, false
	}
}

// extraFields names every field of an object but those at the indices that were read.
func extraFields(text string, n *node, read ...int) []task.Unparse {
	used := make([]bool, len(n.fields))
	for _, i := range read {
		if i >= 0 {
			used[i] = true
		}
	}
	var extra []task.Unparse
	for i := range n.fields {
		f := &n.fields[i]
		saysKind := f.name == "type" && f.value.kind == nodeText && kindWords[f.value.text]
		if !used[i] && !saysKind {
			extra = append(extra, task.Unparse{Reason: ReasonExtraField, Text: text[f.start:f.end]})
		}
	}
	return extra
}

// callIn reads an object as a call, in one of these forms:
//
//	{"name": f, "arguments": {…}, "label": l}      with the other names of these fields, too
//	{"function": {"name": f, "arguments": …}, "id": l}      or in a field tool_call, call or action
//	{f: {…}}                                       where f is a tool of the toolkit
//
// An object that has a name but no arguments is a call only if the name is a tool's and nothing else is in it:
// records have names, too.
func (p *reading) callIn(text string, n *node) (Call, []task.Unparse, bool) {
	label := n.field(labelFields...)
	if i := n.objectField("function", "function_call", "tool_call", "call", "action"); i >= 0 {
		call, unparsed, ok := p.callIn(text, &n.fields[i].value)
		if !ok {
			return Call{}, nil, false
		}
		if call.Label == "" {
			var notes []task.Unparse
			call.Label, notes = labelIn(text, n, label)
			unparsed = append(unparsed, notes...)
		} else {
			label = -1
		}
		return call, append(unparsed, extraFields(text, n, i, label)...), true
	}
	name, arguments := -1, n.field(argumentFields...)
	for _, field := range nameFields {
		if i := n.field(field); name < 0 && i >= 0 && n.fields[i].value.kind == nodeText {
			name = i
		}
	}
	if name < 0 {
		if len(n.fields) == 1 && p.tools.known(n.fields[0].name) && n.fields[0].value.kind == nodeObject {
			given, err := n.fields[0].value.appendJSON(nil)
			return Call{Tool: n.fields[0].name, Arguments: given}, nil, err == nil
		}
		return Call{}, nil, false
	}
	call := Call{Tool: p.tools.resolve(n.fields[name].value.text)}
	known := p.tools.known(call.Tool)
	if call.Tool == "" {
		return Call{}, nil, false
	}
	var unparsed []task.Unparse
	if arguments < 0 {
		if !known || len(extraFields(text, n, name, label)) > 0 {
			return Call{}, nil, false
		}
		call.Arguments = json.RawMessage("{}")
	} else {
		given := &n.fields[arguments].value
		object, ok := asArguments(*given)
		if !ok && given.kind == nodeList && known {
			object, ok = p.byPosition(call.Tool, given.items)
		}
		if !ok && !known {
			return Call{}, nil, false
		}
		written, err := object.appendJSON(nil)
		if !ok || err != nil {
			raw := text[given.start:given.end]
			if given.kind == nodeText {
				raw = given.text
			}
			written = quote(raw)
			unparsed = append(unparsed, task.Unparse{Reason: ReasonBadArguments, Text: raw})
		}
		call.Arguments = written
	}
	var notes []task.Unparse
	call.Label, notes = labelIn(text, n, label)
	unparsed = append(append(unparsed, notes...), extraFields(text, n, name, arguments, label)...)
	return call, unparsed, true
}

// labelIn reads a label: a name, or one between dollar signs as references have it. Null and an empty text are none.
func labelIn(text string, n *node, field int) (string, []task.Unparse) {
	if field < 0 || n.fields[field].value.kind == nodeNull {
		return "", nil
	}
	v := &n.fields[field].value
	if v.kind == nodeText {
		label := strings.Trim(strings.TrimSpace(v.text), "$")
		if label == "" || task.IsLabel(label) {
			return label, nil
		}
	}
	return "", []task.Unparse{{Reason: ReasonBadLabel, Text: text[n.fields[field].start:n.fields[field].end]}}
}

// byPosition gives positional arguments the names of the tool's parameters.
func (p *reading) byPosition(tool string, values []node) (node, bool) {
	names := p.tools.parameters(tool)
	if len(values) > len(names) {
		return node{}, false
	}
	n := node{kind: nodeObject}
	for i := range values {
		n.fields = append(n.fields, nodeField{name: names[i], named: true, value: values[i]})
	}
	return n, true
}

// jsonSequence reads values that stand one behind the other (JSON lines, or a list without its brackets), with stray
// closing brackets behind them, from at to the end of the text. It gives the place up to which all values are calls.
func (p *reading) jsonSequence(text string, at int) (claim, error) {
	c := claim{span: span{at, at}}
	v := newValueReader(text, false)
	v.pos = at
	for {
		for v.space(); v.pos < len(text) && strings.IndexByte(",;", text[v.pos]) >= 0 && len(c.calls) > 0; v.space() {
			v.pos++
		}
		if v.pos >= len(text) {
			c.end = len(text)
			return c, nil
		}
		if len(c.calls) > 0 && strings.Trim(text[v.pos:], "]}) \t\r\n") == "" {
			c.end = len(text)
			return c, nil
		}
		if b := text[v.pos]; b != '{' && b != '[' {
			return c, errSyntax
		}
		n, err := v.value()
		if err != nil {
			return c, err
		}
		calls, unparsed, ok := p.callsIn(text, &n)
		if !ok {
			return c, errSyntax
		}
		c.calls = append(c.calls, calls...)
		c.unparsed = append(append(c.unparsed, v.notes...), unparsed...)
		v.notes = nil
		c.end = v.pos
	}
}

// readWholeJSON reads a reply that is nothing but JSON: a call, a list of calls, or one of them after the other.
func readWholeJSON(p *reading) {
	whole, ok := p.whole()
	if !ok {
		return
	}
	if c, err := p.jsonSequence(p.text[:whole.end], whole.start); err == nil && len(c.calls) > 0 {
		p.claims = append(p.claims, c)
	}
}

// attempt tells a piece of text that was meant as a call in JSON from any other with brackets.
var attempt = regexp.MustCompile(
	`^[\[{\s]*\{\s*["'“‘\\]*(?:name|tool|tool_name|function|arguments|parameters|label)["'”’\\]*\s*:`)

// attemptBudget is how many bytes may be read in tries to find values in a span. Brackets that open nothing would
// make the time quadratic otherwise; where the budget is spent, the rest is prose.
func attemptBudget(s span) int { return 8*(s.end-s.start) + 1<<16 }

// readEmbeddedJSON reads calls in JSON that stand in prose. What begins like a call and cannot be read is named, up
// to the next empty line.
func readEmbeddedJSON(p *reading) {
	if len(p.native) > 0 {
		return
	}
	for _, s := range p.free() {
		text := p.text[:s.end]
		budget := attemptBudget(s)
		for at := s.start; at < s.end && budget > 0; at++ {
			if text[at] != '{' && text[at] != '[' {
				continue
			}
			v := newValueReader(text, false)
			v.pos = at
			n, err := v.value()
			budget -= v.pos - at + 1
			if err == nil {
				if calls, unparsed, ok := p.callsIn(text, &n); ok {
					unparsed = append(v.notes, unparsed...)
					p.claims = append(p.claims, claim{span: span{at, v.pos}, calls: calls, unparsed: unparsed})
				}
				at = v.pos - 1
				continue
			}
			if attempt.MatchString(text[at:min(s.end, at+80)]) {
				end := s.end
				if blank := strings.Index(text[at:], "\n\n"); blank >= 0 {
					end = at + blank
				}
				left := task.Unparse{Reason: reasonOf(err, ReasonNotJSON), Text: text[at:end]}
				p.claims = append(p.claims, claim{span: span{at, end}, unparsed: []task.Unparse{left}})
				at = end - 1
			}
		}
	}
}
