package callcheck

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/seatrial/seatrial/internal/task"
)

// kind is the type of a value in Python's json module: whole numbers and reals are two types.
type kind uint8

const (
	kindNone  kind = iota // no type
	kindNull              // NoneType
	kindBool              // bool
	kindInt               // int, of any size
	kindFloat             // float
	kindText              // str
	kindList              // list; a tuple is a list once it has been through JSON
	kindDict              // dict, in the order of its keys
)

// Value is a JSON value that keeps what the rules need and Go's maps lose: the order of keys, and whether a number was
// written as a whole one. Its zero is no value.
type Value struct {
	kind  kind
	at    int    // byte offset in the text
	end   int    // byte offset after it
	bits  uint64 // of a bool, of an int that fits 64 bits, of a float
	text  string // a text; the digits of an int that does not fit
	items []Value
	keys  []string // of a dict, parallel to items
}

func (v *Value) int() int64     { return int64(v.bits) }
func (v *Value) float() float64 { return math.Float64frombits(v.bits) }
func (v *Value) isBig() bool    { return v.kind == kindInt && v.text != "" }
func (v *Value) isEmpty() bool  { return v.kind == kindText && v.text == "" }
func (v *Value) isNumber() bool { return v.kind == kindInt || v.kind == kindFloat }

// field returns the value under that key of a dict, or nil.
func (v *Value) field(key string) *Value {
	for i := range v.keys {
		if v.keys[i] == key {
			return &v.items[i]
		}
	}
	return nil
}

// asFloat is Python's float(v) of an int; ok is false if Python raises OverflowError.
func (v *Value) asFloat() (Value, bool) {
	f := float64(v.int())
	if v.isBig() {
		var err error
		if f, err = strconv.ParseFloat(v.text, 64); err != nil {
			return Value{}, false
		}
	}
	return Value{kind: kindFloat, at: v.at, bits: math.Float64bits(f)}, true
}

// equal is Python's == : numbers and truth values compare as numbers, exactly; lists by their elements in order,
// dicts by their keys in any order, texts to the letter.
func equal(a, b *Value) bool {
	switch a.kind {
	case kindBool, kindInt, kindFloat:
		return b.kind >= kindBool && b.kind <= kindFloat && sameNumber(a, b)
	case kindText:
		return b.kind == kindText && a.text == b.text
	case kindList:
		if b.kind != kindList || len(a.items) != len(b.items) {
			return false
		}
		for i := range a.items {
			if !equal(&a.items[i], &b.items[i]) {
				return false
			}
		}
		return true
	case kindDict:
		if b.kind != kindDict || len(a.items) != len(b.items) {
			return false
		}
		for i, key := range a.keys {
			other := b.field(key)
			if other == nil || !equal(&a.items[i], other) {
				return false
			}
		}
		return true
	default:
		return a.kind == b.kind
	}
}

func sameNumber(a, b *Value) bool {
	if a.isBig() {
		return b.isBig() && a.text == b.text || b.kind == kindFloat && a.isExactly(b.float())
	}
	if b.isBig() {
		return a.kind == kindFloat && b.isExactly(a.float())
	}
	switch {
	case a.kind == kindFloat && b.kind == kindFloat:
		return a.float() == b.float()
	case a.kind == kindFloat:
		return isWhole(a.float(), b.int())
	case b.kind == kindFloat:
		return isWhole(b.float(), a.int())
	default:
		return a.bits == b.bits
	}
}

// isWhole reports whether f is exactly i. Beyond the bounds the conversion to int64 would be undefined.
func isWhole(f float64, i int64) bool {
	return f >= -(1<<63) && f < 1<<63 && f == math.Trunc(f) && int64(f) == i
}

// isExactly reports whether an int that does not fit 64 bits is f. No real number has more than 309 digits.
func (v *Value) isExactly(f float64) bool {
	if len(v.text) > 310 || math.IsInf(f, 0) {
		return false
	}
	i, _ := new(big.Int).SetString(v.text, 10)
	return new(big.Float).SetInt(i).Cmp(big.NewFloat(f)) == 0
}

// syntaxError is the place where a text stops being JSON.
type syntaxError struct {
	offset  int
	message string
}

func (e *syntaxError) Error() string { return e.message }

// maxDepth bounds the nesting of lists and dicts, so that no text exhausts the stack.
const maxDepth = 500

// reader reads one JSON value. encoding/json keeps neither the order of keys nor the places of values.
type reader struct {
	data []byte
	at   int
	// distinct refuses a duplicate key. Without it the last value wins, in the place of the first, as in Python.
	distinct bool
	depth    int
}

func readValue(data []byte, distinct bool) (Value, error) {
	r := reader{data: data, distinct: distinct}
	r.space()
	var v Value
	if err := r.value(&v); err != nil {
		return Value{}, err
	}
	r.space()
	if r.at < len(r.data) {
		return Value{}, r.fail("there is data after the JSON value")
	}
	return v, nil
}

