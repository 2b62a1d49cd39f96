package request

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/task/english"
)

// fit says what a rule finds.
type fit int

const (
	unfit   fit = iota // the value is said in another way
	leaves             // the edit leaves the value out
	awkward            // nothing can be left out so that English remains
)

// A rule leaves a value out of one way of saying it. The first rule of a table that fits decides.
type rule struct {
	// The example is the rule's test: values of column, in brackets, are left out of before. A column with a hyphen is the
	// argument of a tool that cannot be run. After is empty where the rule finds it awkward.
	column, before, after string
	leave                 func(p *place, n *naming) (edit, fit)
}

// replace returns the edit that leaves out the value.
func (p *place) replace(n *naming) (edit, bool) {
	if strings.HasPrefix(p.after, "-") || p.start > 0 && p.text[p.start-1] == '-' {
		return edit{}, false // part of a compound
	}
	e, _, ok := p.decide(n.rules(), n)
	return e, ok && !p.collides(e)
}

// rules returns the table for values of a kind.
func (n *naming) rules() []rule {
	switch n.kind {
	case kindLimit:
		return limitRules
	case kindNumber:
		return numberRules
	}
	return nounRules
}

// decide returns what the first rule that fits leaves, and its place in the table.
func (p *place) decide(rules []rule, n *naming) (e edit, at int, ok bool) {
	for at := range rules {
		if e, found := rules[at].leave(p, n); found != unfit {
			return e, at, found == leaves
		}
	}
	return edit{}, len(rules), false
}

func (p *place) edit(start, end int, text string) (edit, fit) { return edit{start, end, text}, leaves }

// certain marks a noun that replaces the value here.
func (p *place) certain(noun string) string { return certain(noun, p.again) }

// limitRules leave out how many rows are asked for.
var limitRules = []rule{
	{"", "Name the top [3] longest ships", "Name a certain number of the longest ships", (*place).topOfSuperlative},
	{"", "Name the first [3] ships", "Name a certain number of the first ships", (*place).topRows},
	{"", "Name the [3]", "Name a certain number", (*place).rowsAlone},
	{"", "Name the [3] ships", "Name a certain number of the ships", (*place).theRows},
	{"", "Which [3] ships are longest?", "Which few ships are longest?", (*place).whichRows},
	{"", "Name [3] longest ships", "Name a certain number of the longest ships", (*place).superlativeRows},
	{"", "Name [3] ships", "Name a certain number of ships", func(p *place, _ *naming) (edit, fit) {
		return p.edit(p.start, p.end, certain("number", false)+" of")
	}},
}

// beforeTop returns the offset of the word before the value that says from which end rows are taken, with its article.
func (p *place) beforeTop() int {
	if p.l(2) == "the" {
		return p.from(2)
	}
	return p.from(1)
}

func (p *place) topOfSuperlative(*naming) (edit, fit) {
	if !tops[p.l(1)] || !superlative(p.r(1)) {
		return edit{}, unfit
	}
	return p.edit(p.beforeTop(), p.end, certain("number", false)+" of the")
}

func (p *place) topRows(*naming) (edit, fit) {
	if !tops[p.l(1)] {
		return edit{}, unfit
	}
	return p.edit(p.beforeTop(), p.end, certain("number", false)+" of the "+p.l(1))
}

func (p *place) rowsAlone(*naming) (edit, fit) {
	if next := p.r(1); next != "" && (!english.FunctionWords[strings.ToLower(next)] || next == "most" || next == "least") {
		return edit{}, unfit
	}
	start := p.start
	if p.l(1) == "the" {
		start = p.from(1)
	}
	return p.edit(start, p.end, certain("number", false))
}

func (p *place) theRows(*naming) (edit, fit) {
	if p.l(1) != "the" {
		return edit{}, unfit
	}
	return p.edit(p.from(1), p.end, certain("number", false)+" of the")
}

func (p *place) whichRows(*naming) (edit, fit) {
	if p.l(1) != "which" && p.l(1) != "what" {
		return edit{}, unfit
	}
	return p.edit(p.start, p.end, certain(nounFew, false))
}

func (p *place) superlativeRows(*naming) (edit, fit) {
	if !superlative(p.r(1)) {
		return edit{}, unfit
	}
	return p.edit(p.start, p.end, certain("number", false)+" of the")
}

