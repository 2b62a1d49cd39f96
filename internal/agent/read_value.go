package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/seatrial/seatrial/internal/task"
)

// Kinds of nodes.
type nodeKind int

const (
	nodeNull   nodeKind = iota
	nodeBool            // text is true or false
	nodeNumber          // text is a JSON number
	nodeText            // text is the decoded text
	nodeList            // items
	nodeObject          // fields
	nodeName            // text is a variable, items the texts of the attributes behind it: code only
	nodeCall            // text is a function's name, fields its arguments (positional ones without a name): code only
)

// node is a value as it was written. Numbers keep their digits, fields their order.
type node struct {
	span
	kind   nodeKind
	text   string
	items  []node
	fields []nodeField
}

type nodeField struct {
	span
	name  string
	named bool // false for a positional argument
	value node
}

// Why a value could not be read.
var (
	errSyntax     = errors.New("not a value")
	errTruncated  = errors.New("the text ends inside a value")
	errExpression = errors.New("more than a literal, a label or a call")
)

// reasonOf names an error of a [valueReader].
func reasonOf(err error, otherwise string) string {
	switch {
	case errors.Is(err, errTruncated):
		return ReasonTruncated
	case errors.Is(err, errExpression):
		return ReasonExpression
	default:
		return otherwise
	}
}

// maxDepth bounds the nesting of what is read as a value.
const maxDepth = 64

// valueReader reads JSON as models write it: also Python's dictionaries, with either quotes, typographic quotes, bare
// keys, trailing commas, doubled braces and comments, and with closing brackets that are missing at the end. What is
// not complete when the text ends (a string without its quote, a number that may lack digits) is an error: its value
// would be a guess. With code set, names and calls are values too.
type valueReader struct {
	text  string
	pos   int
	code  bool
	open  []byte // brackets that wait for their closing
	notes []task.Unparse
}

func newValueReader(text string, code bool) *valueReader { return &valueReader{text: text, code: code} }

func (v *valueReader) peek() byte {
	if v.pos < len(v.text) {
		return v.text[v.pos]
	}
	return 0
}

func (v *valueReader) atEnd() error {
	if v.pos < len(v.text) {
		return errSyntax
	}
	return nil
}

// space passes over space and, inside brackets, over comments, which are kept as notes.
func (v *valueReader) space() {
	for v.pos < len(v.text) {
		rest := v.text[v.pos:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			v.pos++
		case strings.HasPrefix(rest, "\u00a0"):
			v.pos += len("\u00a0")
		case len(v.open) > 0 && (rest[0] == '#' || strings.HasPrefix(rest, "//")):
			v.comment(strings.IndexByte(rest, '\n'), 0)
		case len(v.open) > 0 && strings.HasPrefix(rest, "/*"):
			v.comment(strings.Index(rest, "*/"), 2)
		default:
			return
		}
	}
}

func (v *valueReader) comment(end, closing int) {
	rest := v.text[v.pos:]
	if end < 0 {
		end, closing = len(rest), 0
	}
	v.notes = append(v.notes, task.Unparse{Reason: ReasonComment, Text: strings.TrimSpace(rest[:end+closing])})
	v.pos += end + closing
}

// value reads one value, with the space before it.
func (v *valueReader) value() (node, error) {
	v.space()
	start := v.pos
	n, err := v.bare()
	n.span = span{start, v.pos}
	return n, err
}

func (v *valueReader) bare() (node, error) {
	if v.pos >= len(v.text) {
		return node{}, errTruncated
	}
	if len(v.open) >= maxDepth {
		return node{}, errSyntax
	}
	c := v.peek()
	switch {
	case c == '{':
		return v.object()
	case c == '[':
		return v.list('[', ']')
	case c == '(' && (v.code || len(v.open) > 0):
		return v.list('(', ')')
	case c == '$':
		return v.bareReference()
	case c == '-' || c == '+' || c == '.' || isDigit(c):
		return v.number()
	case isLetter(c):
		return v.word()
	}
	if quoteOf(v.text[v.pos:]) != nil {
		return v.strings()
	}
	return node{}, errSyntax
}

