package request

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
	"github.com/seatrial/seatrial/internal/tools/parameter"
	"github.com/seatrial/seatrial/internal/tools/wording"
)

// Dropped is a request that keeps a condition and says its value no more.
type Dropped struct {
	Messages []task.Message
	Evidence string
	Whole    []task.Message // the complete request in the same wording, which says the value elsewhere
	// WholeEvidence is the evidence of the complete request, Kept its values.
	WholeEvidence string
	Kept          []Kept
	Form          string   // how the request said the value
	Phrase        string   // what it says in the first place of it
	Reply         string   // what whoever asked answers who asks for the value
	Names         []string // by which the value can be asked for
	Others        []string // names of the other columns of its tables

	value  string // as Whole says it
	phrase phrase
}

// Drop leaves a value out of a request (Incomplete Conditions, "Partial Removal of User Utterance"): `from France`
// becomes `from our country`, and in another request `from the country on my list`. What replaces the value depends on
// what it is compared with and on the words around it, never on the value. What the evidence says of the value goes with
// its clause. A reason of the closed list says why it cannot be done.
func (v *Value) Drop() (*Dropped, string) {
	d, made, reason := v.draft()
	if reason == "" {
		reason = v.finish(d, made)
	}
	if reason != "" {
		return nil, reason
	}
	return d, ""
}

// draft replaces a value by marked nouns.
func (v *Value) draft() (*Dropped, *draft, string) {
	switch {
	case !v.said():
		return nil, nil, ReasonNotSaid
	case v.unclear:
		return nil, nil, ReasonAmbiguous
	}
	t := v.task
	named := v.naming()
	made := &draft{texts: t.texts(), noun: named.noun}
	d := &Dropped{}
	for i := range t.Messages {
		var edits []edit
		for _, m := range v.mentions {
			if m.text != i {
				continue
			}
			p := placeOf(t, made.texts[i], m.start, m.end)
			again := d.Form != ""
			if !again {
				d.Form = made.texts[i][m.start:m.end]
				made.value = v.spoken(p, d.Form)
			}
			e, ok := p.replace(&named, again)
			if !ok || named.proper && v.follows(m) {
				return nil, nil, ReasonAwkward
			}
			edits = append(edits, e)
		}
		made.texts[i] = apply(made.texts[i], edits)
	}
	last := len(t.Messages)
	made.texts[last] = v.withoutClauses(made.texts[last], d.Form)
	for i, s := range made.texts {
		if v.remains(plain(s), d.Form, i == last) {
			return nil, nil, ReasonRemains
		}
	}
	v.describe(d, &named, made)
	return d, made, ""
}

// describe notes by which names a value can be asked for, and what the user replies.
func (v *Value) describe(d *Dropped, named *naming, made *draft) {
	d.Names, d.Others = v.names(named)
	d.Reply = v.reply(named, d.Form)
	for _, s := range made.texts {
		if o, found := openingOf(v.task, s); found && o.noun != nounOne && o.noun != nounFew && !slices.Contains(d.Names, o.noun) {
			d.Names = append(d.Names, o.noun)
		}
	}
}

// spoken is how a sentence says a value again: as the request did with its signs, but in quotes only where it would not
// read as a name without them; as the SQL has it where the request inflects it.
func (v *Value) spoken(p *place, form string) string {
	said := v.saidForm(form)
	if said != form || p.quoted && namelike(form) {
		return said
	}
	return p.text[p.start:p.end]
}

// reply says the value to who asks for it: as the request said it, or as the SQL has it where the request said a word
// that stands for it.
func (v *Value) reply(n *naming, form string) string {
	form = v.saidForm(form)
	if n.noun == "value" {
		return "It is " + form + "."
	}
	return "The " + n.noun + " is " + form + "."
}

// saidForm is the form in which a value is said, or the SQL's value where that is another ending of it.
func (v *Value) saidForm(form string) string {
	for _, m := range v.mentions {
		if m.text < len(v.task.Messages) && m.how == howKin && len([]rune(text(v.Value))) > 1 {
			return text(v.Value)
		}
	}
	return form
}

// edit replaces a span of a text.
type edit struct {
	start, end int
	text       string
}

// apply makes edits that stand in their order. Those that overlap become one: the later one gives way.
func apply(s string, edits []edit) string {
	var b strings.Builder
	at := 0
	for _, e := range edits {
		if e.start < at {
			continue
		}
		b.WriteString(s[at:e.start])
		text := e.text
		if beginsSentence(s[:e.start]) {
			text = english.Capital(text)
		}
		b.WriteString(text)
		at = e.end
	}
	b.WriteString(s[at:])
	return b.String()
}