// numberRules leave out numbers.
var numberRules = []rule{
	{"row-count", "Show the top [7] rows", "Show a certain number of the top rows", (*place).topOfTool},
	{"age", "ships with [7] % of sailors", "ships with a certain percentage of sailors", (*place).percentage},
	{"length_m", "ships that cost $[70]", "ships that cost a certain amount", (*place).amount},
	{"age", "captains with an age of [70]", "captains with a certain age", (*place).measureOf},
	{"age", "captains of age [70]", "captains of a certain age", (*place).measureBefore},
	{"crew", "ships with [7] or more sailors", "ships with at least a certain number of sailors", (*place).orMore},
	{"age", "captains who are [70] years old", "captains who are of a certain age", (*place).yearsOld},
	{"age", "captains of [70] age", "captains of a certain age", (*place).measureAfter},
	{"crew", "ships with a [7] sailor", "", (*place).articleBefore},
	{"crew", "the [7] sailor ships", "the ships with a certain number of sailors", (*place).numberOfCompound},
	{"crew", "all [7] sailors", "A certain number of the sailors", (*place).theThings},
	{"crew", "ships with [7] sailors", "ships with a certain number of sailors", (*place).countedThings},
	{"crew", "the [7] most common flags", "A certain number of the most common flags", (*place).mostThings},
	{"age", "captains whose age is [70]", "captains whose age is a particular one", (*place).measureAgain},
	{"age", "captains older than [70]", "captains older than a certain age", (*place).measure},
}

// topOfTool reads how many rows a tool that cannot be run returns.
func (p *place) topOfTool(n *naming) (edit, fit) {
	if p.task.Query != nil || !tops[p.l(1)] {
		return edit{}, unfit
	}
	e, _, _ := p.decide(limitRules, n)
	return e, leaves
}

func (p *place) percentage(*naming) (edit, fit) {
	if !p.percent {
		return edit{}, unfit
	}
	return p.edit(p.determined(), p.end, p.certain("percentage"))
}

func (p *place) amount(*naming) (edit, fit) {
	if !p.money {
		return edit{}, unfit
	}
	return p.edit(p.start, p.end, p.certain("amount"))
}

func (p *place) measureOf(n *naming) (edit, fit) { return p.found(p.nounOf, n, !n.counts) }

func (p *place) measureBefore(n *naming) (edit, fit) { return p.found(p.nounBefore, n, !n.counts) }

// found replaces the value and the noun that a finder finds before it.
func (p *place) found(find func(*naming) (int, string, bool), n *naming, may bool) (edit, fit) {
	start, noun, ok := find(n)
	if !ok || !may {
		return edit{}, unfit
	}
	return p.edit(start, p.end, p.certain(noun))
}

func (p *place) orMore(*naming) (edit, fit) {
	bound := map[string]string{"more": "at least ", "less": "at most ", "fewer": "at most "}[strings.ToLower(p.r(2))]
	if bound == "" || strings.ToLower(p.r(1)) != "or" || len(p.right) < 3 ||
		english.FunctionWords[strings.ToLower(p.r(3))] || !english.IsLower(p.r(3)) {
		return edit{}, unfit
	}
	return p.edit(p.start, p.right[1].End, bound+p.certain("number")+" of")
}

func (p *place) yearsOld(*naming) (edit, fit) {
	words := 2
	if p.r(2) == "of" {
		words = 3
	}
	if two := p.next(2); p.quoted || two != "years old" && (two != "years of" || words == 3 && p.next(3) != "years of age") {
		return edit{}, unfit
	}
	age := p.certain("age")
	if copulas[p.l(1)] {
		age = "of " + age
	}
	return p.edit(p.start, p.right[words-1].End, age)
}

// counts reports whether the word after a number may be what it counts, or its unit.
func (p *place) counts() bool {
	next := p.next(1)
	return !p.quoted && next != "" && english.IsLower(p.r(1)) && !english.FunctionWords[next] && !participle(next) &&
		p.next(2) != "years of"
}

func (p *place) measureAfter(n *naming) (edit, fit) {
	next := p.next(1)
	if !p.counts() || !p.knownNoun(next) || !singularNoun(next) || n.counts || !slices.Contains(n.beside, next) {
		return edit{}, unfit
	}
	return p.edit(p.determined(), p.right[0].End, p.certain(next))
}

func (p *place) articleBefore(*naming) (edit, fit) {
	if !p.counts() || p.l(1) != "a" && p.l(1) != "an" {
		return edit{}, unfit
	}
	return edit{}, awkward
}

