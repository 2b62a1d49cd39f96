package unsaid

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/task/english"
)

// said is a word of a request.
type said struct{ folded, stem string }

// imperatives are verbs at the beginning of a sentence, and names of columns elsewhere.
var imperatives = english.Set("name", "state", "list", "order", "rank", "number", "show", "report")

func wordsOf(text string) []said {
	text = strings.ReplaceAll(text, "_", " ")
	var list []said
	for _, w := range english.Words(text) {
		before := strings.TrimRight(text[:w.Start], " \n\"'")
		if begins := before == "" || strings.ContainsAny(before[len(before)-1:], ".?!"); begins && imperatives[w.Folded] {
			list = append(list, said{})
			continue
		}
		list = append(list, said{w.Folded, english.Stem(w.Folded)})
	}
	return fullNames(list)
}

// partsOfName are words before the word name that share it: first and last name.
var partsOfName = english.Set("first", "given", "middle", "last", "family")

// fullNames repeats the word name after each part of a name that shares it, so that first and last name is first name
// and last name.
func fullNames(words []said) []said {
	name := said{"name", english.Stem("name")}
	var list []said
	for i, w := range words {
		list = append(list, w)
		if !partsOfName[w.folded] {
			continue
		}
		end := i + 1
		for end < len(words) && (words[end].folded == "and" || words[end].folded == "or" || partsOfName[words[end].folded]) {
			end++
		}
		if end > i+1 && end < len(words) && words[end].stem == name.stem {
			list = append(list, name)
		}
	}
	return list
}

// aggregates lists the words that ask for an aggregate. Superlatives ask for all but a count.
var aggregates = map[string][]string{
	"count": {"count", "many", "number", "total", "amount", "times", "counts", "often", "frequency"},
	"avg":   {"avg", "average", "mean", "typical", "typically"},
	"sum":   {"sum", "total", "totals", "combined", "altogether", "overall", "much", "many", "number", "amount"},
	"total": {"sum", "total", "combined", "altogether", "overall", "much", "many", "number", "amount"},
	"min":   {"min", "minimum", "minimal", "least", "first"},
	"max":   {"max", "maximum", "maximal", "most", "last", "top"},
}

func superlative(w string) bool {
	return len(w) > 4 && strings.HasSuffix(w, "est") && !slices.Contains([]string{"request", "interest", "forest", "west",
		"guest", "contest", "harvest"}, w)
}

// askers maps words of requests to stems or beginnings of words in the names of the columns that they ask for.
var askers = []struct{ asked, columns string }{
	{"when date day time", "date year time day month birth founded built"},
	{"where place located location from live based",
		"locat city countr address place region state hometown continent district origin nation street county"},
	{"who whom whose person people", "name person people manager director author owner player writer"},
	{"old ages aged older oldest young younger youngest", "age"},
	{"long longer longest short", "length duration minutes seconds time runtime"},
	{"tall taller tallest", "height"},
	{"heavy heavier weigh weighs", "weight"},
	{"deep deeper deepest", "depth"},
	{"high higher highest", "height elevation altitude"},
	{"wide wider widest", "width breadth"},
	{"far farther farthest", "distance"},
	{"fast faster fastest", "speed time"},
	{"hot hotter hottest warm cold colder coldest", "temperature temp"},
	{"big large bigger biggest", "size area capacity population"},
	{"much cost costs price expensive cheap", "cost price amount fee charge salary budget value"},
	{"earn earns earned earnings pay pays paid wage wages income", "salary wage pay income earning"},
	{"many number quantity", "num count total quantity amount capacity number"},
	{"gender sex", "sex gender"},
	{"nation nations nationality country countries", "countr nation citizen"},
	{"kind kinds type types sort category", "type kind category class breed"},
	{"phone telephone mobile cell", "phone cell mobile"},
	{"title titles called titled named name names", "title name"},
	{"id ids identifier identifiers code codes number numbers identification", "id code number no num key uid"},
	{"leader leaders ruler president monarch king queen chief", "head leader president ruler governor chief"},
	{"choice choices option options", "option choice"},
	{"description descriptions describe details detail", "descri detail"},
}