// beginsSentence reports whether a sentence begins after a text.
func beginsSentence(before string) bool {
	before = strings.TrimRight(before, " \t\n\"'“‘(")
	return before == "" || strings.HasSuffix(before, ".") && !abbreviates(before) || strings.HasSuffix(before, "?") ||
		strings.HasSuffix(before, "!")
}

// abbreviates reports whether the dot at the end of a text belongs to a short word: No., St.
func abbreviates(s string) bool {
	list := english.Words(s)
	return len(list) > 0 && len(list[len(list)-1].Text) <= 2
}

// withoutClauses leaves out of the evidence the clauses that say the value, or what the question called it.
func (v *Value) withoutClauses(evidence, form string) string {
	if evidence == "" {
		return ""
	}
	var kept []string
	for _, clause := range clauses(evidence) {
		if !v.remains(clause, form, true) && !v.encoded(clause) {
			kept = append(kept, clause)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ""))
}

// equation is a column in SQL that a literal is compared with.
var equation = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.]*)["\x60\]]?\s*(?:=|<>|!=|<=|>=|<|>)\s*('[^']*'|"[^"]*"|[0-9.]+)`)

// encoded reports whether a clause compares the value's column, or another of its table, with something that the
// request does not compare with: an id that stands for the value, as in publisher.id = 13.
func (v *Value) encoded(clause string) bool {
	if v.Table == "" {
		return false
	}
	tables := english.Singular(strings.Split(strings.ToLower(v.Table), "_"))
	table := tables[len(tables)-1]
	for _, m := range equation.FindAllStringSubmatch(clause, -1) {
		literal := strings.Trim(m[2], `'".`)
		if slices.ContainsFunc(v.all, func(o *Value) bool { return o != v && strings.EqualFold(text(o.Value), literal) }) {
			continue
		}
		name := strings.FieldsFunc(strings.ToLower(m[1]), func(r rune) bool { return r == '.' || r == '_' })
		if strings.EqualFold(m[1], v.Column) || slices.Contains(english.Singular(name), table) ||
			slices.Contains(name, table) {
			return true
		}
	}
	return false
}

// clauses splits evidence behind semicolons, line ends and the ends of sentences.
func clauses(s string) []string {
	var list []string
	from := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c == ';' || c == '\n' || c == '.' && i+1 < len(s) && s[i+1] == ' ' {
			list = append(list, s[from:i+1])
			from = i + 1
		}
	}
	return append(list, s[from:])
}

// remains reports whether a text still gives away a value: in a form that is known, by what the question called it, or
// by a word of it. Words that the schema has too give away nothing, nor do the words that hold sentences together. Of a
// number in the messages, only another mention of it counts: numbers stand for many things.
func (v *Value) remains(s, form string, evidence bool) bool {
	if s == "" {
		return false
	}
	for _, m := range v.find(s) {
		if m.how != howShift && (m.how != howKin || !v.schemaWord(s[m.start:m.end])) {
			return true
		}
	}
	if len(parameter.Mentions(s, form)) > 0 {
		return true
	}
	parts := english.Words(form)
	if value, ok := v.Value.(string); ok {
		parts = append(parts, english.Words(value)...)
	}
	have := english.Words(s)
	for _, p := range parts {
		if !tells(p.Folded) || v.schemaWord(p.Text) {
			continue
		}
		if slices.ContainsFunc(have, func(w english.Word) bool { return related(w.Folded, p.Folded) }) {
			return true
		}
	}
	return evidence && v.numeric && slices.ContainsFunc(english.Amounts(s),
		func(n english.Numeral) bool { return n.Means(v.number) })
}

// related reports whether two words are one word with other endings: director, directed.
func related(a, b string) bool {
	if a == b || english.Akin(a, b) {
		return true
	}
	x, y := english.Root(a), english.Root(b)
	return len(x) >= 4 && x == y || english.Peopled(a, b)
}

// tells reports whether a word of a value gives some of it away.
func tells(w string) bool {
	if english.FunctionWords[w] || strings.IndexFunc(w, unicode.IsLetter) < 0 {
		return false
	}
	return len([]rune(w)) >= 3 && !english.IsSmallNumber(w)
}

// schemaWord reports whether a word belongs to the names of tables and columns.
func (v *Value) schemaWord(s string) bool {
	list := english.Words(s)
	for _, w := range list {
		if !v.task.vocabulary().words[w.Folded] {
			return false
		}
	}
	return len(list) > 0
}

// vocabulary is the words of a schema.
type vocabulary struct {
	words map[string]bool // of the names of tables and columns, in the singular and the plural
	nouns map[string]bool // what tables and columns are called, by the last word, in the singular and the plural
}

// vocabulary returns the words of the task's schema, which are found once.
func (t *Task) vocabulary() *vocabulary {
	if t.known == nil {
		t.known = &vocabulary{words: schemaWords(t), nouns: schemaNouns(t)}
	}
	return t.known
}

