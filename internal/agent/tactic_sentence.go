package agent

import (
	"slices"
	"strings"
)

var sentenceTactic = &tactic{
	TacticInfo: TacticInfo{"sentence", "the values of a field stand inside a sentence: takes them out"},
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

// eachColumn calls undo for each column of a table, and says whether one of them was changed.
func (f *finding) eachColumn(undo func(column int) bool) bool {
	changed := false
	for column := range f.names {
		changed = undo(column) || changed
	}
	return changed
}

// valueInSentence reads a sentence that ends with a value as JSON writes it: what leads up to it, and the value.
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
		if rest == "" || rest[0] != '"' && rest[0] != '-' && !isDigit(rest[0]) {
			continue
		}
		if v, ok := readPayload([]byte(rest)); ok {
			return body[:from], v, true
		}
	}
}

// minLead is the number of words from which what leads up to a value is a sentence, and no label.
const minLead = 4

func lastWord(text string) string { return text[strings.LastIndexByte(text, ' ')+1:] }

// speaksOf says whether the words before a value are about the field rather than a part of it.
func (f *finding) speaksOf(column int, lead string) bool {
	names := []string{f.names[column], f.given[column]}
	if len(f.doc.fields) == len(f.names) {
		names = append(names, f.doc.fields[column].name)
	}
	return slices.ContainsFunc(names, func(name string) bool { return name != "" && strings.Contains(lead, name) }) ||
		holds(lead, "value", "answer", "result")
}
