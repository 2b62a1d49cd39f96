package condition

import (
	"fmt"
	"slices"
)

const hintRetiring = ", even with a note that it will be withdrawn, its answer is complete and nothing is to be done."

func (f *unavailable) hint(a *adviser) (string, error) {
	all := a.sound()
	at := slices.IndexFunc(all, func(tools []string) bool {
		return !slices.ContainsFunc(tools, func(tool string) bool { return a.gone[tool] })
	})
	if at < 0 {
		return "", fmt.Errorf("no way does without %q", f.Tool)
	}
	return code(f.Tool) + " may fail with the error " + code(CodeUnavailable) +
		". That does not pass: do not call it again, " +
		"whatever the arguments. The same can be had in another way: " + way(all[at]) +
		". Switch at the first such error, and " +
		"check by the specifications of the tools you turn to that your calls cover every condition of the request. Where " +
		code(f.Tool) + " answers" + hintRetiring, nil
}

func (f *firstTried) hint(a *adviser) (string, error) {
	list, err := a.around()
	if err != nil {
		return "", err
	}
	return "The first tool that you turn to may fail with the error " + code(CodeUnavailable) +
		", and goes on failing whatever " +
		"the arguments. Another whole way stays up. Ways that serve the request are: " + ways(list) +
		". At the first such error " +
		"switch to one that does without the tool that failed, and check by the specifications that your calls cover every " +
		"condition of the request. Where a tool answers" + hintRetiring, nil
}

// maxHintWays bounds the ways that a hint lists where none of them survives.
const maxHintWays = 3

func (f *allUnavailable) hint(a *adviser) (string, error) {
	list := a.sound()
	if len(list) == 0 {
		return "", errNoTool(f.Tool)
	}
	return "Tools may fail with the error " + code(CodeUnavailable) +
		", which does not pass: calling again does not help. Ways " +
		"that could serve the request are: " + ways(list[:min(len(list), maxHintWays)]) + ". When a tool of one fails so, " +
		"switch to another way, and check by the specifications whether any other tool covers the request. Once every way has " +
		"a tool that failed so, nothing remains: decline. Where a tool answers" + hintRetiring, nil
}

func (f *missingTools) hint(*adviser) (string, error) {
	return "The tools may look as if they served the request and not give what it asks for. Before you answer, check the " +
		"arguments and the fields of each specification against every condition and every value that the request names. Where " +
		"tools cover all of it, alone or one after the other, nothing is wrong: use them. Switch from searching to declining " +
		"once something remains that no tool takes and none returns: nothing survives that, and what a similar tool gives is " +
		"no answer.", nil
}

// transientSymptoms say what calls to a tool do, by kind.
var transientSymptoms = map[string]string{
	"exec.timeout":      "time out",
	"exec.connection":   "lose their connection",
	"exec.server-error": "fail in the server",
	"exec.io":           "fail because the tool cannot read its data",
	"call.rejected":     "be refused though they are right, because a cached schema is stale",
}

func (f *transient) hint(*adviser) (string, error) {
	return "Calls to " + code(f.Tool) + " may " + transientSymptoms[f.name] + ": the error is " +
		code(transientWordings[f.name].code) + ". That passes by itself: the tool stays the right one. Make the same call " +
		"again with the same arguments, a few times if need be, and turn to another tool only if it fails for much longer. " +
		"Check whether records came: an answer beside which a note speaks of trouble is complete, and nothing is wrong.", nil
}

func (f *crash) hint(*adviser) (string, error) {
	return "Calls to " + code(f.Tool) +
		" may break off half-way and return the records they had by then. Check the field " +
		code("complete") + " beside the records: where it is false, some are missing. Do not use them; make the same call " +
		"again, a few times if need be, until the records come without that mark, and work with the last result. Where the " +
		"field says true or is not there, all records are, whatever a warning says, and nothing is wrong.", nil
}

func (f *slow) hint(*adviser) (string, error) {
	return code(f.Tool) + " may answer late: a note then gives the time it took. An answer that came is complete, however long " +
		"it took. Check whether there are records or an error: with records nothing is wrong, so neither repeat the call nor " +
		"switch. Only an error in place of an answer is a reason to make the same call again.", nil
}
