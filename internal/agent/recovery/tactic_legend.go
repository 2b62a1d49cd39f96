package recovery

import (
	"github.com/seatrial/seatrial/internal/task/literal"
)

var legendTactic = &tactic{
	TacticInfo: TacticInfo{"legend", "a legend says what codes mean: replaces them by the values"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			for i := range f.whole {
				if legend, ok := legendOf(f, column, f.whole[i].Value); ok && f.mapColumn(column, func(v any) any {
					if code, isText := v.(string); isText {
						if meant, coded := legend[code]; coded {
							return meant
						}
					}
					return v
				}) {
					return true
				}
			}
			return false
		})
	},
}

// legendOf reads a field next to the rows as a legend of a column: an object of objects, by column and by code.
func legendOf(f *finding, column int, v any) (map[string]any, bool) {
	whole, ok := v.(literal.Object)
	if !ok {
		return nil, false
	}
	for i := range whole {
		codes, isObject := whole[i].Value.(literal.Object)
		if !isObject || !f.isNamed(column, whole[i].Name) {
			continue
		}
		legend := make(map[string]any, len(codes))
		for j := range codes {
			meant, ok := scalar(codes[j].Value)
			if !ok {
				return nil, false
			}
			legend[codes[j].Name] = meant
		}
		return legend, true
	}
	return nil, false
}
