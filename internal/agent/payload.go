package agent

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// object is a JSON object with its members in the order in which they stand: the order of a record's fields is the
// order of the columns.
type object []member

type member struct {
	name  string
	value any // nil, bool, int64, float64, string, []any or object
}

// get gives the member of that name.
func (o object) get(name string) (any, bool) {
	for i := range o {
		if o[i].name == name {
			return o[i].value, true
		}
	}
	return nil, false
}

// maxNesting bounds how deep payloads are read: no tool answers deeper.
const maxNesting = 64

// readPayload reads one JSON value, objects with their members in order. It is false for what is none, and may take for
// JSON what is nearly so: payloads come from tools, and a reader of them is not their judge.
func readPayload(content []byte) (any, bool) {
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

// take passes over a character, if it stands next.
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
	o := make(object, 0, r.width)
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
		o = append(o, member{name.(string), v})
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
	return readNumber(r.text[start:r.at])
}

// readNumber reads a number as JSON writes it: a whole number that fits as int64, any other as float64.
func readNumber(text string) (any, bool) {
	if text == "" || text[0] == '+' {
		return nil, false
	}
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || len(digits) > 1 && digits[0] == '0' && isDigit(digits[1]) {
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

// scalar gives a decoded value as a SQLite value; it is false for lists and for objects that are no binary data.
func scalar(v any) (task.Value, bool) {
	switch v := v.(type) {
	case nil, int64, float64, string:
		return v, true
	case object:
		if len(v) == 1 && v[0].name == "$blob" {
			blob, err := task.SQLiteValue(map[string]any{"$blob": v[0].value})
			return blob, err == nil
		}
	case bool:
		if v {
			return int64(1), true
		}
		return int64(0), true
	}
	return nil, false
}

// plainJSON gives a decoded value with objects as maps: what [appendArgument] can write.
func plainJSON(v any) any {
	switch v := v.(type) {
	case object:
		m := make(map[string]any, len(v))
		for i := range v {
			m[v[i].name] = plainJSON(v[i].value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plainJSON(v[i])
		}
		return list
	default:
		return v
	}
}

// recordList reads a list of records that have the same fields in the same order.
func recordList(list []any) (names []string, rows [][]any, ok bool) {
	if len(list) == 0 {
		return nil, nil, true
	}
	first, ok := list[0].(object)
	if !ok {
		return nil, nil, false
	}
	names = make([]string, len(first))
	for i := range first {
		names[i] = first[i].name
	}
	rows = make([][]any, len(list))
	cells := make([]any, len(list)*len(names))
	for i, element := range list {
		record, ok := element.(object)
		if !ok || len(record) != len(names) {
			return nil, nil, false
		}
		row := cells[i*len(names) : (i+1)*len(names) : (i+1)*len(names)]
		for j := range record {
			if record[j].name != names[j] {
				return nil, nil, false
			}
			if row[j], ok = scalar(record[j].value); !ok {
				return nil, nil, false
			}
		}
		rows[i] = row
	}
	return names, rows, true
}

// columnLists reads an object of lists of one length: a table column by column.
func columnLists(o object) (names []string, rows [][]any, ok bool) {
	if len(o) == 0 {
		return nil, nil, false
	}
	for i := range o {
		list, isList := o[i].value.([]any)
		if !isList {
			return nil, nil, false
		}
		if i == 0 {
			rows = make([][]any, len(list))
			for j := range rows {
				rows[j] = make([]any, len(o))
			}
		}
		if len(list) != len(rows) {
			return nil, nil, false
		}
		names = append(names, o[i].name)
		for j := range list {
			if rows[j][i], ok = scalar(list[j]); !ok {
				return nil, nil, false
			}
		}
	}
	return names, rows, true
}
