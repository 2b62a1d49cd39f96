package request

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/condition/request/grammar"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
)

// draft is a request whose value is replaced by a marked noun.
type draft struct {
	texts []string // of the messages
	noun  string   // names the value in a sentence of its own, where the marked noun does not
	value string   // as the request said it, in its grammar.Quotes
	turn  bool     // the value is all that a turn says
}

// opening is the place of a marked noun in a message.
type opening struct {
	before, after string
	noun          string
	task          *Task
}

// openingOf finds the first marked noun.
func openingOf(t *Task, s string) (*opening, bool) {
	before, rest, found := strings.Cut(s, string(grammar.MarkFirst))
	noun, after, _ := strings.Cut(rest, string(grammar.MarkEnd))
	return &opening{before: before, after: after, noun: noun, task: t}, found
}

// ends reports whether a clause ends after the noun, so that more can be said of it there.
func (o *opening) ends() bool {
	return strings.TrimSpace(o.after) == "" || strings.ContainsRune(".?!,;", rune(strings.TrimLeft(o.after, " ")[0]))
}

// counts reports whether the noun counts other things: a certain number of ships.
func (o *opening) counts() bool { return strings.HasPrefix(o.after, " of ") }

// listed reports whether the noun is an item of a list, where a comma would read as one more item.
func (o *opening) listed() bool {
	after := strings.TrimSpace(o.after)
	return strings.HasSuffix(strings.TrimSpace(o.before), ",") || strings.HasPrefix(after, ",") ||
		strings.HasPrefix(after, "or ") || strings.HasPrefix(after, "and ") || strings.HasSuffix(o.before, " and ") ||
		strings.HasSuffix(o.before, " or ")
}

// ours are nouns for things that a person may have.
var ours = english.Set("region", "country", "city", "town", "state", "county", "district", "department", "company",
	"team", "club", "school", "college", "university", "airport", "shop", "store", "project", "course", "group",
	"league", "airline", "branch", "museum", "garden", "ship", "station", "hotel", "customer", "student", "player",
	"driver", "supplier", "publisher", "product", "album", "set", "category", "genre", "office", "building", "account",
	"contract", "property", "branch", "stadium", "festival", "library", "restaurant", "race", "event", "location")

// openForm is a wording of a noun that does not say which one is meant. The grammar decides where it fits.
type openForm struct {
	form  string // %s is the noun, %p its plural
	close bool   // a name can follow at once: the given year 1999
	fits  func(o *opening) bool
}

func (o *opening) anywhere() bool { return true }
func (o *opening) pointed() bool  { return o.noun != grammar.NounOne }
func (o *opening) named() bool    { return o.pointed() && !o.counts() }
func (o *opening) belongs() bool  { return o.named() && ours[grammar.LastWord(o.noun)] }
func (o *opening) isBare() bool {
	return o.named() && !bareless[grammar.LastWord(o.noun)] && !strings.HasSuffix(o.before, " of ")
}

// bareless nouns need more than an article to mean a certain one.
var bareless = english.Set("number", "value", "text", "word", "amount", "type", "kind", "name", "age", "sex", "gender")

// openForms are the wordings without a relative clause.
var openForms = []openForm{
	{"a certain %s", true, (*opening).pointed},
	{"a particular %s", false, (*opening).anywhere},
	{"a specific %s", false, (*opening).pointed},
	{"one particular %s", true, (*opening).named},
	{"the given %s", true, (*opening).pointed},
	{"the chosen %s", true, (*opening).pointed},
	{"the usual %s", true, (*opening).anywhere},
	{"the very same %s", true, (*opening).named},
	{"that %s", false, (*opening).pointed},
	{"this %s", false, (*opening).pointed},
	{"the %s", false, (*opening).isBare},
	{"our %s", true, (*opening).belongs},
	{"my %s", true, (*opening).belongs},
	{"one of our %p", false, (*opening).belongs},
	{"one of those %p", false, (*opening).belongs},
}

// Tails of a wording. %o is an origin, which says where the value could be looked up, without saying what it is.
var (
	tails   = []string{" %o", " %o", " %o", " %o", ", the one %o"}
	origins = []string{
		"I told you about", "I have in mind", "on my list", "from my notes", "we discussed", "you know", "in question",
		"from last time",
	}
)

// phrase is a wording of a noun: with the value, it reads the same and has one value more.
type phrase struct {
	head, tail string
	close      bool // see openForm
}

func (p *phrase) without() string { return p.head + p.tail }

// with adds a value: right after the noun where both read as one name, otherwise set off.
func (p *phrase) with(value string, ends bool) string {
	if p.close && namelike(value) && !strings.HasSuffix(english.Fold(value), grammar.LastWord(english.Fold(p.head))) {
		return p.head + " " + value + p.tail
	}
	said := p.head + p.tail + ", " + value
	if !ends {
		said += ","
	}
	return said
}