func (p *place) numberOfCompound(*naming) (edit, fit) {
	next, second := p.next(1), strings.ToLower(p.r(2))
	if !p.counts() || !p.knownNoun(next) || !singularNoun(next) || !p.knownNoun(second) && !plainPlural(second) ||
		singularNoun(second) {
		return edit{}, unfit
	}
	return p.edit(p.start, p.right[1].End,
		p.r(2)+" with "+p.certain("number")+" of "+english.Plural([]string{p.r(1)})[0])
}

func (p *place) theThings(*naming) (edit, fit) {
	if !p.counts() || p.l(1) != "the" && p.l(1) != "all" {
		return edit{}, unfit
	}
	end, things := p.things()
	return p.edit(p.from(1), end, p.certain("number")+" of the"+things)
}

func (p *place) countedThings(*naming) (edit, fit) {
	if !p.counts() {
		return edit{}, unfit
	}
	end, things := p.things()
	return p.edit(p.start, end, p.certain("number")+" of"+things)
}

func (p *place) mostThings(*naming) (edit, fit) {
	if next := p.next(1); p.quoted || next != "most" && next != "least" {
		return edit{}, unfit
	}
	return p.edit(p.determined(), p.end, p.certain("number")+" of the")
}

// measured returns the noun for a number beside which no noun is found.
func (p *place) measured(n *naming) string {
	switch {
	case n.noun == "value" || n.counts:
		return "number"
	case prices[p.l(1)]:
		return "amount"
	}
	return n.noun
}

func (p *place) measureAgain(n *naming) (edit, fit) {
	if p.copula() == 0 || !p.near(p.measured(n)) {
		return edit{}, unfit
	}
	return p.edit(p.start, p.end, p.certain(nounOne))
}

func (p *place) measure(n *naming) (edit, fit) {
	return p.edit(p.determined(), p.end, p.certain(p.measured(n)))
}

// nounRules leave out values that are said as a noun or beside one.
var nounRules = []rule{
	{"title-", "Start the game '[Chess]'", "Start a certain game", (*place).nameAfterNoun},
	{"scale-name", "Play the [C] major scale", "", (*place).unknownNounAfter},
	{"x9-", "Start [Chess]", "", (*place).withoutNoun},
	{"name", "the ship called [Pearl]", "A certain ship", (*place).thingCalled},
	{"name", "who sails on what is called [Pearl]", "who sails on what is with a certain name", (*place).called},
	{"built", "the [2016] Pearl Regatta", "the Pearl Regatta of a certain year", (*place).yearOf},
	{"flag", "ships under the flag of [Malta]", "ships under a certain flag",
		func(p *place, n *naming) (edit, fit) { return p.found(p.nounOf, n, true) }},
	{"flag", "ships under the flag [Malta]", "ships under a certain flag",
		func(p *place, n *naming) (edit, fit) { return p.found(p.nounBefore, n, true) }},
	{"full_name", "trained by the old driver [Ada Lund]", "trained by a certain old driver",
		func(p *place, n *naming) (edit, fit) { return p.found(p.personNamed, n, true) }},
	{"flag", "ships of the flags [Malta] and Panama", "ships of a certain flag and Panama", (*place).several},
	{"full_name", "the captain with [Ada Lund] as their full name", "the captain with a certain full name",
		(*place).nameOfTheirs},
	{"full_name", "[Ada Lund]'s age", "A certain captain's age", (*place).owned},
	{"home_port", "ships with a [Maltese] home", "ships with a certain home port", (*place).firstOfNoun},
	{"home_port", "ships of the [Maltese] home port", "ships of a certain home port", (*place).twoNounsAfter},
	{"flag", "ships under the [Malta] flag", "ships under a certain flag", (*place).nounAfter},
	{"flag", "the longest [Maltese] ship", "the longest ship of a certain flag", (*place).attributive},
	{"full_name", "Is there any [Ada Lund]?", "", (*place).nameQuantified},
	{"sex", "Show all [female]", "Show all captains of a certain sex", (*place).quantified},
	{"nationality", "captains whose nationality is [French]", "captains whose nationality is a particular one",
		(*place).sayAgain},
	{"full_name", "whose name is not [Ada Lund]", "whose name is not a certain name", (*place).nameAgain},
	{"nationality", "captains who are [French]", "captains who are of a certain nationality", (*place).whoAre},
	{"role", "captains who worked as [cook]", "captains who worked in a certain role", (*place).workedAs},
	{"flag", "ships from [Malta]", "ships from a certain flag", func(p *place, n *naming) (edit, fit) {
		return p.edit(p.determined(), p.end, p.certain(p.shortened(n.noun)))
	}},
}

