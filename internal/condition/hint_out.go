package condition

func (f *alias) hint(*adviser) (string, error) {
	return "The values of " + code(f.Field) + " in the records of " + code(f.Tool) + " may come as codes. Check " +
		code(fieldLegend) +
		" beside the records, which says what each code stands for. Put the values back before you use them, and write them into " +
		"later calls and into the answer in place of a reference. Where no code of the legend stands in the records, or there is " +
		"no legend, nothing is wrong.", nil
}

func (f *nullSentinel) hint(*adviser) (string, error) {
	return "Missing values of " + code(f.Field) + " in the records of " + code(f.Tool) +
		" may be written as a value. Check " +
		code(fieldMissing) + " beside the records, which declares it. Read that value as missing wherever it stands in the field: " +
		"neither count it, add it up nor compare it, and give null in the answer. The other values are right. Where null is " +
		"declared, or nothing, nothing is wrong.", nil
}

func (f *reordered) hint(*adviser) (string, error) {
	return code(f.Tool) + " may return its records in another order than the right one. Check " + code(fieldSortKeys) +
		" beside them: " +
		"it gives, record by record, the place of each in the right order. Where the places do not ascend, sort the records by " +
		"them, and write the answer out in that order in place of a reference. Where they ascend, or there are none, nothing is " +
		"wrong.", nil
}

func (f *form) hint(*adviser) (string, error) {
	field := code(f.Field) + " in the records of " + code(f.Tool)
	var happens, undo string
	switch f.name {
	case kindWrapped:
		happens = "The numbers of " + field + " may come as text with a unit before them."
		undo = "Take the number alone, as it is, and leave the unit away."
	case kindLabelled:
		happens = "The values of " + field + " may come as text with a label and a colon before them."
		undo = "Take what stands behind the label alone."
	case kindExplained:
		happens = "The values of " + field + " may come inside a sentence that says whose value it is."
		undo = "Take the value out of it, without the quotes and the full stop that are the sentence's own."
	default:
		happens = "The numbers of " + field + " may come as text in the form of another country, which " + code(fieldLocale) +
			" beside the records names."
		undo = "Read the marks between groups of digits and before the fraction as that country does, and make plain numbers of them."
	}
	return happens + " Check the values in the records themselves before you use them. " + undo +
		" Write what you read into " +
		"later calls and into the answer in place of a reference. Where the values are plain, whatever stands beside them, " +
		"nothing is wrong.", nil
}

func (f *truncated) hint(*adviser) (string, error) {
	return code(f.Tool) + " may hand over the first page of its records alone. Check " + code(fieldCursor) +
		" beside them: where it " +
		"is not null, more follow. Before you use them call " + code(toolPage) +
		" with the cursor, and again with each new one, until " +
		"it is null; put the pages together in their order, and write the values into later calls and into the answer yourself, " +
		"as a reference stands for one page. Where the cursor is null, or there is none, all records are there and nothing is " +
		"wrong.", nil
}
