package condition

func (f *paramRenamed) hint(*adviser) (string, error) {
	return code(f.Tool) + " may refuse " + code(f.Argument) + " as an unknown argument: it is called " + code(f.NewName) +
		" then. " +
		"The error lists the names that are accepted, and " + code(toolInfo) +
		" gives the specification as it stands now: check " +
		"there. At the first such error make the same call again with the same value under the new name. Where " +
		code(f.Argument) + " is accepted, even with a note that its name will change, nothing is wrong: keep to it.", nil
}

// retypedForms say how a value is written in the type that is wanted.
var retypedForms = map[string]string{
	retypedText: "as a text that holds the digits of the number",
	retypedDate: "as a text that holds the first day of the year as an ISO date",
	retypedList: "as a list with the value as its only element",
}

func (f *paramRetyped) hint(*adviser) (string, error) {
	return code(f.Tool) + " may refuse the value of " + code(f.Argument) + " for its type: it is wanted " +
		retypedForms[f.Wants] +
		" then. The error says so, and " + code(toolInfo) +
		" gives the specification as it stands now: check there. At the " +
		"first such error make the same call again with the value in that form; a reference stays as it is. Where the value is " +
		"accepted, even with a note that the type will change, nothing is wrong: keep to it.", nil
}

func (f *paramAdded) hint(*adviser) (string, error) {
	return code(f.Tool) + " may ask for one more argument, " + code(f.Argument) +
		", with a closed set of values. The error lists " +
		"them, and " + code(toolInfo) +
		" gives the specification as it stands now: check which value is marked there as answering " +
		"as before. At the first such error make the same call again with that value added; the others lead to nothing. Where " +
		"calls are answered without " + code(f.Argument) + ", even with a note that it will be added, nothing is wrong.", nil
}

func (f *resultRenamed) hint(*adviser) (string, error) {
	return "The records of " + code(f.Tool) + " may have the field " + code(f.Field) + " under the name " +
		code(f.NewName) + "; its " +
		"values are the same. Check the names in the records that came, or ask " + code(toolInfo) +
		", before you refer to a " +
		"field. Where the name is new, refer to it by that from then on; where a call has failed over the old one, repair its " +
		"reference and make it again. Where the name is as documented, nothing is wrong.", nil
}

func (f *resultRetyped) hint(*adviser) (string, error) {
	return "The records of " + code(f.Tool) + " may have the numbers of " + code(f.Field) +
		" as text. Check whether they stand in " +
		"quotes; " + code(toolInfo) + " gives the specification as it stands now. The numbers themselves are right. Where a later " +
		"call refuses them for their type, or takes them for text, write them into it as numbers in place of the reference; give " +
		"numbers in the answer as well. Where they come as numbers, or the specification says text from the start, nothing is " +
		"wrong.", nil
}

func (f *resultReshaped) hint(*adviser) (string, error) {
	where := "nested in an object: the list is under " + code(fieldData) + ", in " + code(fieldItems)
	if f.Shape == ShapeColumns {
		where = "turned column-wise: under " + code(fieldColumns) +
			" each field has a list of its values, in the order of the records"
	}
	return "The records of " + code(f.Tool) + " may come " + where +
		". Check the outermost form of the result. Nothing is lost, but " +
		"references do not reach in there: read the values where they are, and write them into later calls and into the answer " +
		"yourself. Where a plain list of records came, whatever stands beside it, nothing is wrong.", nil
}

func (f *unit) hint(*adviser) (string, error) {
	where := "the name of the field then ends in the unit"
	if f.Sign == signField {
		where = code(fieldUnits) + " beside the records then names the unit"
	}
	return "The numbers of " + code(f.Field) + " in the records of " + code(f.Tool) + " may be scaled: " + where +
		". Check for it " +
		"before you use them. Convert back, dividing tenths by ten, hundredths by a hundred and thousandths by a thousand; leave " +
		"zero as it is. Write the converted numbers into later calls and into the answer in place of a reference. Where no unit " +
		"is named, or the unit is ones, nothing is wrong.", nil
}