// closes passes over a closing bracket, and says whether the bracketed value ends here: at its own bracket, at the
// bracket of one that surrounds it (its own is missing), or at the end of the text.
func (v *valueReader) closes(closing byte) bool {
	if v.pos >= len(v.text) {
		return true
	}
	c := v.peek()
	if c == closing {
		v.pos++
		return true
	}
	for _, outer := range v.open[:len(v.open)-1] {
		if c == outer {
			return true
		}
	}
	return false
}

func (v *valueReader) push(closing byte) { v.open = append(v.open, closing) }
func (v *valueReader) pop()              { v.open = v.open[:len(v.open)-1] }

// complete says whether the value that was just read can stand at the very end of the text: a number or a word there
// may lack its rest.
func (v *valueReader) complete(n *node) error {
	if v.pos >= len(v.text) && (n.kind == nodeNumber || n.kind == nodeName) && n.end == len(v.text) {
		return errTruncated
	}
	return nil
}

func (v *valueReader) object() (node, error) {
	v.pos++
	v.push('}')
	defer v.pop()
	n := node{kind: nodeObject}
	v.space()
	if v.peek() == '{' {
		// Prompts with templates teach models to double their braces.
		inner, err := v.object()
		if err != nil {
			return node{}, err
		}
		v.space()
		if !v.closes('}') {
			return node{}, errSyntax
		}
		return inner, nil
	}
	seen := map[string]int{}
	for more := true; more; {
		if ended, err := v.ends('}'); ended || err != nil {
			return n, err
		}
		f, err := v.field()
		if err != nil {
			return node{}, err
		}
		if earlier, twice := seen[f.name]; twice {
			old := n.fields[earlier]
			v.notes = append(v.notes, task.Unparse{Reason: ReasonDuplicateField, Text: v.text[old.start:old.end]})
			n.fields[earlier] = f
		} else {
			seen[f.name] = len(n.fields)
			n.fields = append(n.fields, f)
		}
		if more, err = v.goesOn('}'); err != nil {
			return node{}, err
		}
	}
	return n, nil
}

// ends says, before an element, whether the bracketed value ends here. Where the text ends instead, right behind the
// opening bracket or a comma, more was to come.
func (v *valueReader) ends(closing byte) (bool, error) {
	v.space()
	if v.pos >= len(v.text) {
		return false, errTruncated
	}
	return v.closes(closing), nil
}

// goesOn says, behind an element, whether another one can follow: there is a comma. Otherwise the value has to end.
func (v *valueReader) goesOn(closing byte) (bool, error) {
	v.space()
	if v.peek() == ',' {
		v.pos++
		return true, nil
	}
	if !v.closes(closing) {
		return false, errSyntax
	}
	return false, nil
}

func (v *valueReader) field() (nodeField, error) {
	f := nodeField{span: span{start: v.pos}, named: true}
	switch {
	case quoteOf(v.text[v.pos:]) != nil:
		key, err := v.strings()
		if err != nil {
			return f, err
		}
		f.name = key.text
	case isLetter(v.peek()) || isDigit(v.peek()):
		for v.pos < len(v.text) && (isLetter(v.peek()) || isDigit(v.peek()) || v.peek() == '-') {
			v.pos++
		}
		f.name = v.text[f.start:v.pos]
	default:
		return f, errSyntax
	}
	v.space()
	if v.pos >= len(v.text) {
		return f, errTruncated
	}
	if v.peek() != ':' {
		return f, errSyntax
	}
	v.pos++
	value, err := v.value()
	if err != nil {
		return f, err
	}
	f.value, f.end = value, v.pos
	return f, v.complete(&value)
}

