package agent

var legendTactic = &tactic{
	TacticInfo: TacticInfo{"legend", "a legend says what codes stand for: puts the values in their place"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			for i := range f.whole {
				if legend, ok := legendOf(f, column, f.whole[i].value); ok && f.mapColumn(column, func(v any) any {
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

// legendOf reads what a field beside the rows says of the values of a column: an object of objects, by column and by
// code.
func legendOf(f *finding, column int, v any) (map[string]any, bool) {
	whole, ok := v.(object)
	if !ok {
		return nil, false
	}
	for i := range whole {
		codes, isObject := whole[i].value.(object)
		if !isObject || !f.bears(column, whole[i].name) {
			continue
		}
		legend := make(map[string]any, len(codes))
		for j := range codes {
			meant, ok := scalar(codes[j].value)
			if !ok {
				return nil, false
			}
			legend[codes[j].name] = meant
		}
		return legend, true
	}
	return nil, false
}
