package recovery

import (
	"slices"
	"strings"
)

var unitTactic = &tactic{
	TacticInfo: TacticInfo{"unit", "the name of a field, or units beside the rows, say that its numbers are scaled: " +
		"scales them back"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			if base, divisor, ok := scaleInName(f.names[column]); ok && !f.isKnown(column) {
				f.names = slices.Clone(f.names)
				f.names[column] = base
				return f.mapColumn(column, func(v any) any { return divided(v, divisor) })
			}
			said, ok := f.ofColumn(column, "unit", "scale")
			word, isText := said.(string)
			divisor := scales[strings.ToLower(word)]
			return ok && isText && divisor != 0 && f.mapColumn(column, func(v any) any { return divided(v, divisor) })
		})
	},
}

// scales are words for parts of one: that many make one.
var scales = map[string]int64{"tenths": 10, "hundredths": 100, "thousandths": 1000, "millionths": 1_000_000}

// scaleInName reads a scale at the end of a name, as in price_in_hundredths.
func scaleInName(name string) (base string, divisor int64, ok bool) {
	at := strings.LastIndex(name, "_in_")
	if at < 0 {
		return "", 0, false
	}
	divisor, ok = scales[strings.ToLower(name[at+len("_in_"):])]
	return name[:at], divisor, ok
}

// isKnown reports whether a column has a documented name: it then keeps its meaning.
func (f *finding) isKnown(column int) bool {
	if len(f.doc.fields) == len(f.names) {
		return f.doc.fields[column].name == f.names[column]
	}
	return slices.ContainsFunc(f.doc.keys, func(k field) bool { return k.name == f.names[column] })
}

// divided converts parts of one to ones. A whole number that is not a multiple was never scaled.
func divided(v any, divisor int64) any {
	switch v := v.(type) {
	case int64:
		if v%divisor == 0 {
			return v / divisor
		}
	case float64:
		return v / float64(divisor)
	}
	return v
}