// asks reports whether a word of the request asks for what the column's name says.
func (r *reading) asks(c *schema.Column) bool {
	for _, text := range []string{c.Title, c.Name} {
		words := english.NameWords(text)
		for _, a := range askers {
			matches := slices.ContainsFunc(words, func(w string) bool {
				return slices.ContainsFunc(strings.Fields(a.columns), func(start string) bool {
					return w == start || len(start) > 3 && strings.HasPrefix(w, start)
				})
			})
			asked := strings.Fields(a.asked)
			if matches && slices.ContainsFunc(r.words, func(w said) bool { return slices.Contains(asked, w.folded) }) {
				return true
			}
		}
	}
	return false
}

// nameWords returns the words of a name without those of its table, unless nothing else is left.
func nameWords(name, table string) []string {
	words := english.NameWords(name)
	of := map[string]bool{}
	for _, w := range english.NameWords(table) {
		of[english.Stem(w)] = true
	}
	own := slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return of[english.Stem(w)] || english.FunctionWords[w]
	})
	if len(own) == 0 {
		return words
	}
	return own
}

// heads are nouns that end names written as one word: the code of postcode. Others end words by chance, as city ends
// capacity, or turn their meaning around, as available does in unavailable.
var heads = english.Set("name", "code", "date", "time", "year", "number", "list", "title", "type", "room",
	"grade", "point")

// headless are words that end like one of the heads by chance.
var headless = english.Set("candidate", "mandate", "update", "consolidate", "validate", "enlist", "specialist",
	"overtime", "lifetime", "maritime", "pastime", "entitle", "prototype", "stereotype", "groom", "mushroom", "upgrade",
	"degrade", "appoint", "disappoint", "rename", "encode", "decode")

// Least letters of a word that another begins with (indep of independence), and of what then follows.
const (
	leastBegin    = 5
	leastFollowed = 5
)

// alike reports whether a word of the request may mean a word of a name: an inflection of it, a derived word, the noun
// at its end, or a word that it abbreviates.
func alike(w said, name string) bool {
	stem := english.Stem(name)
	if w.stem == stem || w.folded == name || w.folded == name+"s" || english.Akin(w.folded, name) {
		return true
	}
	if heads[w.folded] && strings.HasSuffix(name, w.folded) && !headless[name] ||
		len(name) >= leastBegin && len(w.folded) >= len(name)+leastFollowed && strings.HasPrefix(w.folded, name) {
		return true
	}
	short, long := min(len(w.stem), len(stem)), max(len(w.stem), len(stem))
	n := 0
	for n < short && w.stem[n] == stem[n] {
		n++
	}
	return n >= 6 || n == short && n >= 4 && long-n <= 4
}

// optional are words of names that requests leave out: the size for size_code, the email for email_address.
var optional = english.Set("address", "code", "number", "text", "value", "type", "details", "description", "in", "of",
	"pct", "percent", "usd", "eur", "km", "kg")

// otherNames are words for a part of a name, with the words that requests use.
var otherNames = map[string][]string{
	"forename": {"first", "name"}, "forenames": {"first", "name"},
	"surname": {"last", "name"}, "surnames": {"last", "name"},
}

// find looks for the words of a name in the request: for all of them side by side, then for most of them anywhere.
func (r *reading) find(name []string) (mention, bool) {
	if len(name) == 1 && otherNames[name[0]] != nil {
		if at, found := r.find(otherNames[name[0]]); at.known() {
			return at, found
		}
	}
	at := nowhere
	for i := 0; len(name) > 0 && i+len(name) <= len(r.words); i++ {
		together := true
		for j, n := range name {
			together = together && alike(r.words[i+j], n)
		}
		if together {
			at = at.with(i)
		}
	}
	if at.known() {
		return at, true
	}
	missing, found := 0, 0
	for _, n := range name {
		switch {
		case slices.ContainsFunc(r.words, func(w said) bool { return alike(w, n) }):
			found++
		case !optional[n] && strings.Trim(n, "0123456789") != "":
			missing++
		}
	}
	return nowhere, found > missing
}

func (m mention) with(i int) mention {
	if !m.known() {
		m.first = i
	}
	m.last = i
	return m
}

// findAny looks for any of the words, or, if asked to, for a superlative.
func (r *reading) findAny(words []string, superlatives bool) mention {
	at := nowhere
	for i, w := range r.words {
		named := slices.ContainsFunc(words, func(n string) bool {
			return w.folded == n || w.folded == n+"s" || english.Akin(w.folded, n)
		})
		if named || superlatives && superlative(w.folded) {
			at = at.with(i)
		}
	}
	return at
}

