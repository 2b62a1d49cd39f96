package request

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/task/english"
	"github.com/seatrial/seatrial/internal/tools/wording"
)

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
	again      bool   // the request has said the value before
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

// next returns the next n words to the right in small letters.
func (p *place) next(n int) string {
	var b strings.Builder
	for i := 1; i <= n && i <= len(p.right); i++ {
		if i > 1 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.ToLower(p.r(i)))
	}
	return b.String()
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

func superlative(w string) bool {
	w = strings.ToLower(w)
	return w == "most" || w == "least" || len(w) > 4 && strings.HasSuffix(w, "est")
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

// quantifiers stand where no article can.
var quantifiers = english.Set("each", "every", "any", "no", "some", "all", "this", "that", "these", "those",
	"another", "many", "only", "my", "our", "your", "their", "his", "her", "its")

// yearOf moves the year of an event behind its name: the Singapore Grand Prix of that year.
func (p *place) yearOf(n *naming) (edit, fit) {
	k := 0
	for first, _ := firstRune(p.r(k + 1)); k < len(p.right) && unicode.IsUpper(first); first, _ = firstRune(p.r(k + 1)) {
		k++
	}
	if n.kind != kindYear || k == 0 {
		return edit{}, unfit
	}
	end := p.right[k-1].End
	return p.edit(p.start, end, p.text[p.right[0].Start:end]+" of "+p.certain("year"))
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

// attributive moves what describes a noun behind it: female students become students of a certain sex.
func (p *place) attributive(n *naming) (edit, fit) {
	if n.noun == "value" || n.kind == kindLike {
		return edit{}, unfit
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
		return edit{}, unfit
	}
	chain := p.text[p.right[0].Start:p.right[head-1].End]
	noun := n.noun
	if first, rest, several := strings.Cut(noun, " "); several && akinOrSame(first, p.right[head-1].Folded) {
		noun = rest // pets of a certain type
	} else if akinOrSame(noun, p.right[head-1].Folded) {
		noun = "name" // the math courses
	}
	behind := chain + " of " + p.certain(noun)
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