// unknown reports whether a value belongs to a tool that cannot be run, and no noun before it says what it is.
func (p *place) unknown(n *naming) bool {
	if p.task.Query != nil {
		return false
	}
	_, _, known := p.nounBefore(n)
	return !known
}

// nameAfterNoun replaces a name with the noun of the request before it.
func (p *place) nameAfterNoun(n *naming) (edit, fit) {
	first, _ := firstRune(strings.TrimLeft(p.text[p.start:p.end], "\"'“‘`"))
	if !p.unknown(n) || !p.quoted && !unicode.IsUpper(first) && !unicode.IsDigit(first) {
		return edit{}, unfit
	}
	for k := 1; k <= 2; k++ {
		noun := p.l(k)
		if noun == "" || english.FunctionWords[noun] || hinges[noun] || participle(noun) || strings.HasSuffix(noun, "ing") ||
			callings[noun] {
			break
		}
		if determiners[p.l(k+1)] {
			return p.edit(p.from(k+1), p.end, p.certain(p.text[p.from(k):p.left[len(p.left)-1].End]))
		}
	}
	return edit{}, unfit
}

// unknownNounAfter refuses a name before a noun that does not say what the value is.
func (p *place) unknownNounAfter(n *naming) (edit, fit) {
	next := p.next(1)
	if !p.unknown(n) || next == "" || english.FunctionWords[next] || possessive(p.after) || slices.Contains(n.beside, next) ||
		p.quoted {
		return edit{}, unfit
	}
	return edit{}, awkward
}

func (p *place) withoutNoun(n *naming) (edit, fit) {
	if !p.unknown(n) || n.noun != "" && n.noun != "value" {
		return edit{}, unfit
	}
	return edit{}, awkward
}

// calling counts the words before a name that say that it is one: otherwise known as.
func (p *place) calling() int {
	k := 0
	switch {
	case callings[p.l(1)]:
		k = 1
	case p.l(1) == "by" && callings[p.l(2)], p.l(1) == "as" && p.l(2) == "known":
		k = 2
	default:
		return 0
	}
	if w := p.l(k + 1); w == "otherwise" || w == "also" || w == "better" {
		k++
	}
	return k
}

func (p *place) thingCalled(*naming) (edit, fit) {
	k := p.calling()
	for of := 1; of <= 3 && k > 0; of++ {
		if english.FunctionWords[p.l(k+of)] || p.l(k+of) == "" {
			break
		}
		if determiners[p.l(k+of+1)] {
			return p.edit(p.from(k+of+1), p.end, p.certain(p.text[p.from(k+of):p.left[len(p.left)-k-1].End]))
		}
	}
	return edit{}, unfit
}

func (p *place) called(n *naming) (edit, fit) {
	k := p.calling()
	if k == 0 {
		return edit{}, unfit
	}
	noun := n.noun
	if n.kind != kindText || noun == "value" || n.proper {
		noun = "name"
	}
	return p.edit(p.from(k), p.end, "with "+p.certain(noun))
}

// several leaves out the first of two values after the plural of what they are.
func (p *place) several(n *naming) (edit, fit) {
	w, next := p.l(1), p.next(1)
	if w == "" || singularNoun(w) || !english.Akin(n.noun, w) || !p.task.vocabulary().words[w] ||
		next != "and" && next != "or" {
		return edit{}, unfit
	}
	start := p.from(1)
	if determiners[p.l(2)] {
		start = p.from(2)
	}
	return p.edit(start, p.end, p.certain(n.noun))
}

// nameOfTheirs leaves out a name and what it is to its owner.
func (p *place) nameOfTheirs(n *naming) (edit, fit) {
	if !n.proper || p.r(1) != "as" || !english.Set("their", "his", "her", "its", "the")[p.r(2)] {
		return edit{}, unfit
	}
	for k := 3; k <= 4 && k <= len(p.right); k++ {
		if w := p.r(k); w == "name" || w == "surname" || w == "nickname" || w == "title" {
			end := p.right[k-1].End
			return p.edit(p.determined(), end, p.certain(p.text[p.right[2].Start:end]))
		}
	}
	return edit{}, unfit
}