func schemaWords(t *Task) map[string]bool {
	known := map[string]bool{}
	add := func(tokens []string) {
		for _, w := range tokens {
			known[w] = true
			known[strings.Join(english.Plural([]string{w}), "")] = true
			known[strings.Join(english.Singular([]string{w}), "")] = true
		}
	}
	for i := range t.Query.Schema.Tables {
		table := &t.Query.Schema.Tables[i]
		one := wording.NounOf(table).One
		add(one)
		for j := range table.Columns {
			add(wording.ColumnWords(&table.Columns[j]))
		}
	}
	return known
}

// names lists the words by which a value can be asked for, and those of the other columns of its tables.
func (v *Value) names(named *naming) (own, others []string) {
	add := func(list *[]string, s string) {
		if s = strings.TrimSpace(s); s != "" && !slices.Contains(*list, s) && (list == &own || !slices.Contains(own, s)) {
			*list = append(*list, s)
		}
	}
	add(&own, v.Argument)
	if v.Column != "" {
		add(&own, v.Column)
	}
	if named.noun != "value" {
		add(&own, named.noun)
	}
	if len(own) == 0 {
		add(&own, "value")
	}
	q := v.task.Query
	if q == nil { // of tools that cannot be run
		add(&own, strings.Join(english.NameWords(v.Argument), " "))
		return own, others
	}
	if t := q.Schema.Table(v.Table); t != nil && t.Column(v.Column) >= 0 {
		add(&own, strings.Join(wording.ColumnWords(&t.Columns[t.Column(v.Column)]), " "))
		for i := range t.Columns {
			if tokens := wording.ColumnWords(&t.Columns[i]); i != t.Column(v.Column) {
				add(&others, strings.Join(tokens, " "))
			}
		}
	}
	return own, others
}

// place is where a text gives a value, with the words around it.
type place struct {
	task       *Task
	text       string
	start, end int // with its quotes and signs
	quoted     bool
	percent    bool // a sign or word behind it, which belongs to it
	money      bool // a sign before it
	left       []english.Word
	right      []english.Word
	after      string // the text behind it
}

var quotes = map[rune]string{'"': `"`, '\'': `'`, '“': "”", '‘': "’", '«': "»", '`': "`'", '’': "’"}

// placeOf reads the words around a mention.
func placeOf(t *Task, text string, start, end int) *place {
	p := &place{task: t, text: text, start: start, end: end}
	if before, open := strings.CutSuffix(strings.TrimRight(text[:p.start], " "), "``"); open { // `` Little Lever ''
		if after := strings.TrimLeft(text[p.end:], " "); strings.HasPrefix(after, "''") {
			p.start, p.end, p.quoted = len(before), len(text)-len(after)+2, true
		}
	}
	for range 2 { // quotes, and signs inside or outside of them
		before, size := lastRune(text[:p.start])
		after, behind := firstRune(text[p.end:])
		closing, opens := quotes[before]
		if blank := len(text[p.end:]) - len(strings.TrimLeft(text[p.end:], " ")); opens && blank > 0 {
			if next, n := firstRune(text[p.end+blank:]); strings.ContainsRune(closing, next) && n > 0 {
				after, behind = next, blank+n // "Aberdeen "
			}
		}
		switch {
		case opens && behind > 0 && strings.ContainsRune(closing, after):
			p.start, p.end, p.quoted = p.start-size, p.end+behind, true
		case before == '%' && after == '%':
			p.start, p.end = p.start-size, p.end+behind
		case strings.ContainsRune("$€£", before) && size > 0:
			p.start, p.money = p.start-size, true
		case before == '#':
			p.start -= size
		}
	}
	for _, sign := range []string{"No.", "no.", "Nr.", "nr."} {
		if before, numbered := strings.CutSuffix(strings.TrimRight(text[:p.start], " "), sign); numbered {
			p.start = len(before)
		}
	}
	if rest := strings.TrimLeft(text[p.end:], " "); strings.HasPrefix(rest, "%") {
		p.end, p.percent = len(text)-len(rest)+1, true
	}
	all := english.Words(text)
	p.left = english.Before(text, all, p.start, 5)
	p.right = english.After(text, all, p.end, 4)
	if len(p.right) > 0 && (p.right[0].Folded == "percent" || p.right[0].Folded == "pct") {
		p.end, p.percent = p.right[0].End, true
		p.right = english.After(text, all, p.end, 4)
	}
	p.after = text[p.end:]
	return p
}

func lastRune(s string) (rune, int) {
	r := []rune(s)
	if len(r) == 0 {
		return 0, 0
	}
	return r[len(r)-1], len(string(r[len(r)-1]))
}