// namelike reports whether a value can follow a noun as its name does: a name, a number, or what is quoted.
func namelike(value string) bool {
	first, _ := grammar.FirstRune(value)
	_, quoted := grammar.Quotes[first]
	return quoted || unicode.IsUpper(first) || unicode.IsDigit(first)
}

// carrier is a sentence of its own that names the value.
type carrier struct {
	form  string // %n is the phrase
	first bool   // it precedes the request
	alone bool   // it makes sense where the request does not mention the noun
}

var carriers = []carrier{
	{"It is %n.", false, false},
	{"Please take %n.", false, false},
	{"I mean %n.", false, true},
	{"This is about %n.", true, true},
	{"My question is about %n.", true, true},
	{"I am looking at %n.", true, true},
}

// adverbs may begin a carrier. What is said with one comma without a value can be said with none before a value that
// needs one.
var adverbs = []string{"As I said", "Again", "For now", "This time"}

// clausePrepositions begin phrases that a sentence can do without.
var clausePrepositions = english.Set("from", "in", "of", "for", "at", "on", "by", "with")

// withoutPhrase returns the text before a phrase that ends a sentence and that a sentence of its own can replace: there
// are [from France]. It is "" where the sentence needs the phrase.
func (o *opening) withoutPhrase() string {
	all := english.Words(o.before)
	n := len(all)
	if n < 3 || !o.ends() || o.noun == grammar.NounOne || !clausePrepositions[all[n-1].Folded] ||
		strings.ContainsAny(o.after, string(grammar.MarkAgain)) || strings.TrimSpace(o.before[all[n-1].End:]) != "" {
		return ""
	}
	head := all[n-2]
	if head.Text != "there" && (!o.task.vocabulary().Nouns[head.Folded] || english.FunctionWords[head.Folded]) ||
		o.before[head.End:all[n-1].Start] != " " {
		return ""
	}
	return o.before[:head.End]
}

// pair is a request in one wording, without its value and with it.
type pair struct {
	phrase        phrase
	without, with string
}

// word chooses a wording for a draft. It depends on the draft alone, which is the same for every value that the request
// could have had. Where the grammar allows, the value has a sentence of its own.
func word(t *Task, d *draft, s string) (pair, bool) {
	o, found := openingOf(t, s)
	if !found {
		return pair{}, false
	}
	draw := task.Draw(t.Seed, "open wording", t.scope(), s)
	rest := o.withoutPhrase()
	switch {
	case d.turn:
		return o.inPlace(d, s, draw), true
	case rest != "" && draw.IntN(3) == 0:
		return o.carry(d, rest+o.after, "", draw), true
	case o.noun == grammar.NounFew || o.counts() || grammar.Possessive(o.after) || o.listed() || draw.IntN(2) == 0:
		return o.carry(d, s, o.noun, draw), true
	}
	return o.inPlace(d, s, draw), true
}

// choose draws one of the wordings that fit; close leaves those that a name can follow at once.
func (o *opening) choose(close bool, draw *rand.Rand) phrase {
	var fitting []openForm
	for _, f := range openForms {
		if f.fits(o) && (f.close || !close) {
			fitting = append(fitting, f)
		}
	}
	f := fitting[draw.IntN(len(fitting))]
	many := strings.Join(english.Plural(strings.Fields(o.noun)), " ")
	return phrase{strings.NewReplacer("%s", o.noun, "%p", many).Replace(f.form), "", f.close}
}

// tailed draws a wording of a noun that says where its value could be looked up.
func tailed(noun string, tails []string, draw *rand.Rand) phrase {
	origin := origins[draw.IntN(len(origins))]
	return phrase{"the " + noun, strings.Replace(tails[draw.IntN(len(tails))], "%o", origin, 1), noun != grammar.NounOne}
}

// inPlace words the noun without moving it.
func (o *opening) inPlace(d *draft, s string, draw *rand.Rand) pair {
	p := o.choose(draw.IntN(4) > 0, draw)
	if o.ends() && draw.IntN(2) == 0 {
		p = tailed(o.noun, tails, draw)
	}
	say := func(phrase string) string { return grammar.Worded(s, func(string) string { return phrase }, "that ") }
	return pair{p, say(p.without()), say(p.with(d.value, o.ends()))}
}