func (v *valueReader) list(opening, closing byte) (node, error) {
	v.pos++
	v.push(closing)
	defer v.pop()
	n := node{kind: nodeList}
	commas := 0
	for more := true; more; {
		if ended, err := v.ends(closing); err != nil {
			return node{}, err
		} else if ended {
			break
		}
		item, err := v.value()
		if err == nil {
			err = v.complete(&item)
		}
		if err != nil {
			return node{}, err
		}
		n.items = append(n.items, item)
		if more, err = v.goesOn(closing); err != nil {
			return node{}, err
		}
		if more {
			commas++
		}
	}
	if opening == '(' && len(n.items) == 1 && commas == 0 {
		return n.items[0], nil // parentheses around one value are no tuple
	}
	return n, nil
}

// bareReference reads `$label$` and `$label.column$` without quotes.
func (v *valueReader) bareReference() (node, error) {
	rest := v.text[v.pos:]
	end := strings.IndexAny(rest[1:], "$\n")
	if end < 0 || rest[1+end] != '$' {
		return node{}, errSyntax
	}
	text := rest[:end+2]
	if _, ok := task.ParseReference(text); !ok {
		return node{}, errSyntax
	}
	v.pos += len(text)
	return node{kind: nodeText, text: text}, nil
}

var numberForm = regexp.MustCompile(
	`^[+-]?(?:0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+|(?:[0-9]+(?:_[0-9]+)*)?(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)`)

// number reads a number of JSON or Python and writes it as JSON, digit by digit where both agree.
func (v *valueReader) number() (node, error) {
	written := numberForm.FindString(v.text[v.pos:])
	digits := strings.TrimLeft(written, "+-")
	end := v.pos + len(written)
	if !strings.ContainsAny(digits, "0123456789") {
		return node{}, errSyntax
	}
	if end < len(v.text) && (isLetter(v.text[end]) || isDigit(v.text[end]) || v.text[end] == '.') {
		return node{}, errSyntax
	}
	sign := ""
	if written[0] == '-' {
		sign = "-"
	}
	if len(digits) > 1 && digits[0] == '0' && strings.IndexByte("xXoObB", digits[1]) >= 0 {
		i, err := strconv.ParseUint(digits, 0, 64)
		if err != nil {
			return node{}, errSyntax
		}
		digits = strconv.FormatUint(i, 10)
	}
	digits = strings.ReplaceAll(digits, "_", "")
	if digits[0] == '.' {
		if len(digits) < 2 || !isDigit(digits[1]) {
			return node{}, errSyntax
		}
		digits = "0" + digits
	}
	if dot := strings.IndexByte(digits, '.'); dot >= 0 && (dot+1 == len(digits) || !isDigit(digits[dot+1])) {
		digits = digits[:dot+1] + "0" + digits[dot+1:]
	}
	if !json.Valid([]byte(sign + digits)) {
		return node{}, errSyntax
	}
	v.pos = end
	return node{kind: nodeNumber, text: sign + digits}, nil
}

var constants = map[string]node{
	"true": {kind: nodeBool, text: "true"}, "True": {kind: nodeBool, text: "true"},
	"false": {kind: nodeBool, text: "false"}, "False": {kind: nodeBool, text: "false"},
	"null": {}, "None": {}, "undefined": {},
}

// word reads a constant, a string with a prefix, or, in code, a name or a call.
func (v *valueReader) word() (node, error) {
	start := v.pos
	name := v.identifier()
	if quoteOf(v.text[v.pos:]) != nil && len(name) <= 2 && strings.Trim(strings.ToLower(name), "rub") == "" {
		return v.oneString(strings.ContainsAny(name, "rR"))
	}
	if c, ok := constants[name]; ok {
		return c, nil
	}
	if !v.code {
		v.pos = start
		return node{}, errSyntax
	}
	n := node{kind: nodeName, text: name}
	for {
		switch {
		case v.peek() == '.' && v.pos+1 < len(v.text) && isLetter(v.text[v.pos+1]):
			v.pos++
			n.items = append(n.items, node{kind: nodeText, text: v.identifier()})
		case v.peek() == '[':
			index, err := v.list('[', ']')
			if err != nil {
				return node{}, err
			}
			if len(index.items) != 1 || index.items[0].kind != nodeText {
				return node{}, errExpression
			}
			n.items = append(n.items, index.items[0])
		case v.peek() == '(':
			return v.call(v.text[start:v.pos])
		default:
			return n, nil
		}
	}
}