// shortestHead is the length of the shortest noun that names a column without the words before it.
const shortestHead = 4

// head finds the last word of a column's name if no other column of its table ends so: the areas for surface area.
func (r *reading) head(t *schema.Table, i int) mention {
	last := func(c *schema.Column) string {
		words := english.NameWords(c.Name)
		return words[len(words)-1]
	}
	head := last(&t.Columns[i])
	if len(head) < shortestHead || optional[head] || english.Set("name", "date", "time", "year", "state", "city")[head] {
		return nowhere
	}
	for j := range t.Columns {
		if j != i && len(english.NameWords(t.Columns[j].Name)) > 0 && english.Akin(last(&t.Columns[j]), head) {
			return nowhere
		}
	}
	return r.findAny([]string{head}, false)
}

// criterion reports whether the request names something only to choose by it: a city with the largest population.
func (r *reading) criterion(m mention) bool {
	before := func(at, n int, is func(string) bool) int {
		for i := at - 1; i >= max(0, at-n); i-- {
			if is(r.words[i].folded) {
				return i
			}
		}
		return -1
	}
	chooses := func(at int) bool {
		extreme := before(at, 3, func(w string) bool {
			return superlative(w) || slices.Contains([]string{"most", "least", "top", "maximum", "minimum"}, w)
		})
		return extreme >= 0 && before(extreme, 3, func(w string) bool {
			return slices.Contains([]string{"with", "has", "have", "having", "had", "of", "by", "whose"}, w)
		}) >= 0
	}
	return m.known() && chooses(m.first) && chooses(m.last) && !r.asksHowMany(m.last)
}

// asksHowMany reports whether the request asks after a word for how many without a noun of its own, so that it means
// what the word names: the most visitors, and how many?
func (r *reading) asksHowMany(at int) bool {
	for i := at + 1; i+1 < len(r.words); i++ {
		if r.words[i].folded != "how" || !slices.Contains([]string{"many", "much"}, r.words[i+1].folded) {
			continue
		}
		if i+2 == len(r.words) || slices.Contains(auxiliaries, r.words[i+2].folded) {
			return true
		}
	}
	return false
}

var auxiliaries = []string{"is", "are", "was", "were", "do", "does", "did", "has", "have", "had"}

// spelled finds a name that is written as one word of the request, or made of beginnings of neighbouring words: fname
// of first name, petid of pet id, surfacearea of surface areas.
func (r *reading) spelled(name string) mention {
	name = strings.ToLower(strings.ReplaceAll(name, "_", ""))
	at := nowhere
	for i, w := range r.words {
		if w.folded == name || w.folded == name+"s" || i+1 < len(r.words) && made(name, r.words[i:min(i+3, len(r.words))]) {
			at = at.with(i)
		}
	}
	return at
}

// made reports whether a name is made of a beginning of each of the first two or three words, the last nearly whole.
func made(name string, words []said) bool {
	if len(words) == 1 {
		return len(name) >= 2 && (strings.HasPrefix(words[0].folded, name) || words[0].stem == name)
	}
	for n := len(name) - 1; n > 0; n-- {
		if !strings.HasPrefix(words[0].folded, name[:n]) {
			continue
		}
		if made(name[n:], words[1:2]) || len(words) > 2 && made(name[n:], words[1:]) {
			return true
		}
	}
	return false
}

// labels reports whether a column labels the rows of its table: its name says so, or it is the table's first text.
func labels(t *schema.Table, i int) bool {
	words := nameWords(t.Columns[i].Name, t.Name)
	names := []string{"name", "title", "names", "label", "fullname", "full"}
	if len(words) > 0 && slices.Contains(names, words[len(words)-1]) {
		return true
	}
	own, table := english.Singular(english.NameWords(t.Columns[i].Name)), english.Singular(english.NameWords(t.Name))
	if len(own) > 0 && slices.Contains(table, own[len(own)-1]) {
		return true
	}
	for j := range t.Columns {
		if t.Columns[j].Affinity == schema.Text {
			return j == i && !slices.Contains(t.PrimaryKey, i)
		}
	}
	return false
}