func firstRune(s string) (rune, int) {
	for _, r := range s {
		return r, len(string(r))
	}
	return 0, 0
}

// l returns the n-th word to the left in small letters, from 1; "" where there is none.
func (p *place) l(n int) string {
	if n > len(p.left) {
		return ""
	}
	return p.left[len(p.left)-n].Folded
}

// r returns the n-th word to the right, from 1, as it stands.
func (p *place) r(n int) string {
	if n > len(p.right) {
		return ""
	}
	return p.right[n-1].Text
}

// from returns the offset of the n-th word to the left.
func (p *place) from(n int) int { return p.left[len(p.left)-n].Start }

var (
	determiners = english.Set("the", "a", "an")
	callings    = english.Set("called", "named", "titled", "entitled", "labelled", "labeled")
	copulas     = english.Set("is", "are", "was", "were", "being", "be", "equals")
	tops        = english.Set("top", "first", "last", "bottom", "best")
)

// replace returns the edit that leaves out the value.
func (p *place) replace(n *naming, again bool) (edit, bool) {
	if strings.HasPrefix(p.after, "-") || p.start > 0 && p.text[p.start-1] == '-' {
		return edit{}, false // part of a compound
	}
	var e edit
	var ok bool
	switch n.kind {
	case kindLimit:
		e, ok = p.limit()
	case kindNumber:
		e, ok = p.number(n, again)
	default:
		e, ok = p.noun(n, again)
	}
	return e, ok && !p.collides(e)
}

// ordinals precede a noun without an article.
var ordinals = english.Set("first", "second", "third", "last", "next", "only", "previous", "past", "coming")

// collides reports whether an edit puts its noun next to a word that it cannot stand beside: before a name (a certain
// year Singapore Grand Prix), before what it describes (a certain bond atoms), after itself (grades a certain grade) or
// after an ordinal (the first a certain race). A noun without a word is no noun either.
func (p *place) collides(e edit) bool {
	if p.task.Query == nil {
		return false // see clumsy
	}
	at := strings.IndexRune(e.text, markFirst)
	if at < 0 {
		return false
	}
	noun, _, _ := strings.Cut(e.text[at+len(string(markFirst)):], string(markEnd))
	if noun == nounFew {
		return false
	}
	if last := lastWord(noun); len(last) < 2 || !strings.ContainsFunc(noun, unicode.IsLetter) {
		return true
	}
	if rest := p.text[e.end:]; strings.HasSuffix(e.text, string(markEnd)) && strings.HasPrefix(rest, " ") {
		next := english.After(p.text, english.Words(p.text), e.end, 1)
		first, _ := firstRune(rest[1:])
		if unicode.IsUpper(first) && !strings.HasPrefix(rest, " I ") {
			return true
		}
		if len(next) > 0 && unicode.IsLower(first) && p.knownNoun(next[0].Folded) && !singularNoun(next[0].Folded) {
			return true
		}
	}
	if at > 0 || e.start == 0 || p.text[e.start-1] != ' ' {
		return false
	}
	all := english.Before(p.text, english.Words(p.text), e.start, 1)
	return len(all) > 0 && (ordinals[all[0].Folded] || akinOrSame(all[0].Folded, strings.ToLower(lastWord(noun))))
}

func (p *place) edit(start, end int, text string) (edit, bool) { return edit{start, end, text}, true }

// limit leaves out how many rows there are to be.
func (p *place) limit() (edit, bool) {
	some := certain("number", false) + " of "
	start := p.start
	switch next := p.r(1); {
	case tops[p.l(1)]:
		if start = p.from(1); p.l(2) == "the" {
			start = p.from(2)
		}
		if superlative(next) { // the top 3 largest
			return p.edit(start, p.end, some+"the")
		}
		return p.edit(start, p.end, some+"the "+p.l(1))
	case next == "" || english.FunctionWords[strings.ToLower(next)] && next != "most" && next != "least":
		if p.l(1) == "the" {
			start = p.from(1)
		}
		return p.edit(start, p.end, certain("number", false))
	case p.l(1) == "the":
		return p.edit(p.from(1), p.end, some+"the")
	case p.l(1) == "which" || p.l(1) == "what":
		return p.edit(start, p.end, certain(nounFew, false))
	case superlative(next):
		return p.edit(start, p.end, some+"the")
	default:
		return p.edit(start, p.end, strings.TrimSpace(some))
	}
}

func superlative(w string) bool {
	w = strings.ToLower(w)
	return w == "most" || w == "least" || len(w) > 4 && strings.HasSuffix(w, "est")
}