func (v *valueReader) identifier() string {
	start := v.pos
	for v.pos < len(v.text) && (isLetter(v.peek()) || isDigit(v.peek())) {
		v.pos++
	}
	return v.text[start:v.pos]
}

// call reads the arguments of a call in code.
func (v *valueReader) call(name string) (node, error) {
	v.pos++
	v.push(')')
	defer v.pop()
	n := node{kind: nodeCall, text: name}
	for more := true; more; {
		if ended, err := v.ends(')'); err != nil {
			return node{}, err
		} else if ended {
			break
		}
		fields, err := v.argument()
		if err != nil {
			return node{}, err
		}
		n.fields = append(n.fields, fields...)
		if more, err = v.goesOn(')'); err != nil {
			return node{}, err
		}
	}
	next := v.peek()
	if next == '[' || next == '(' || next == '.' && v.pos+1 < len(v.text) && isLetter(v.text[v.pos+1]) {
		return node{}, errExpression // a call's result is used on the spot
	}
	return n, nil
}

var keyword = regexp.MustCompile(`^([\pL_][\pL\pN_]*)\s*=`)

func (v *valueReader) argument() ([]nodeField, error) {
	start := v.pos
	if strings.HasPrefix(v.text[v.pos:], "**") {
		v.pos += 2
		all, err := v.value()
		if err != nil {
			return nil, err
		}
		if all.kind != nodeObject {
			return nil, errExpression
		}
		return all.fields, nil
	}
	f := nodeField{}
	if m := keyword.FindStringSubmatch(v.text[v.pos:]); m != nil && !strings.HasPrefix(v.text[v.pos+len(m[0]):], "=") {
		f.name, f.named = m[1], true
		v.pos += len(m[0])
	}
	value, err := v.value()
	if err != nil {
		return nil, err
	}
	f.value, f.span = value, span{start, v.pos}
	return []nodeField{f}, v.complete(&value)
}

// quotes that open a text, with those that close it. Longer openings stand first.
var quotes = []struct {
	open  string
	close []string
}{
	{`"""`, []string{`"""`}},
	{`'''`, []string{`'''`}},
	{`"`, []string{`"`}},
	{`'`, []string{`'`}},
	{"“", []string{"”", "“"}},
	{"”", []string{"”", "“"}},
	{"„", []string{"“", "”"}},
	{"‘", []string{"’", "‘"}},
	{"’", []string{"’", "‘"}},
}

// quoteOf gives the closing quotes of the quote with which rest begins, or nil.
func quoteOf(rest string) []string {
	if rest == "" || rest[0] != '"' && rest[0] != '\'' && rest[0] != 0xe2 {
		return nil
	}
	for i := range quotes {
		if strings.HasPrefix(rest, quotes[i].open) {
			return quotes[i].close
		}
	}
	return nil
}

// strings reads a text and, in code, the texts that follow it directly: Python joins them.
func (v *valueReader) strings() (node, error) {
	n, err := v.oneString(false)
	for err == nil && v.code {
		at := v.pos
		v.spaceInLine()
		if quoteOf(v.text[v.pos:]) == nil {
			v.pos = at
			break
		}
		var more node
		more, err = v.oneString(false)
		n.text += more.text
	}
	return n, err
}

func (v *valueReader) spaceInLine() {
	for v.peek() == ' ' || v.peek() == '\t' {
		v.pos++
	}
}

