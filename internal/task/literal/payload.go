package literal

import (
	"encoding/json"
	"strconv"
	"strings"
)

// maxNesting bounds how deep payloads are read: no tool answers deeper.
const maxNesting = 64

// Read reads one JSON value and keeps the order of members. It returns false for anything else, though it may accept
// near misses: it reads payloads and does not check them.
func Read(content []byte) (any, bool) {
	r := payloadReader{text: string(content)}
	v, ok := r.value(0)
	r.space()
	return v, ok && r.at == len(r.text)
}

type payloadReader struct {
	text  string
	at    int
	width int // of the last object: that of the next one, most likely
}

func (r *payloadReader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

// take skips a character if it comes next.
func (r *payloadReader) take(c byte) bool {
	r.space()
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

func (r *payloadReader) value(depth int) (any, bool) {
	r.space()
	if r.at == len(r.text) || depth > maxNesting {
		return nil, false
	}
	switch r.text[r.at] {
	case '{':
		return r.object(depth)
	case '[':
		return r.list(depth)
	case '"':
		return r.string()
	case 't':
		return true, r.word("true")
	case 'f':
		return false, r.word("false")
	case 'n':
		return nil, r.word("null")
	default:
		return r.number()
	}
}

func (r *payloadReader) word(word string) bool {
	found := strings.HasPrefix(r.text[r.at:], word)
	if found {
		r.at += len(word)
	}
	return found
}

func (r *payloadReader) object(depth int) (any, bool) {
	r.at++
	o := make(Object, 0, r.width)
	if r.take('}') {
		return o, true
	}
	for {
		r.space()
		if r.at == len(r.text) || r.text[r.at] != '"' {
			return nil, false
		}
		name, ok := r.string()
		if !ok || !r.take(':') {
			return nil, false
		}
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		o = append(o, Member{name.(string), v})
		if r.take('}') {
			r.width = len(o)
			return o, true
		}
		if !r.take(',') {
			return nil, false
		}
	}
}

func (r *payloadReader) list(depth int) (any, bool) {
	r.at++
	list := []any{}
	if r.take(']') {
		return list, true
	}
	for {
		v, ok := r.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if r.take(']') {
			return list, true
		}
		if !r.take(',') {
			return nil, false
		}
	}
}

func (r *payloadReader) string() (any, bool) {
	start := r.at
	escaped := false
	for i := start + 1; i < len(r.text); i++ {
		switch r.text[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			r.at = i + 1
			if !escaped {
				return r.text[start+1 : i], true
			}
			var text string
			err := json.Unmarshal([]byte(r.text[start:r.at]), &text)
			return text, err == nil
		}
	}
	return nil, false
}

func (r *payloadReader) number() (any, bool) {
	start := r.at
	for r.at < len(r.text) && strings.IndexByte("+-.0123456789eE", r.text[r.at]) >= 0 {
		r.at++
	}
	return ReadNumber(r.text[start:r.at])
}

// ReadNumber reads a number as JSON writes it: a whole number that fits as int64, any other as float64.
func ReadNumber(text string) (any, bool) {
	if text == "" || text[0] == '+' {
		return nil, false
	}
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && IsDigit(digits[1]) {
		return nil, false
	}
	for i := range len(digits) {
		if strings.IndexByte("+-.0123456789eE", digits[i]) < 0 {
			return nil, false
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil && x == 0 {
		return nil, false
	}
	return x, true // what is out of range is infinite, as SQLite reads it
}
