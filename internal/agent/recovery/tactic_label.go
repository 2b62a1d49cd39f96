package recovery

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task/english"
	"github.com/seatrial/seatrial/internal/task/literal"
)

var labelTactic = &tactic{
	TacticInfo: TacticInfo{"label", "the values of a field begin with one label: removes it"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			texts, plain := f.texts(column)
			if len(texts) == 0 || plain {
				return false
			}
			label, first, ok := strings.Cut(texts[0], ": ")
			if !ok || !isLabelWord(label) && !names(label, f.documentedName(column)) &&
				(f.kind(column) != kindNumber || !isNumberText(first)) {
				return false
			}
			numbers := f.kind(column) != kindText
			for _, text := range texts {
				rest, ok := strings.CutPrefix(text, label+": ")
				if !ok {
					return false
				}
				numbers = numbers && (f.kind(column) == kindNumber || isNumberText(rest))
			}
			return f.mapColumn(column, func(v any) any {
				text, ok := v.(string)
				if !ok {
					return v
				}
				rest := text[len(label)+2:]
				if n, is := literal.ReadNumber(rest); is && numbers {
					return n
				}
				return rest
			})
		})
	},
}

// labelWords are labels that name an answer, and not the content of a field.
var labelWords = []string{"answer", "result", "value", "output", "response", "finding", "returned", "data"}

func isLabelWord(label string) bool { return slices.Contains(labelWords, strings.ToLower(label)) }

// names reports whether a label ends as a field's name does.
func names(label, field string) bool {
	words := english.NameWords(field)
	return len(words) > 0 && lastWord(strings.ToLower(label)) == words[len(words)-1]
}

func isNumberText(text string) bool {
	_, ok := literal.ReadNumber(text)
	return ok
}