// oneString reads one text; in a raw one, escapes stand for themselves.
func (v *valueReader) oneString(raw bool) (node, error) {
	var open string
	var closing []string
	for i := range quotes {
		if strings.HasPrefix(v.text[v.pos:], quotes[i].open) {
			open, closing = quotes[i].open, quotes[i].close
			break
		}
	}
	at := v.pos + len(open)
	// `""` is an empty text, not the beginning of a triple quote that never ends.
	if len(open) == 3 && open[0] != 0xe2 && !strings.Contains(v.text[at:], open) {
		closing, at = []string{open[:1]}, v.pos+1
	}
	var b strings.Builder
	for at < len(v.text) {
		rest := v.text[at:]
		for _, c := range closing {
			if strings.HasPrefix(rest, c) {
				v.pos = at + len(c)
				return node{kind: nodeText, text: b.String()}, nil
			}
		}
		if rest[0] == '\\' && len(rest) > 1 {
			if raw {
				b.WriteString(rest[:2])
				at += 2
				continue
			}
			n, err := unescape(&b, rest)
			if err != nil {
				return node{}, err
			}
			at += n
			continue
		}
		_, size := utf8.DecodeRuneInString(rest)
		b.WriteString(rest[:size])
		at += size
	}
	v.pos = len(v.text) // what was searched counts as read
	return node{}, errTruncated
}

// unescape writes what an escape of JSON or Python stands for and gives its length. An escape that neither has stays
// as it is, as in Python.
func unescape(b *strings.Builder, rest string) (int, error) {
	simple := map[byte]string{
		'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'a': "\a", 'v': "\v", '0': "\x00",
		'"': `"`, '\'': "'", '\\': `\`, '/': "/", '\n': "",
	}
	c := rest[1]
	if text, ok := simple[c]; ok {
		b.WriteString(text)
		return 2, nil
	}
	width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if width == 0 || len(rest) < 2+width {
		_, size := utf8.DecodeRuneInString(rest[1:])
		b.WriteString(rest[:1+size])
		return 1 + size, nil
	}
	code, err := strconv.ParseUint(rest[2:2+width], 16, 32)
	if err != nil {
		b.WriteString(rest[:2])
		return 2, nil
	}
	if c == 'u' && code >= 0xd800 && code < 0xdc00 && len(rest) >= 12 && rest[6] == '\\' && rest[7] == 'u' {
		if low, err := strconv.ParseUint(rest[8:12], 16, 32); err == nil && low >= 0xdc00 && low < 0xe000 {
			b.WriteRune(rune((code-0xd800)<<10 + (low - 0xdc00) + 0x10000))
			return 12, nil
		}
	}
	if code > utf8.MaxRune {
		return 0, errSyntax
	}
	b.WriteRune(rune(code))
	return 2 + width, nil
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isLetter takes every byte of a character beyond ASCII for a letter, but for those of typographic quotes and dashes.
func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 && c != 0xe2 && c != 0xc2
}

// appendJSON appends the JSON of a value that holds neither names nor calls.
func (n *node) appendJSON(dst []byte) ([]byte, error) {
	var err error
	switch n.kind {
	case nodeNull:
		return append(dst, "null"...), nil
	case nodeBool, nodeNumber:
		return append(dst, n.text...), nil
	case nodeText:
		return append(dst, quote(n.text)...), nil
	case nodeList:
		dst = append(dst, '[')
		for i := range n.items {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = n.items[i].appendJSON(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case nodeObject:
		dst = append(dst, '{')
		for i := range n.fields {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(dst, quote(n.fields[i].name)...), ':')
			if dst, err = n.fields[i].value.appendJSON(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	default:
		return nil, errExpression
	}
}

// isJSON says whether text is one JSON value, and gives it without space around and inside it.
func isJSON(text string) (json.RawMessage, bool) {
	var b bytes.Buffer
	if json.Compact(&b, []byte(strings.TrimSpace(text))) != nil {
		return nil, false
	}
	return b.Bytes(), b.Len() > 0
}