func (r *reader) fail(format string, args ...any) error {
	return &syntaxError{r.at, fmt.Sprintf(format, args...)}
}

func (r *reader) space() {
	for r.at < len(r.data) {
		switch r.data[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

func (r *reader) peek() byte {
	if r.at < len(r.data) {
		return r.data[r.at]
	}
	return 0
}

func (r *reader) value(v *Value) error {
	v.at = r.at
	err := r.bare(v)
	v.end = r.at
	return err
}

func (r *reader) bare(v *Value) (err error) {
	switch c := r.peek(); {
	case c == '{' || c == '[':
		if r.depth++; r.depth > maxDepth {
			return r.fail("lists and objects stand more than %d deep in each other", maxDepth)
		}
		if c == '{' {
			err = r.dict(v)
		} else {
			err = r.list(v)
		}
		r.depth--
		return err
	case c == '"':
		v.kind = kindText
		v.text, err = r.string()
		return err
	case c == '-' || c >= '0' && c <= '9':
		return r.number(v)
	case r.word("true"):
		v.kind, v.bits = kindBool, 1
	case r.word("false"):
		v.kind = kindBool
	case r.word("null"):
		v.kind = kindNull
	case r.at >= len(r.data):
		return r.fail("the text ends where a value is expected")
	default:
		return r.fail("a value is expected")
	}
	return nil
}

func (r *reader) word(w string) bool {
	if len(r.data)-r.at >= len(w) && string(r.data[r.at:r.at+len(w)]) == w {
		r.at += len(w)
		return true
	}
	return false
}

func (r *reader) list(v *Value) error {
	v.kind = kindList
	r.at++
	for r.space(); r.peek() != ']'; r.space() {
		if len(v.items) > 0 {
			if r.peek() != ',' {
				return r.fail("a comma or ] is expected")
			}
			r.at++
			r.space()
		}
		v.items = append(v.items, Value{})
		if err := r.value(&v.items[len(v.items)-1]); err != nil {
			return err
		}
	}
	r.at++
	return nil
}

func (r *reader) dict(v *Value) error {
	v.kind = kindDict
	var known places
	r.at++
	for r.space(); r.peek() != '}'; r.space() {
		if len(v.items) > 0 {
			if r.peek() != ',' {
				return r.fail("a comma or } is expected")
			}
			r.at++
			r.space()
		}
		start := r.at
		key, err := r.key()
		if err != nil {
			return err
		}
		at := known.of(v, key)
		switch {
		case at < 0:
			at = len(v.items)
			v.keys, v.items = append(v.keys, key), append(v.items, Value{})
		case r.distinct:
			r.at = start
			return r.fail("the key %q stands twice", key)
		default:
			v.items[at] = Value{}
		}
		if err := r.value(&v.items[at]); err != nil {
			return err
		}
	}
	r.at++
	return nil
}

// places finds the keys of a dict that is being read. Those of a large one are looked up in a map, or reading would
// take the square of their number.
type places map[string]int

func (p *places) of(v *Value, key string) int {
	const few = 32
	if len(v.keys) < few {
		return slices.Index(v.keys, key)
	}
	for i := len(*p); i < len(v.keys); i++ {
		if *p == nil {
			*p = places{}
		}
		(*p)[v.keys[i]] = i
	}
	if i, ok := (*p)[key]; ok {
		return i
	}
	return -1
}

// key reads a key and its colon.
func (r *reader) key() (string, error) {
	if r.peek() != '"' {
		return "", r.fail("a key is expected")
	}
	key, err := r.string()
	if err != nil {
		return "", err
	}
	if r.space(); r.peek() != ':' {
		return "", r.fail("a colon is expected")
	}
	r.at++
	r.space()
	return key, nil
}

func (r *reader) number(v *Value) error {
	start := r.at
	if r.peek() == '-' {
		r.at++
	}
	switch c := r.peek(); {
	case c == '0':
		r.at++
	case c >= '1' && c <= '9':
		r.digits()
	default:
		return r.fail("a digit is expected")
	}
	whole := true
	if r.peek() == '.' {
		whole = false
		if r.at++; !r.digits() {
			return r.fail("a digit is expected")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		whole = false
		r.at++
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if !r.digits() {
			return r.fail("a digit is expected")
		}
	}
	text := string(r.data[start:r.at])
	if !whole {
		f, _ := strconv.ParseFloat(text, 64) // out of range returns an infinity, as in Python
		v.kind, v.bits = kindFloat, math.Float64bits(f)
		return nil
	}
	v.kind = kindInt
	i, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		v.text = text
		return nil
	}
	v.bits = uint64(i)
	return nil
}

func (r *reader) digits() bool {
	start := r.at
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.at++
	}
	return r.at > start
}

func (r *reader) string() (string, error) {
	r.at++
	start := r.at
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return string(r.data[start : r.at-1]), nil
		case c == '\\' || c >= utf8.RuneSelf:
			return r.longString(start)
		case c < 0x20:
			return "", r.fail("a control character stands in a text")
		}
	}
	return "", r.fail("a text does not end")
}