// number leaves out a number.
//
//nolint:gocyclo // one branch for each wording around a number; a table of rules would read better
func (p *place) number(n *naming, again bool) (edit, bool) {
	if p.task.Query == nil && tops[p.l(1)] {
		return p.limit()
	}
	if p.percent {
		return p.edit(p.determined(), p.end, certain("percentage", again))
	}
	if p.money {
		return p.edit(p.start, p.end, certain("amount", again))
	}
	for _, find := range []func(*naming) (int, string, bool){p.nounOf, p.nounBefore} {
		if start, noun, ok := find(n); ok && !n.counts {
			return p.edit(start, p.end, certain(noun, again))
		}
	}
	if strings.ToLower(p.r(1)) == "or" && len(p.right) > 2 && !english.FunctionWords[strings.ToLower(p.r(3))] &&
		english.IsLower(p.r(3)) {
		switch strings.ToLower(p.r(2)) {
		case "more":
			return p.edit(p.start, p.right[1].End, "at least "+certain("number", again)+" of")
		case "less", "fewer":
			return p.edit(p.start, p.right[1].End, "at most "+certain("number", again)+" of")
		}
	}
	next := strings.ToLower(p.r(1))
	switch {
	case p.quoted:
	case next == "years" && (strings.ToLower(p.r(2)) == "old" || strings.ToLower(p.r(2)) == "of"):
		end := p.right[1].End
		if p.r(2) == "of" && strings.ToLower(p.r(3)) == "age" {
			end = p.right[2].End
		} else if p.r(2) == "of" {
			break
		}
		if copulas[p.l(1)] {
			return p.edit(p.start, end, "of "+certain("age", again))
		}
		return p.edit(p.start, end, certain("age", again))
	case next != "" && english.IsLower(p.r(1)) && !english.FunctionWords[next] && !participle(next):
		if p.knownNoun(next) && singularNoun(next) && !n.counts && slices.Contains(n.beside, next) {
			return p.edit(p.determined(), p.right[0].End, certain(next, again))
		}
		if p.l(1) == "a" || p.l(1) == "an" {
			return edit{}, false
		}
		end, things := p.things()
		if second := strings.ToLower(p.r(2)); p.knownNoun(next) && singularNoun(next) && (p.knownNoun(second) ||
			plainPlural(second)) && !singularNoun(second) {
			// the 4 cylinder cars
			return p.edit(p.start, p.right[1].End, p.r(2)+" with "+certain("number",
				again)+" of "+english.Plural([]string{p.r(1)})[0])
		}
		if p.l(1) == "the" || p.l(1) == "all" {
			return p.edit(p.from(1), end, certain("number", again)+" of the"+things)
		}
		return p.edit(p.start, end, certain("number", again)+" of"+things)
	case next == "most" || next == "least":
		return p.edit(p.determined(), p.end, certain("number", again)+" of the")
	}
	noun := n.noun
	switch {
	case noun == "value" || n.counts:
		noun = "number"
	case prices[p.l(1)]:
		noun = "amount"
	}
	if p.copula() > 0 && p.near(noun) {
		return p.edit(p.start, p.end, certain(nounOne, again))
	}
	return p.edit(p.determined(), p.end, certain(noun, again))
}

// prices stand before what something costs.
var prices = english.Set("cost", "costs", "pay", "pays", "charge", "charges")

// copula says how many words before the value say that something is it, or that it is not.
func (p *place) copula() int {
	switch {
	case copulas[p.l(1)]:
		return 1
	case p.l(1) == "not" && copulas[p.l(2)]:
		return 2
	default:
		return 0
	}
}

// things returns what is counted in the plural, where it is said in the singular and the schema knows the word: one
// pet. Of anything else it gives nothing, and the end of the value.
func (p *place) things() (end int, text string) {
	end = p.end
	for k := 1; k <= 3 && k <= len(p.right); k++ {
		w := strings.ToLower(p.r(k))
		if !p.knownNoun(w) && p.task.vocabulary().words[w] && !english.FunctionWords[w] && singularNoun(w) &&
			p.knownNoun(strings.ToLower(p.r(k+1))) {
			continue // a car maker
		}
		if !p.knownNoun(w) || unitWords[w] {
			break
		}
		if !singularNoun(w) {
			return p.end, ""
		}
		end, text = p.right[k-1].End, p.text[p.end:p.right[k-1].Start]+english.Plural([]string{p.r(k)})[0]
	}
	return end, text
}

// determined returns the offset of the article before the value, which goes with it, or that of the value.
func (p *place) determined() int {
	if determiners[p.l(1)] {
		return p.from(1)
	}
	return p.start
}

// near reports whether a noun stands a few words before, so that saying it again would be clumsy.
func (p *place) near(noun string) bool {
	fields := strings.Fields(noun)
	head := fields[len(fields)-1]
	return slices.ContainsFunc(p.left, func(w english.Word) bool {
		return w.Folded == head || english.Akin(w.Folded,
			head)
	})
}