// carry names the value in a sentence of its own; noun is what the request calls it, "" where it does not.
func (o *opening) carry(d *draft, s, noun string, draw *rand.Rand) pair {
	var fitting []carrier
	for _, c := range carriers {
		if (noun != "" || c.alone) && (!c.first || noun != grammar.NounFew && noun != grammar.NounOne) {
			fitting = append(fitting, c)
		}
	}
	c := fitting[draw.IntN(len(fitting))]
	name := noun
	switch noun {
	case "":
		name = d.noun
	case grammar.NounOne:
		name = d.noun
		fallthrough
	default:
		phrase := o.choose(false, draw).head
		if c.first {
			phrase = []string{"that ", "this "}[draw.IntN(2)] + noun
		}
		if noun == grammar.NounFew {
			phrase, name = noun, d.noun
		}
		s = grammar.Worded(s, func(string) string { return phrase }, "that ")
	}
	p := tailed(name, tails, draw)
	adverb := ""
	if draw.IntN(2) == 0 && !strings.HasPrefix(c.form, "Please") {
		adverb = adverbs[draw.IntN(len(adverbs))]
	}
	with := p.with(d.value, true)
	comma := strings.Count(with, ",") == strings.Count(p.without(), ",")
	return pair{p, c.beside(s, adverb, p.without(), true), c.beside(s, adverb, with, comma)}
}

// beside writes the sentence before or after a request.
func (c *carrier) beside(s, adverb, phrase string, comma bool) string {
	sentence := strings.Replace(c.form, "%n", phrase, 1)
	if adverb != "" {
		if comma {
			adverb += ","
		}
		if sentence[:2] != "I " {
			sentence = lowered(sentence)
		}
		sentence = adverb + " " + sentence
	}
	if c.first {
		return sentence + " " + s
	}
	s = strings.TrimRight(s, " \n")
	if last, _ := grammar.LastRune(s); !strings.ContainsRune(".?!:\"'”)", last) {
		s += "."
	}
	return s + " " + sentence
}

// finish words a draft and writes it into a dropped request, with the complete request beside it. Both have the same
// evidence, unless the clauses left out explain more than the value.
func (v *Value) finish(d *Dropped, made *draft) string {
	last := len(v.task.Messages)
	d.Evidence, d.WholeEvidence = made.texts[last], v.task.Evidence
	if d.Evidence != v.task.Evidence && explainsValue(v.task.Evidence, d.Evidence) {
		d.WholeEvidence, made.value = d.Evidence, text(v.Value)
	}
	texts, whole := slices.Clone(made.texts), slices.Clone(made.texts)
	for i, s := range made.texts[:last] {
		if p, found := word(v.task, made, s); found && d.Phrase == "" {
			d.phrase, d.Phrase, texts[i], whole[i] = p.phrase, p.phrase.without(), p.without, p.with
		} else {
			texts[i] = grammar.Plain(s)
			whole[i] = texts[i]
		}
	}
	d.Messages, d.Whole, d.value = v.task.with(texts).Messages, v.task.with(whole).Messages, made.value
	for _, m := range d.Messages {
		if v.remains(m.Content, d.Form, false) {
			return ReasonRemains
		}
	}
	said := func(m task.Message) bool {
		return len(v.find(m.Content)) > 0 || strings.Contains(m.Content, made.value)
	}
	if d.Phrase == "" || !slices.ContainsFunc(d.Whole, said) || slices.Equal(d.Whole, v.task.Messages) {
		return ReasonAwkward
	}
	for _, k := range keptAsSaid(Values(v.task)) {
		if text(k.Value) == text(v.Value) {
			if k.Form, k.Rule = made.value, RuleAsSaid; k.Form == text(v.Value) {
				k.Rule = ""
			}
		}
		d.Kept = append(d.Kept, k)
	}
	return ""
}

// explainsValue reports whether the clauses that evidence lost only compare a column with a value.
func explainsValue(was, is string) bool {
	left := clauses(is)
	return !slices.ContainsFunc(clauses(was), func(clause string) bool {
		lost := !slices.ContainsFunc(left, func(c string) bool { return strings.TrimSpace(c) == strings.TrimSpace(clause) })
		return lost && (strings.Contains(clause, "(") || len(equation.FindAllString(clause, -1)) != 1)
	})
}

// WithValue adds the value to a text that says the phrase in its place.
func (d *Dropped) WithValue(said string) (string, error) {
	start, end, found := d.place(said)
	if !found {
		return "", fmt.Errorf("the text does not say %q once", d.Phrase)
	}
	o := opening{after: said[end:]}
	whole := d.phrase.with(d.value, o.ends())
	if said[start:end] != d.Phrase {
		whole = english.Capital(whole)
	}
	return said[:start] + whole + o.after, nil
}

// place finds where a text says the phrase, if it says it once.
func (d *Dropped) place(said string) (start, end int, found bool) {
	for _, form := range []string{d.Phrase, english.Capital(d.Phrase)} {
		if at := strings.Index(said, form); at >= 0 && form != "" && !found {
			start, end, found = at, at+len(form), true
			if strings.Contains(said[end:], form) {
				return 0, 0, false
			}
		}
	}
	return start, end, found
}
