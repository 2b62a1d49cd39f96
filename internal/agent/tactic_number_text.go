package agent

var numberTextTactic = &tactic{
	TacticInfo: TacticInfo{"number-text", "a field of numbers holds texts: reads the numbers in them"},
	undo: func(f *finding) bool {
		return f.eachColumn(func(column int) bool {
			return f.kind(column) == kindNumber && f.mapColumn(column, numberOf)
		})
	},
}