// nounBefore finds a noun that stands before the value and says what it is: the state alive, line R2.
func (p *place) nounBefore(n *naming) (start int, noun string, ok bool) {
	if n.kind == kindLike && p.l(1) == "the" { // the substring the computer
		behind := *p
		behind.left = p.left[:len(p.left)-1]
		p = &behind
	}
	for _, beside := range n.beside {
		k := len(strings.Fields(beside))
		if k == 0 || k > len(p.left) {
			continue
		}
		run := p.left[len(p.left)-k:]
		var list []string
		for _, w := range run {
			list = append(list, w.Folded)
		}
		if strings.Join(list, " ") != beside {
			continue
		}
		start, noun = run[0].Start, p.text[run[0].Start:run[k-1].End]
		if w := p.l(k + 1); beside == "id" && p.knownNoun(w) && singularNoun(w) { // with superhero ID 294
			start, noun = p.from(k+1), p.text[p.from(k+1):run[k-1].End]
		}
		for more := 0; more <= 2; more++ { // the partner garden Hortus Leidensis
			if determiners[p.l(k+more+1)] {
				return p.from(k + more + 1), p.text[p.from(k+more):run[k-1].End], true
			}
			if english.FunctionWords[p.l(k+more+1)] {
				break
			}
		}
		return start, noun, true
	}
	return 0, "", false
}

// nounOf finds what the value is called with `of` behind it: the flag of Malta.
func (p *place) nounOf(n *naming) (start int, noun string, ok bool) {
	head := n.noun[strings.LastIndexByte(n.noun, ' ')+1:]
	if p.l(1) != "of" || len(p.left) < 2 || p.l(2) != head || n.noun == "name" || n.noun == "value" || n.noun == n.owner {
		return 0, "", false
	}
	for more := 0; more <= 1; more++ { // a strength value of 100, the super power of agility
		if determiners[p.l(3+more)] {
			return p.from(3 + more), p.text[p.from(2+more):p.left[len(p.left)-2].End], true
		}
		if english.FunctionWords[p.l(3+more)] {
			break
		}
	}
	if head != n.noun {
		return 0, "", false
	}
	return p.from(2), n.noun, true
}

// persons are what people are called in general, in front of their names.
var persons = english.Set("student", "person", "man", "woman", "customer", "client", "employee", "user", "member",
	"player", "singer", "driver", "actor", "actress", "director", "author", "artist", "teacher", "professor", "owner")

// personNamed finds what stands in front of somebody's name: the high school student Kyle.
func (p *place) personNamed(n *naming) (start int, noun string, ok bool) {
	if !n.proper || n.kind != kindText || !persons[p.l(1)] {
		return 0, "", false
	}
	for k := 2; k <= 4; k++ {
		if determiners[p.l(k)] {
			return p.from(k), p.text[p.from(k-1):p.left[len(p.left)-1].End], true
		}
		if english.FunctionWords[p.l(k)] || p.l(k) == "" {
			break
		}
	}
	return 0, "", false
}

// several finds the plural of what the value is, which its name and another's follow: the continents Asia and Europe.
func (p *place) several(n *naming) (start int, ok bool) {
	w := p.l(1)
	if w == "" || singularNoun(w) || !english.Akin(n.noun, w) || !p.task.vocabulary().words[w] {
		return 0, false
	}
	if next := strings.ToLower(p.r(1)); next != "and" && next != "or" {
		return 0, false
	}
	if determiners[p.l(2)] {
		return p.from(2), true
	}
	return p.from(1), true
}

// nameOfTheirs reads what follows a name: John as their first name.
func (p *place) nameOfTheirs() (end int, noun string, ok bool) {
	if p.r(1) != "as" || !english.Set("their", "his", "her", "its", "the")[p.r(2)] {
		return 0, "", false
	}
	for k := 3; k <= 4 && k <= len(p.right); k++ {
		if w := p.r(k); w == "name" || w == "surname" || w == "nickname" || w == "title" {
			return p.right[k-1].End, p.text[p.right[2].Start:p.right[k-1].End], true
		}
	}
	return 0, "", false
}

// quantifiers stand where no article can.
var quantifiers = english.Set("each", "every", "any", "no", "some", "all", "this", "that", "these", "those",
	"another", "many", "only", "my", "our", "your", "their", "his", "her", "its")

