package agent

import (
	"slices"
	"strings"
	"unicode"
)

var measureTactic = &tactic{
	TacticInfo: TacticInfo{"measure", "the numbers of a field come as text with one unit: takes the numbers out"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			texts, plain := f.texts(column)
			if plain || f.kind(column) == kindText {
				return false
			}
			unit := ""
			for _, text := range texts {
				_, u, ok := measureIn(text)
				switch {
				case !ok && f.kind(column) == kindNumber: // what is no number in a field of numbers stays
				case !ok, unit != "" && u != unit:
					return false
				default:
					unit = u
				}
			}
			if unit == "" || f.kind(column) != kindNumber && !isUnit(unit) {
				return false
			}
			return f.mapColumn(column, func(v any) any {
				if text, ok := v.(string); ok {
					if n, _, is := measureIn(text); is {
						return n
					}
				}
				return v
			})
		})
	},
}

// measureIn reads a number with a short unit before or behind it.
func measureIn(text string) (number any, unit string, ok bool) {
	before, after, found := strings.Cut(text, " ")
	if !found {
		return nil, "", false
	}
	if n, is := readNumber(after); is && isShort(before) {
		return n, before, true
	}
	if n, is := readNumber(before); is && isShort(after) {
		return n, after, true
	}
	return nil, "", false
}

// isShort says whether a word can be a unit: a few letters or signs, no digit.
func isShort(word string) bool {
	return word != "" && len([]rune(word)) <= 5 && !strings.ContainsFunc(word, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsDigit(r) || r == '-' || r == '+'
	})
}

// units are those that are known without documentation.
var units = []string{
	"USD", "EUR", "GBP", "JPY", "CHF", "CNY", "INR", "$", "€", "£", "¥", "%",
	"mg", "g", "kg", "t", "lb", "oz", "mm", "cm", "m", "km", "mi", "ft", "in", "ms", "s", "min", "h", "d", "ml", "l",
	"kWh", "°C", "°F", "K",
}

func isUnit(word string) bool { return slices.Contains(units, word) }
