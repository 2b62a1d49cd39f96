package task

// AppendObservation appends an observation as [Marshal] writes it, without reflection.
func AppendObservation(text []byte, o *Observation) []byte {
	text = append(text, '{')
	field := func(name, value string) {
		if value != "" {
			text = append(append(append(text, '"'), name...), `":`...)
			text = append(AppendValue(text, Text(value)), ',')
		}
	}
	field("label", o.Label)
	field("tool", o.Tool)
	if len(o.Content) > 0 {
		text = append(append(append(text, `"content":`...), o.Content...), ',')
	}
	field("note", o.Note)
	field("hint", o.Hint)
	if o.Error != nil {
		text = append(text, `"error":{"code":`...)
		text = append(AppendValue(text, Text(o.Error.Code)), `,"message":`...)
		text = append(AppendValue(text, Text(o.Error.Message)), `},`...)
	}
	if o.Done {
		text = append(text, `"done":true,`...)
	}
	if text[len(text)-1] == ',' {
		text = text[:len(text)-1]
	}
	return append(text, '}')
}