// noun leaves out a value that is said as a noun or beside one.
//
//nolint:gocyclo // one branch for each wording around a noun; a table of rules would read better
func (p *place) noun(n *naming, again bool) (edit, bool) {
	if p.task.Query == nil {
		if e, ok, settled := p.spokenNoun(n, again); settled {
			return e, ok
		}
	}
	if callings[p.l(1)] || p.l(1) == "by" && callings[p.l(2)] || p.l(1) == "as" && p.l(2) == "known" {
		return p.called(n, again)
	}
	if e, ok := p.yearOf(n, again); ok {
		return e, true
	}
	for _, find := range []func(*naming) (int, string, bool){p.nounOf, p.nounBefore, p.personNamed} {
		if start, noun, ok := find(n); ok {
			return p.edit(start, p.end, certain(noun, again))
		}
	}
	if start, ok := p.several(n); ok {
		return p.edit(start, p.end, certain(n.noun, again))
	}
	if end, noun, ok := p.nameOfTheirs(); ok && n.proper {
		return p.edit(p.determined(), end, certain(noun, again))
	}
	if possessive(p.after) {
		return p.edit(p.determined(), p.end, certain(n.noun, again)) // its 's stays
	}
	if next := strings.ToLower(p.r(1)); next != "" && !english.FunctionWords[next] && n.kind != kindLike {
		two := next + " " + strings.ToLower(p.r(2))
		if fields := strings.Fields(n.noun); len(fields) > 1 && fields[0] == next && fields[1] != strings.ToLower(p.r(2)) {
			return p.edit(p.determined(), p.right[0].End, certain(n.noun, again)) // a republic government
		}
		if len(p.right) > 1 && slices.Contains(n.beside, two) {
			return p.edit(p.determined(), p.right[1].End, certain(p.text[p.right[0].Start:p.right[1].End], again))
		}
		plural := p.knownNoun(next) && !singularNoun(next)
		described := !n.proper && n.owner != "" && n.noun != n.owner && next == n.owner[strings.LastIndexByte(n.owner,
			' ')+1:]
		if !described && slices.Contains(n.beside, next) && !plural { // an Asian country is no value of a country
			end, noun := p.right[0].End, p.r(1)
			// the PPT template type
			if second := strings.ToLower(p.r(2)); p.knownNoun(second) && !english.FunctionWords[second] {
				end, noun = p.right[1].End, p.text[p.right[0].Start:p.right[1].End]
				if !singularNoun(second) {
					return p.attributive(n, again)
				}
			}
			return p.edit(p.determined(), end, certain(noun, again))
		}
		if e, ok := p.attributive(n, again); ok {
			return e, true
		}
	}
	first, _ := firstRune(p.text[p.start:])
	relative := p.l(1) == "that" && unicode.IsUpper(first) // a ship that Jane Doe inspected
	if quantifiers[p.l(1)] && !relative && !possessive(p.after) {
		if n.proper || n.owner == "" || n.owner == n.noun || n.kind != kindText || p.l(1) == "that" || p.l(1) == "this" {
			return edit{}, false
		}
		thing := n.owner
		if p.l(1) == "all" || p.l(1) == "some" || p.l(1) == "no" || p.l(1) == "many" || p.l(1) == "only" ||
			p.l(1) == "these" || p.l(1) == "those" {
			thing = strings.Join(english.Plural(strings.Fields(thing)), " ")
		}
		return p.edit(p.start, p.end, thing+" of "+certain(n.noun, again))
	}
	if is := p.copula(); is > 0 && p.near(n.noun) {
		return p.edit(p.start, p.end, certain(nounOne, again))
	} else if is > 0 && n.proper && p.near("name") {
		return p.edit(p.start, p.end, certain("name", again))
	} else if w := p.l(is + 1); is > 0 && !n.proper && n.kind == kindText && (w == "who" || w == "that" || w == "which") &&
		n.noun != "value" {
		return p.edit(p.determined(), p.end, "of "+certain(p.shortened(n.noun), again)) // who are of a certain race
	}
	if head := n.noun[strings.LastIndexByte(n.noun, ' ')+1:]; p.l(1) == "as" && trades[head] {
		return p.edit(p.from(1), p.end, "in "+certain(n.noun, again)) // worked in a certain job
	}
	return p.edit(p.determined(), p.end, certain(p.shortened(n.noun), again))
}

// yearOf moves the year of an event behind its name: the Singapore Grand Prix of that year.
func (p *place) yearOf(n *naming, again bool) (edit, bool) {
	k := 0
	for first, _ := firstRune(p.r(k + 1)); k < len(p.right) && unicode.IsUpper(first); first, _ = firstRune(p.r(k + 1)) {
		k++
	}
	if n.kind != kindYear || k == 0 {
		return edit{}, false
	}
	end := p.right[k-1].End
	return p.edit(p.start, end, p.text[p.right[0].Start:end]+" of "+certain("year", again))
}

// trades are what people work in.
var trades = english.Set("job", "position", "role", "profession", "occupation", "function")

