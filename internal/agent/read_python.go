package agent

import (
	"errors"
	"regexp"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// notTools are functions of Python that code in a reply calls beside tools. They are never taken for a hallucinated
// tool; `print` around a call is passed over.
var notTools = map[string]bool{
	"print": true, "len": true, "str": true, "int": true, "float": true, "list": true, "dict": true, "sum": true,
	"min": true, "max": true, "sorted": true, "set": true, "range": true, "round": true, "abs": true,
}

var assignment = regexp.MustCompile(`^([\pL_][\pL\pN_]*)[ \t]*(?::[ \t]*[\pL_][\pL\pN_\[\], ]*)?[ \t]*=`)

// lowering turns the calls of one statement into calls with JSON arguments. A call inside another's arguments becomes
// a call of its own in front of it, and a reference to it takes its place.
type lowering struct {
	p     *reading
	calls []Call
}

// call lowers one call; label is what its result is called, "" for nothing.
func (l *lowering) call(n *node, label string) error {
	tool := l.p.tools.resolve(n.text)
	known := l.p.tools.known(tool)
	if !known && notTools[tool] {
		return errExpression
	}
	arguments := node{kind: nodeObject}
	names := l.p.tools.parameters(tool)
	given := map[string]bool{}
	for i := range n.fields {
		f := n.fields[i]
		if !f.named {
			switch {
			case known && i < len(names):
				f.name = names[i]
			// A function with one positional dictionary, f({…}), is a call with those arguments.
			case !known && len(n.fields) == 1 && f.value.kind == nodeObject:
				arguments = f.value
				continue
			default:
				return errPositional
			}
			if known && len(n.fields) == 1 && f.value.kind == nodeObject && l.ownNames(tool, &f.value) {
				arguments = f.value
				continue
			}
		}
		if given[f.name] {
			return errExpression // Python refuses an argument that is given twice
		}
		given[f.name] = true
		arguments.fields = append(arguments.fields, f)
	}
	if err := l.value(&arguments); err != nil {
		return err
	}
	text, err := arguments.appendJSON(nil)
	if err != nil {
		return err
	}
	l.calls = append(l.calls, Call{Tool: tool, Label: label, Arguments: text})
	return nil
}

// ownNames says whether every field of a dictionary is a parameter of the tool.
func (l *lowering) ownNames(tool string, n *node) bool {
	for i := range n.fields {
		if l.p.tools.parameter(tool, n.fields[i].name) == nil {
			return false
		}
	}
	return len(n.fields) > 0
}

// value replaces names by references or constants, and calls by references to calls in front.
func (l *lowering) value(n *node) error {
	switch n.kind {
	case nodeName:
		stands, ok := l.p.labels.names[n.text]
		if !ok {
			return errExpression
		}
		if len(n.items) == 0 {
			stands.span = n.span
			*n = stands
			return nil
		}
		r, isReference := task.ParseReference(stands.text)
		if stands.kind != nodeText || !isReference || r.Column != "" || len(n.items) > 1 ||
			strings.Contains(n.items[0].text, "$") || n.items[0].text == "" {
			return errExpression
		}
		r.Column = n.items[0].text
		*n = node{span: n.span, kind: nodeText, text: r.String()}
	case nodeCall:
		label := l.p.labels.fresh("nested")
		if err := l.call(n, label); err != nil {
			return err
		}
		*n = referenceNode(label)
	case nodeList:
		for i := range n.items {
			if err := l.value(&n.items[i]); err != nil {
				return err
			}
		}
	case nodeObject:
		for i := range n.fields {
			if err := l.value(&n.fields[i].value); err != nil {
				return err
			}
		}
	}
	return nil
}

// errPositional is a positional argument that no parameter takes.
var errPositional = errors.New("a positional argument that no parameter takes")

// statement reads one statement of code at v: a call, a list of calls, or the assignment of one of them or of a
// constant to a name. Names that are assigned again stand for the newer result.
func (p *reading) statement(v *valueReader) ([]Call, error) {
	name := ""
	if m := assignment.FindStringSubmatch(v.text[v.pos:]); m != nil && !strings.HasPrefix(v.text[v.pos+len(m[0]):], "=") {
		name = m[1]
		v.pos += len(m[0])
		v.spaceInLine()
	}
	if name == "" && quoteOf(v.text[v.pos:]) != nil {
		return nil, errExpression
	}
	n, err := v.value()
	if err != nil {
		return nil, err
	}
	l := &lowering{p: p}
	if name != "" && n.kind != nodeCall {
		if n.kind == nodeName || l.value(&n) != nil || len(l.calls) > 0 {
			return nil, errExpression
		}
		p.labels.assign(name, n)
		return nil, nil
	}
	switch {
	case n.kind == nodeCall && n.text == "print" && !p.tools.known("print") && name == "":
		for i := range n.fields {
			if n.fields[i].value.kind != nodeCall || n.fields[i].named {
				return nil, errExpression
			}
			if err := l.call(&n.fields[i].value, ""); err != nil {
				return nil, err
			}
		}
	case n.kind == nodeCall && name != "":
		label := name
		if !task.IsLabel(label) {
			label = "value" // a name with letters that labels do not have
		}
		// The label is taken once the arguments are read: they may refer to the older result of that name.
		if err := l.call(&n, ""); err != nil {
			return nil, err
		}
		label = p.labels.fresh(label)
		l.calls[len(l.calls)-1].Label = label
		p.labels.assign(name, referenceNode(label))
	case n.kind == nodeCall:
		if err := l.call(&n, ""); err != nil {
			return nil, err
		}
	case n.kind == nodeList && len(n.items) > 0:
		for i := range n.items {
			if n.items[i].kind != nodeCall {
				return nil, errExpression
			}
			if err := l.call(&n.items[i], ""); err != nil {
				return nil, err
			}
		}
	default:
		return nil, errExpression
	}
	return l.calls, nil
}

// program reads text from at to its end as statements. Comments and constants are thoughts. A statement that cannot
// be read is named, line by line; where strict is set, it is an error instead.
func (p *reading) program(text string, at int, strict bool) (claim, error) {
	c := claim{span: span{at, len(text)}}
	var comments []string
	v := newValueReader(text, true)
	v.pos = at
	for {
		for v.space(); v.peek() == ';' || v.peek() == ','; v.space() {
			v.pos++
		}
		if v.pos >= len(text) {
			break
		}
		start := v.pos
		line := text[start:]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		if line[0] == '#' {
			comments = append(comments, strings.TrimSpace(line))
			v.pos = start + len(line)
			continue
		}
		saved := p.labels.save()
		v.notes, v.open = nil, nil
		calls, err := p.statement(v)
		if err == nil {
			err = v.endOfStatement()
		}
		if err == nil {
			if len(calls) == 0 {
				comments = append(comments, strings.TrimSpace(text[start:v.pos])) // a constant
			}
			c.calls = append(c.calls, calls...)
			c.unparsed = append(c.unparsed, v.notes...)
			continue
		}
		p.labels.restore(saved)
		if strict {
			return claim{}, err
		}
		c.unparsed = append(c.unparsed, task.Unparse{Reason: pythonReason(err), Text: strings.TrimSpace(line)})
		v.pos = start + len(line)
	}
	c.thought = strings.Join(comments, "\n")
	return c, nil
}

func pythonReason(err error) string {
	if err == errPositional {
		return ReasonPositional
	}
	return reasonOf(err, ReasonExpression)
}

// endOfStatement demands that nothing but a comment follows on the line. A comma is let pass: models write calls as a
// list without its brackets.
func (v *valueReader) endOfStatement() error {
	v.spaceInLine()
	switch {
	case v.pos >= len(v.text), strings.IndexByte("\r\n;#,", v.peek()) >= 0:
		return nil
	default:
		return errExpression
	}
}

// readWholePython reads a reply that is nothing but code: calls, one a line or in a list, with names for their
// results.
func readWholePython(p *reading) {
	whole, ok := p.whole()
	if !ok {
		return
	}
	saved := p.labels.save()
	c, err := p.program(p.text[:whole.end], whole.start, true)
	if err != nil || len(c.calls) == 0 {
		p.labels.restore(saved)
		return
	}
	p.claims = append(p.claims, c)
}

// callHead finds what may be a call in prose: a name, an optional assignment before it, and a bracket behind it.
var callHead = regexp.MustCompile(
	"(?m)(?:^[ \t>*+`-]*(?:[0-9]+[.)][ \t]*)?[`*]*|:[ \t]*[`*]*)" +
		"((?:[\\pL_][\\pL\\pN_]*[ \t]*=[ \t]*)?\\[?([\\pL_][\\pL\\pN_.]*)\\()")

// readEmbeddedPython reads calls of known tools that stand in prose on a line of their own, behind a list mark or
// behind a colon. A call that is only mentioned within a sentence is prose.
func readEmbeddedPython(p *reading) {
	if len(p.native) > 0 {
		return
	}
	for _, s := range p.free() {
		text := p.text[:s.end]
		at, budget := s.start, attemptBudget(s)
		for _, m := range callHead.FindAllStringSubmatchIndex(text[s.start:], -1) {
			start := s.start + m[2]
			if budget <= 0 {
				break
			}
			if start < at || !p.tools.known(p.tools.resolve(text[s.start+m[4]:s.start+m[5]])) {
				continue
			}
			c, read, ok := p.embeddedStatement(text, start)
			budget -= read
			if ok {
				p.claims = append(p.claims, c)
				at = c.end
			}
		}
	}
}

// embeddedStatement reads the statement at start; on an error it names the rest of the line. It gives
// the number of bytes that were read to find out.
func (p *reading) embeddedStatement(text string, start int) (c claim, read int, ok bool) {
	end := len(text)
	if newline := strings.IndexByte(text[start:], '\n'); newline >= 0 {
		end = start + newline
	}
	saved := p.labels.save()
	v := newValueReader(text, true)
	v.pos = start
	calls, err := p.statement(v)
	if err != nil {
		p.labels.restore(saved)
		left := task.Unparse{Reason: pythonReason(err), Text: text[start:end]}
		return claim{span: span{start, end}, unparsed: []task.Unparse{left}}, v.pos - start, true
	}
	rest := text[v.pos:]
	if newline := strings.IndexByte(rest, '\n'); newline >= 0 {
		rest = rest[:newline]
	}
	if strings.Trim(rest, " \t\r;,.`*") != "" && !strings.HasPrefix(strings.TrimLeft(rest, " \t`"), "#") {
		p.labels.restore(saved)
		return claim{}, v.pos - start, false // a sentence goes on behind it
	}
	return claim{span: span{start, v.pos}, calls: calls, unparsed: v.notes}, v.pos - start, true
}
