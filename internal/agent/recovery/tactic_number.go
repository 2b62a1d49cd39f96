package recovery

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task/literal"
)

var numberFormatTactic = &tactic{
	TacticInfo: TacticInfo{"number-format", "the result names a locale: reads numbers as that locale writes them"},
	undo: func(f *finding) bool {
		locale, ok := f.text("locale", "number_format", "language")
		if !ok {
			return false
		}
		groups, point, ok := separators(locale)
		if !ok {
			return false
		}
		undo := func(column int, known bool) bool {
			texts, plain := f.texts(column)
			if plain {
				return false
			}
			for _, text := range texts {
				if _, ok := localNumber(text, groups, point); !ok && !known {
					return false
				}
			}
			return f.mapColumn(column, func(v any) any {
				if text, ok := v.(string); ok {
					if n, is := localNumber(text, groups, point); is {
						return n
					}
				}
				return v
			})
		}
		if f.eachColumn(func(column int) bool {
			return f.kind(column) != kindText && undo(column, f.kind(column) == kindNumber)
		}) {
			return true
		}
		// A result states its locale for a reason: a field documented as text may still contain numbers.
		return f.eachColumn(func(column int) bool { return f.kind(column) == kindText && undo(column, false) })
	},
}

// commaLanguages write a comma before the fraction.
var commaLanguages = []string{"de", "fr", "pt", "es", "it", "nl", "ru", "pl", "sv", "da", "nb", "no", "fi", "cs", "tr",
	"id", "uk", "el"}

// separators returns the marks that a locale puts between groups of digits, and its decimal mark.
func separators(locale string) (groups []string, point string, ok bool) {
	language, region, _ := strings.Cut(strings.ReplaceAll(locale, "_", "-"), "-")
	if len(language) != 2 && len(language) != 3 || len(region) > 4 || strings.ContainsAny(locale, " ;,") {
		return nil, "", false
	}
	if slices.Contains(commaLanguages, strings.ToLower(language)) {
		return []string{".", " ", "\u00a0", "\u202f", "'", "’"}, ",", true
	}
	return []string{",", " ", "'", "’"}, ".", true
}

// localNumber reads a number in groups of three digits: a whole one without a fraction.
func localNumber(text string, groups []string, point string) (any, bool) {
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, real := strings.Cut(digits, point)
	for _, group := range groups {
		if !strings.Contains(whole, group) {
			continue
		}
		parts := strings.Split(whole, group)
		for i, part := range parts {
			if len(part) != 3 && (i > 0 || len(part) == 0 || len(part) > 3) {
				return nil, false
			}
		}
		whole = strings.Join(parts, "")
		break
	}
	if strings.Trim(whole+fraction, "0123456789") != "" || whole == "" || real && fraction == "" {
		return nil, false
	}
	if real {
		whole += "." + fraction
	}
	if negative {
		whole = "-" + whole
	}
	return literal.ReadNumber(whole)
}

var numberTextTactic = &tactic{
	TacticInfo: TacticInfo{"number-text", "a field of numbers contains texts: reads the numbers in them"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			return f.kind(column) == kindNumber && f.mapColumn(column, numberOf)
		})
	},
}