// shortened leaves out the first word of a noun where it has just been said: native to a certain region.
func (p *place) shortened(noun string) string {
	first, rest, several := strings.Cut(noun, " ")
	if several && slices.ContainsFunc(p.left, func(w english.Word) bool { return w.Folded == first }) {
		return rest
	}
	return noun
}

func possessive(s string) bool {
	return strings.HasPrefix(s, "'s ") || strings.HasPrefix(s, "’s ") || strings.HasPrefix(s, "' ")
}

// called leaves out the name of a thing: the shop called Kafka becomes a certain shop.
func (p *place) called(n *naming, again bool) (edit, bool) {
	k := 1 // words of the calling
	if p.l(1) == "as" || p.l(1) == "by" {
		k = 2
	}
	if w := p.l(k + 1); w == "otherwise" || w == "also" || w == "better" {
		k++
	}
	for of := 1; of <= 3; of++ {
		if english.FunctionWords[p.l(k+of)] || p.l(k+of) == "" {
			break
		}
		if determiners[p.l(k+of+1)] {
			return p.edit(p.from(k+of+1), p.end, certain(p.text[p.from(k+of):p.left[len(p.left)-k-1].End], again))
		}
	}
	noun := n.noun
	if n.kind != kindText || noun == "value" || n.proper {
		noun = "name"
	}
	return p.edit(p.from(k), p.end, "with "+certain(noun, again))
}

// attributive moves what describes a noun behind it: female students become students of a certain sex.
func (p *place) attributive(n *naming, again bool) (edit, bool) {
	if n.noun == "value" {
		return edit{}, false
	}
	head := 0
	for k := 1; k <= 3 && k <= len(p.right); k++ {
		w := strings.ToLower(p.r(k))
		if english.FunctionWords[w] || !english.IsLower(p.r(k)) && !p.knownNoun(w) {
			break
		}
		if participle(w) {
			break
		}
		if p.knownNoun(w) || !n.proper && k <= 2 && plainPlural(w) {
			head = k
			continue
		}
		if head > 0 {
			break
		}
	}
	if head == 0 {
		return edit{}, false
	}
	chain := p.text[p.right[0].Start:p.right[head-1].End]
	noun := n.noun
	if first, rest, several := strings.Cut(noun, " "); several && akinOrSame(first, p.right[head-1].Folded) {
		noun = rest // pets of a certain type
	} else if akinOrSame(noun, p.right[head-1].Folded) {
		noun = "name" // the math courses
	}
	behind := chain + " of " + certain(noun, again)
	if w := p.l(1); w == "a" || w == "an" {
		return p.edit(p.from(1), p.right[head-1].End, english.Article(chain)+" "+behind)
	}
	return p.edit(p.start, p.right[head-1].End, behind)
}

// plainPlural reports whether a word that no schema knows looks like the plural of a noun.
func plainPlural(w string) bool {
	if len(w) < 4 || !strings.HasSuffix(w, "s") || strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") ||
		strings.HasSuffix(w, "is") {
		return w == "people" || w == "women" || w == "children"
	}
	return !verbs[w]
}

// verbs look like plurals of nouns.
var verbs = english.Set("lives", "works", "takes", "plays", "makes", "speaks", "belongs", "offers", "sells", "costs",
	"holds", "stands", "starts", "contains", "likes", "earns", "comes", "stays", "shows", "appears", "charges", "always",
	"contains", "includes", "grows", "keeps", "does", "gives", "produces", "owns", "uses", "goes", "gets", "runs",
	"pays", "sits", "lies", "says", "sees", "eats", "wins", "acts", "this", "less", "plus", "whose", "news", "gone",
	"hits", "adds", "asks", "puts", "ends")

// knownNoun reports whether a word is a noun of the schema.
func (p *place) knownNoun(w string) bool {
	return w != "" && !english.FunctionWords[w] && p.task.vocabulary().nouns[w]
}

func schemaNouns(t *Task) map[string]bool {
	known := map[string]bool{}
	add := func(tokens []string) {
		one := english.Singular(tokens)
		last := one[len(one)-1]
		known[last] = true
		many := english.Plural([]string{last})
		known[many[0]] = true
	}
	for i := range t.Query.Schema.Tables {
		table := &t.Query.Schema.Tables[i]
		one := wording.NounOf(table).One
		add(one)
		for j := range table.Columns {
			if tokens := wording.ColumnWords(&table.Columns[j]); !english.FunctionWords[tokens[len(tokens)-1]] {
				add(tokens)
			}
		}
	}
	return known
}

// singularNoun reports whether a noun of the schema stands in the singular.
func singularNoun(w string) bool { return english.Singular([]string{w})[0] == w }

func akinOrSame(a, b string) bool { return a == b || english.Akin(a, b) }
