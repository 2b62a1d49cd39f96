package agent

var envelopeTactic = &tactic{
	TacticInfo: TacticInfo{"envelope", "the rows stand in an envelope or column by column: reads them there"},
	shape: func(v any, f *finding) bool {
		whole, ok := v.(object)
		if !ok {
			return false
		}
		for i := range whole {
			inner, isObject := whole[i].value.(object)
			if !isObject {
				continue
			}
			if f.names, f.rows, ok = recordsWithin(inner, 0); ok && (len(f.rows) > 0 || f.names == nil) {
				return true
			}
			if f.names, f.rows, ok = columnLists(inner); ok && f.promises(f.names, whole[i].name) {
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
func recordsWithin(o object, depth int) (names []string, rows [][]any, ok bool) {
	if names, rows, ok = recordsIn(o); ok || depth > 3 {
		return names, rows, ok
	}
	for i := range o {
		if inner, isObject := o[i].value.(object); isObject {
			if names, rows, ok = recordsWithin(inner, depth+1); ok {
				return names, rows, true
			}
		}
	}
	return nil, nil, false
}

// promises says whether lists under these names are the columns of a result: as many as are documented, or in a field
// that says so.
func (f *finding) promises(names []string, in string) bool {
	return holds(in, "column") || len(f.doc.fields) > 0 && len(f.doc.fields) == len(names)
}
