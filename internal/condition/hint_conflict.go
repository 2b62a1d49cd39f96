package condition

// sides says which sources there are: ways that give the same, each by its tools.
func (f *conflict) sides() string {
	if f.Replicas {
		return enumerate(append([]string{f.Tool}, f.Others...))
	}
	return "on one side " + way(f.Mine) + ", on the other " + way(f.Others)
}

const hintSources = ". Results name the others in "

func (f *stale) hint(*adviser) (string, error) {
	return "There are two sources for the same: " + f.sides() + hintSources + code(fieldOthers) +
		". One may answer from an older " +
		"state. Check before you answer: ask both, and compare the records and the date in " + code(fieldAsOf) +
		". Where the " +
		"records differ, switch to the source with the later date and use its records alone. Where they are the same, the dates " +
		"mean nothing, and nothing is wrong.", nil
}

func (f *corrupted) hint(*adviser) (string, error) {
	return "There are two sources for the same: " + f.sides() + hintSources + code(fieldOthers) +
			". One may have lost a record or " +
			"changed numbers on the way. Check before you use a result: count its records against " + code(fieldRowCount) +
			", and add " +
			"up the field that " + code(fieldSum) +
			" names, where it is there. Where either does not fit, switch to the other source " +
			"and check it in the same way. Where both fit, the records are right, whatever a warning says, and nothing is wrong.",
		nil
}

func (f *minority) hint(*adviser) (string, error) {
	return "There are three sources for the same: " + f.sides() + hintSources + code(fieldOthers) +
		". One may differ. Check before " +
		"you use a result: make the same call to all of them and compare the records. Where one differs from the others, use " +
		"what the other two agree on. Where all agree, nothing is wrong.", nil
}

func (f *pair) hint(*adviser) (string, error) {
	return "There are two sources for the same: " + f.sides() + hintSources + code(fieldOthers) + ". One may put " +
		code(f.Field) +
		" beside the other fields of another record. Check before you use the fields together: ask both sources, and compare " +
		"the records and what " + code(fieldAssembly) +
		" says. Where they differ, switch to the source whose fields come from " +
		"one record each. Where they are the same, nothing is wrong, even if the fields come from separate lists.", nil
}
