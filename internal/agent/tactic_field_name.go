package agent

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