// longString reads on from the first escape or letter outside ASCII. Invalid UTF-8, and half of a surrogate pair,
// becomes U+FFFD.
func (r *reader) longString(start int) (string, error) {
	b := append([]byte(nil), r.data[start:r.at]...)
	for r.at < len(r.data) {
		switch c := r.data[r.at]; {
		case c == '"':
			r.at++
			return string(b), nil
		case c == '\\':
			var err error
			if b, err = r.escape(b); err != nil {
				return "", err
			}
		case c < 0x20:
			return "", r.fail("a control character stands in a text")
		default:
			letter, size := utf8.DecodeRune(r.data[r.at:])
			b = utf8.AppendRune(b, letter)
			r.at += size
		}
	}
	return "", r.fail("a text does not end")
}

const escapes, escaped = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

func (r *reader) escape(b []byte) ([]byte, error) {
	r.at++
	if i := strings.IndexByte(escapes, r.peek()); i >= 0 && r.at < len(r.data) {
		r.at++
		return append(b, escaped[i]), nil
	}
	first, ok := r.hex()
	if !ok {
		return nil, r.fail("an escape is not one of JSON's")
	}
	if utf16.IsSurrogate(first) {
		back := r.at
		if r.peek() == '\\' {
			r.at++
			if second, ok := r.hex(); ok {
				if pair := utf16.DecodeRune(first, second); pair != utf8.RuneError {
					return utf8.AppendRune(b, pair), nil
				}
			}
		}
		r.at = back
	}
	return utf8.AppendRune(b, first), nil
}

// hex reads uXXXX.
func (r *reader) hex() (rune, bool) {
	if r.peek() != 'u' || len(r.data)-r.at < 5 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(r.data[r.at+1:r.at+5]), 16, 32)
	if err != nil {
		return 0, false
	}
	r.at += 5
	return rune(n), true
}

// MarshalJSON keeps the order of the keys of dicts, and the difference between whole numbers and reals.
func (v Value) MarshalJSON() ([]byte, error) { return v.append(nil), nil }

func (v *Value) append(b []byte) []byte {
	switch v.kind {
	case kindBool:
		return strconv.AppendBool(b, v.bits == 1)
	case kindInt:
		if v.isBig() {
			return append(b, v.text...)
		}
		return strconv.AppendInt(b, v.int(), 10)
	case kindFloat:
		return task.AppendValue(b, v.float())
	case kindText:
		return task.AppendValue(b, v.text)
	case kindList:
		b = append(b, '[')
		for i := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = v.items[i].append(b)
		}
		return append(b, ']')
	case kindDict:
		b = append(b, '{')
		for i := range v.items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(task.AppendValue(b, v.keys[i]), ':')
			b = v.items[i].append(b)
		}
		return append(b, '}')
	default:
		return append(b, "null"...)
	}
}

// Call is a tool call as an agent wrote it.
type Call struct {
	Name      string
	Arguments []Argument // each name once, in the order in which they were written
}

// Argument is a named value of a call.
type Argument struct {
	Name  string
	Value Value
}

// ReadCall reads a call whose arguments are a JSON object. An error explains the agent's mistake: the leaderboard calls
// it [DecoderFailed] for invalid JSON and [DecoderWrongFormat] for anything but an object.
func ReadCall(name string, arguments []byte) (Call, error) {
	v, err := readValue(arguments, false)
	if err != nil {
		return Call{}, fmt.Errorf("the arguments of %s are no JSON: %w", name, err)
	}
	if v.kind != kindDict {
		return Call{}, fmt.Errorf("the arguments of %s: %w", name, errNoObject)
	}
	c := Call{Name: name, Arguments: make([]Argument, len(v.items))}
	for i := range v.items {
		c.Arguments[i] = Argument{v.keys[i], v.items[i]}
	}
	return c, nil
}

var errNoObject = errors.New("a JSON object is expected")

// ErrorTypeOf names the agent's mistake that an error of [ReadCall] is, as the leaderboard does.
func ErrorTypeOf(err error) ErrorType {
	if errors.Is(err, errNoObject) {
		return DecoderWrongFormat
	}
	return DecoderFailed
}

// answerType is the type that the official checker takes possible answers to have: that of the first that is not "".
func answerType(answers []Value) kind {
	i := slices.IndexFunc(answers, func(v Value) bool { return !v.isEmpty() })
	if i < 0 {
		return kindNone
	}
	return answers[i].kind
}
