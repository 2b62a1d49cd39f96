package request

import "slices"

// Distance is the edit distance of two texts, in letters.
func Distance(a, b string) int { return distance([]rune(a), []rune(b)) }

// PlainDrop is [Value.Drop] in its plainest wording.
func (v *Value) PlainDrop() (question, evidence, reply, reason string) {
	d, made, reason := v.draft()
	if reason != "" {
		return "", "", "", reason
	}
	return plain(made.texts[0]), made.texts[len(made.texts)-1], d.Reply, ""
}

// PlainMissing is a turn of [Value.Missing] in its plainest wording.
func (v *Value) PlainMissing(at int) (turn, reason string) {
	_, made, reason := v.missing()
	if reason != "" {
		return "", reason
	}
	if _, reason := v.Missing(); reason != "" {
		return "", reason
	}
	return plain(made.texts[at]), ""
}

// WithoutLastClause is what a reader's question offers beside the request.
func WithoutLastClause(s string) string { return withoutLastClause(s) }

// IsDeliberate reports whether a complaint is about a text that must be refused although people wrote it for the SQL.
func IsDeliberate(complaint string) bool {
	return complaint == complainValue || complaint == complainSettles
}

// Rules lists the rules that leave values out, each as its column, what is read and what is left.
func Rules() (list [][3]string) {
	for _, r := range slices.Concat(limitRules, numberRules, nounRules) {
		list = append(list, [3]string{r.column, r.before, r.after})
	}
	return list
}

// Decided returns the plainest wording of what a rule leaves of the first mention of a value, "" where it finds it
// awkward, and the rule's example.
func (v *Value) Decided() (left, example string) {
	m, n := v.mentions[0], v.naming()
	s := v.task.texts()[m.text]
	e, at, ok := placeOf(v.task, s, m.start, m.end).decide(n.rules(), &n)
	if ok {
		left = plain(apply(s, []edit{e}))
	}
	return left, n.rules()[at].before
}