func (p *place) owned(n *naming) (edit, fit) {
	if !possessive(p.after) {
		return edit{}, unfit
	}
	return p.edit(p.determined(), p.end, p.certain(n.noun)) // its 's stays
}

// nounMayFollow reports whether the word after the value may be a noun that it describes.
func (p *place) nounMayFollow(n *naming) bool {
	next := p.next(1)
	return next != "" && !english.FunctionWords[next] && n.kind != kindLike
}

// firstOfNoun reads the first word of the value's noun: a republic government.
func (p *place) firstOfNoun(n *naming) (edit, fit) {
	fields := strings.Fields(n.noun)
	if !p.nounMayFollow(n) || len(fields) < 2 || fields[0] != p.next(1) || fields[1] == strings.ToLower(p.r(2)) {
		return edit{}, unfit
	}
	return p.edit(p.determined(), p.right[0].End, p.certain(n.noun))
}

func (p *place) twoNounsAfter(n *naming) (edit, fit) {
	if !p.nounMayFollow(n) || len(p.right) < 2 || !slices.Contains(n.beside, p.next(1)+" "+strings.ToLower(p.r(2))) {
		return edit{}, unfit
	}
	return p.edit(p.determined(), p.right[1].End, p.certain(p.text[p.right[0].Start:p.right[1].End]))
}

// nounAfter reads a noun that says what the value is. An Asian country is no value of a country.
func (p *place) nounAfter(n *naming) (edit, fit) {
	next := p.next(1)
	plural := p.knownNoun(next) && !singularNoun(next)
	described := !n.proper && n.owner != "" && n.noun != n.owner && next == lastWord(n.owner)
	if !p.nounMayFollow(n) || described || plural || !slices.Contains(n.beside, next) {
		return edit{}, unfit
	}
	last := p.right[0]
	if second := strings.ToLower(p.r(2)); p.knownNoun(second) { // the PPT template type
		if last = p.right[1]; !singularNoun(second) {
			if e, found := p.attributive(n); found == leaves {
				return e, found
			}
			return edit{}, awkward
		}
	}
	return p.edit(p.determined(), last.End, p.certain(p.text[p.right[0].Start:last.End]))
}

// quantifier reports whether a word before the value leaves no room for an article. Of a relative clause (a ship that
// Jane Doe inspected) it does.
func (p *place) quantifier() bool {
	first, _ := firstRune(p.text[p.start:])
	return quantifiers[p.l(1)] && (p.l(1) != "that" || !unicode.IsUpper(first)) && !possessive(p.after)
}

func (p *place) nameQuantified(n *naming) (edit, fit) {
	if p.quantifier() && (n.proper || n.owner == "" || n.owner == n.noun || n.kind != kindText || p.l(1) == "that" ||
		p.l(1) == "this") {
		return edit{}, awkward
	}
	return edit{}, unfit
}

func (p *place) quantified(n *naming) (edit, fit) {
	if !p.quantifier() {
		return edit{}, unfit
	}
	thing := n.owner
	if english.Set("all", "some", "no", "many", "only", "these", "those")[p.l(1)] {
		thing = strings.Join(english.Plural(strings.Fields(thing)), " ")
	}
	return p.edit(p.start, p.end, thing+" of "+p.certain(n.noun))
}

func (p *place) sayAgain(n *naming) (edit, fit) {
	if p.copula() == 0 || !p.near(n.noun) {
		return edit{}, unfit
	}
	return p.edit(p.start, p.end, p.certain(nounOne))
}

func (p *place) nameAgain(n *naming) (edit, fit) {
	if p.copula() == 0 || !n.proper || !p.near("name") {
		return edit{}, unfit
	}
	return p.edit(p.start, p.end, p.certain("name"))
}

func (p *place) whoAre(n *naming) (edit, fit) {
	is := p.copula()
	if w := p.l(is + 1); is == 0 || n.proper || n.kind != kindText || n.noun == "value" || w != "who" && w != "that" &&
		w != "which" {
		return edit{}, unfit
	}
	return p.edit(p.determined(), p.end, "of "+p.certain(p.shortened(n.noun)))
}

func (p *place) workedAs(n *naming) (edit, fit) {
	if p.l(1) != "as" || !trades[lastWord(n.noun)] {
		return edit{}, unfit
	}
	return p.edit(p.from(1), p.end, "in "+p.certain(n.noun))
}
