package recovery

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task/literal"
)

var envelopeTactic = &tactic{
	TacticInfo: TacticInfo{"envelope", "the rows are in an envelope, or column by column: reads them there"},
	shape: func(v any, f *finding) bool {
		whole, ok := v.(literal.Object)
		if !ok {
			return false
		}
		for i := range whole {
			inner, isObject := whole[i].Value.(literal.Object)
			if !isObject {
				continue
			}
			if f.names, f.rows, ok = recordsWithin(inner, 0); ok && (len(f.rows) > 0 || f.names == nil) {
				return true
			}
			if f.names, f.rows, ok = columnLists(inner); ok && f.promises(f.names, whole[i].Name) {
				return true
			}
		}
		if f.names, f.rows, ok = columnLists(whole); ok && f.promises(f.names, "") {
			return true
		}
		f.names, f.rows = nil, nil
		return false
	},
}

// recordsWithin finds a list of records in an object or in the objects in it.
func recordsWithin(o literal.Object, depth int) (names []string, rows [][]any, ok bool) {
	if names, rows, ok = recordsIn(o); ok || depth > 3 {
		return names, rows, ok
	}
	for i := range o {
		if inner, isObject := o[i].Value.(literal.Object); isObject {
			if names, rows, ok = recordsWithin(inner, depth+1); ok {
				return names, rows, true
			}
		}
	}
	return nil, nil, false
}

// promises reports whether lists under these names are the columns of a result: as many as are documented, or in a
// field that says so.
func (f *finding) promises(names []string, in string) bool {
	return contains(in, "column") || len(f.doc.fields) > 0 && len(f.doc.fields) == len(names)
}

var fieldNameTactic = &tactic{
	TacticInfo: TacticInfo{"field-name",
		"fields have other names than documented: reads each under the name that it has now"},
	undo: func(f *finding) bool {
		if len(f.doc.fields) != len(f.names) {
			return false
		}
		changed := false
		names := make([]string, len(f.names))
		for i := range names {
			names[i] = f.doc.fields[i].name
			changed = changed || names[i] != f.names[i]
		}
		f.names = names
		return changed
	},
}

var sentenceTactic = &tactic{
	TacticInfo: TacticInfo{"sentence", "the values of a field are inside sentences: takes them out"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			texts, plain := f.texts(column)
			if len(texts) == 0 || plain {
				return false
			}
			lead, _, ok := valueInSentence(texts[0])
			if !ok || !f.speaksOf(column, lead) {
				return false
			}
			for _, text := range texts {
				if other, _, ok := valueInSentence(text); !ok || other != lead {
					return false
				}
			}
			return f.mapColumn(column, func(v any) any {
				if text, ok := v.(string); ok {
					_, v, _ = valueInSentence(text)
				}
				return v
			})
		})
	},
}

// eachColumn calls undo for each column of a table, and reports whether one of them changed.
func (f *finding) eachColumn(undo func(column int) bool) bool {
	changed := false
	for column := range f.names {
		changed = undo(column) || changed
	}
	return changed
}

// valueInSentence splits a sentence that ends with a value in JSON into the words before it and the value.
func valueInSentence(text string) (lead string, value any, ok bool) {
	body, ok := strings.CutSuffix(text, ".")
	if !ok {
		return "", nil, false
	}
	for from := 0; ; {
		at := strings.Index(body[from:], " ")
		if at < 0 {
			return "", nil, false
		}
		from += at + 1
		word := lastWord(body[:from-1])
		if !slices.Contains([]string{"is", "was", "equals", "be", "as"}, word) && !strings.HasSuffix(word, ":") {
			continue
		}
		rest := body[from:]
		if strings.Count(body[:from], " ") < minLead {
			continue
		}
		if rest == "" || rest[0] != '"' && rest[0] != '-' && !literal.IsDigit(rest[0]) {
			continue
		}
		if v, ok := literal.Read([]byte(rest)); ok {
			return body[:from], v, true
		}
	}
}

// minLead is the number of words from which the text before a value is a sentence rather than a label.
const minLead = 4

func lastWord(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }

// speaksOf reports whether the words before a value name the field rather than a part of it.
func (f *finding) speaksOf(column int, lead string) bool {
	names := []string{f.names[column], f.given[column]}
	if len(f.doc.fields) == len(f.names) {
		names = append(names, f.doc.fields[column].name)
	}
	return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.Contains(lead, name) }) ||
		contains(lead, "value", "answer", "result")
}
