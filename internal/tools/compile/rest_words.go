package compile

import (
	"slices"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/sql/schema"
	"golang.org/x/text/unicode/norm"
)

// tokensOf splits a name or title into words of ASCII letters and digits, in lower case: `CDSCode` gives cds, code;
// `Percent (%) Eligible Free (K-12)` gives percent, eligible, free, k, 12. Accents are taken off.
func tokensOf(name string) []string {
	name = norm.NFD.String(strings.NewReplacer("'s ", "s ", "'", "", "’", "").Replace(name))
	var plain []rune
	for _, c := range name {
		if !unicode.Is(unicode.Mn, c) {
			plain = append(plain, c)
		}
	}
	var tokens []string
	var token []rune
	end := func() {
		if len(token) > 0 {
			tokens = append(tokens, strings.ToLower(string(token)))
			token = nil
		}
	}
	for i, c := range plain {
		if c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			end()
			continue
		}
		if i > 0 && unicode.IsUpper(c) && humped(plain, i) {
			end()
		}
		token = append(token, c)
	}
	end()
	return tokens
}

// humped says whether a capital begins a new word: after a small letter, or before one at the end of a run of capitals.
func humped(name []rune, i int) bool {
	if unicode.IsLower(name[i-1]) {
		return true
	}
	if !unicode.IsUpper(name[i-1]) || i+1 >= len(name) || !unicode.IsLower(name[i+1]) {
		return false
	}
	// The s of a plural of capitals begins nothing: `IDs`.
	return name[i+1] != 's' || i+2 < len(name) && unicode.IsLetter(name[i+2])
}

var irregular = map[string]string{
	"person": "people", "child": "children", "man": "men", "woman": "women", "foot": "feet", "tooth": "teeth",
	"mouse": "mice", "life": "lives", "wife": "wives", "leaf": "leaves", "shelf": "shelves", "movie": "movies",
	"hero": "heroes", "superhero": "superheroes", "potato": "potatoes", "analysis": "analyses", "basis": "bases",
	"status": "statuses", "campus": "campuses", "bonus": "bonuses", "virus": "viruses", "bus": "buses",
	"gas": "gases", "alias": "aliases", "bias": "biases", "quiz": "quizzes", "cookie": "cookies", "tie": "ties",
	"diagnosis": "diagnoses", "thesis": "theses", "crisis": "crises", "synthesis": "syntheses", "lens": "lenses",
	"atlas": "atlases", "alumnus": "alumni",
}

// regular gives the singular of each irregular word, in either form.
var regular = func() map[string]string {
	m := map[string]string{}
	for one, many := range irregular {
		m[one], m[many] = one, one
	}
	return m
}()

var uncountable = map[string]bool{
	"data": true, "information": true, "series": true, "species": true, "news": true, "staff": true, "equipment": true,
	"people": true, "aircraft": true, "faculty": true, "money": true, "sales": true, "furniture": true, "sheep": true,
	"foreign": true, "teaches": true, "takes": true, "likes": true, "headquarters": true, "statistics": true,
}

// units are words after a quantity that stay as they are in a plural.
var units = map[string]string{
	"kg": "kilograms", "cm": "centimetres", "mm": "millimetres", "km": "kilometres", "lb": "pounds", "lbs": "pounds",
	"ft": "feet", "mph": "miles per hour", "kmh": "kilometres per hour", "ms": "milliseconds",
	"milliseconds": "milliseconds", "seconds": "seconds", "minutes": "minutes", "hours": "hours", "usd": "US dollars",
	"dollars": "US dollars", "percent": "percent", "pct": "percent", "percentage": "percent", "knots": "knots",
	"millions": "millions", "billion": "billions", "million": "millions", "billions": "billions", "bytes": "bytes",
	"inches": "inches", "gb": "gigabytes", "mb": "megabytes",
}

// pluralWord gives the plural of one English word, by rule.
func pluralWord(w string) string {
	if p := irregular[w]; p != "" {
		return p
	}
	n := len(w)
	switch {
	case uncountable[w] || n < 2:
		return w
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") &&
		!strings.HasSuffix(w, "is"):
		return w // a plural already
	case strings.HasSuffix(w, "s"), strings.HasSuffix(w, "x"), strings.HasSuffix(w, "z"), strings.HasSuffix(w, "ch"),
		strings.HasSuffix(w, "sh"):
		return w + "es"
	case strings.HasSuffix(w, "y") && !strings.ContainsRune("aeiou", rune(w[n-2])):
		return w[:n-1] + "ies"
	default:
		return w + "s"
	}
}

// singularWord undoes pluralWord, and leaves a singular as it is.
func singularWord(w string) string {
	if one := regular[w]; one != "" {
		return one
	}
	n := len(w)
	switch {
	case uncountable[w] || n < 4 || !strings.HasSuffix(w, "s"):
		return w
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"), strings.HasSuffix(w, "is"):
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"),
		strings.HasSuffix(w, "xes"):
		return w[:n-2]
	default:
		return w[:n-1]
	}
}

// plural gives the plural of a phrase: that of its head, which is its last word but for units, numbers and single
// letters, or the word before a last `of birth`.
func plural(tokens []string) []string {
	if len(tokens) == 0 || tokens[0] == "is" || tokens[0] == "has" {
		return tokens
	}
	end := len(tokens)
	if at := slices.Index(tokens, "of"); at > 0 && at == end-2 {
		end = at
	}
	for at := end - 1; at >= 0; at-- {
		w := tokens[at]
		_, unit := units[w]
		participle := strings.HasSuffix(w, "ed") && len(w) > 4 && at > 0
		if unit && at > 0 || participle || len(w) == 1 || strings.ContainsAny(w, "0123456789") {
			continue
		}
		out := slices.Clone(tokens)
		out[at] = pluralWord(w)
		return out
	}
	return tokens
}

// singular gives the singular of a phrase: that of its last word.
func singular(tokens []string) []string {
	if len(tokens) == 0 {
		return tokens
	}
	out := slices.Clone(tokens)
	out[len(out)-1] = singularWord(out[len(out)-1])
	return out
}

// noun is what a row of a table is called.
type noun struct{ one, many []string }

// nounOf names the rows of a table: by its title where that is short, else by its name.
func nounOf(t *schema.Table) noun {
	tokens := tokensOf(t.Title)
	if len(tokens) == 0 || len(tokens) > 3 || numbered(tokens) || slices.Contains(tokens, "and") {
		if own := tokensOf(t.Name); len(own) > 0 {
			tokens = own
		}
	}
	if len(tokens) > 1 && (tokens[0] == "has" || tokens[0] == "have") {
		tokens = tokens[1:]
	}
	for len(tokens) > 1 && strings.ContainsAny(tokens[len(tokens)-1], "0123456789") {
		tokens = tokens[:len(tokens)-1]
	}
	if len(tokens) == 0 {
		tokens = []string{"row"}
	}
	one := singular(tokens)
	last := one[len(one)-1]
	if len(one) == 1 && !strings.ContainsAny(last, "aeiouy") || slices.Contains(prepositions, last) {
		return noun{append(slices.Clone(one), "record"), append(one, "records")} // abbreviations and the like have no plural
	}
	return noun{one, plural(one)}
}

var prepositions = []string{"to", "in", "of", "by", "with", "on", "for", "from", "at"}

func numbered(tokens []string) bool {
	return len(tokens) > 0 && tokens[0] != "" && tokens[0][0] >= '0' && tokens[0][0] <= '9'
}

// columnTokens names a column in words: by its title where that is a short name that speaks of the same thing, else by
// its own name.
func columnTokens(c *schema.Column) []string {
	own := tokensOf(c.Name)
	title := tokensOf(c.Title)
	for i, w := range title {
		if w == "no" && i+1 < len(title) && title[i+1] == "of" {
			title[i] = "number"
		}
	}
	longest := 4
	if opaque(c.Name) {
		longest = 7
	}
	symbols := strings.ContainsAny(c.Title, "+/<>=")
	if strings.Join(title, "") == strings.Join(own, "") && len(own) > len(title) {
		title = nil // the name's capitals tell its words apart
	}
	if len(title) > 0 && len(title) <= longest && isID(title) == isID(own) && (!symbols || opaque(c.Name)) &&
		!numbered(title) {
		own = title
	}
	if len(own) == 0 {
		return []string{"value"}
	}
	if numbered(own) {
		return append([]string{"column"}, own...)
	}
	return own
}

// opaque says whether a column's name is a code that tells nothing: A16.
func opaque(name string) bool {
	return len(name) <= 3 && strings.ContainsAny(name, "0123456789")
}

func isID(tokens []string) bool {
	return len(tokens) > 0 && strings.HasSuffix(tokens[len(tokens)-1], "id")
}

// generic words say little about whose property a column is.
var generic = map[string]bool{
	"name": true, "id": true, "title": true, "type": true, "code": true, "date": true, "year": true, "time": true,
	"description": true, "status": true, "value": true, "text": true, "number": true, "location": true, "address": true,
	"notes": true, "label": true, "count": true, "position": true, "level": true, "rank": true, "url": true,
	"amount": true, "quantity": true, "state": true, "score": true, "details": true, "category": true, "format": true,
}

func isGeneric(tokens []string) bool {
	for _, w := range tokens {
		if !generic[w] {
			return false
		}
	}
	return true
}

// mentions says whether a column's words name the thing already: superhero_name that of superhero.
func mentions(tokens, thing []string) bool {
	for _, w := range thing {
		if generic[w] && len(thing) > 1 {
			continue
		}
		for _, v := range tokens {
			if singularWord(v) == w || len(v) > 2 && strings.HasPrefix(w, v) && !generic[v] || len(v) > 3 && len(w) > len(v) &&
				strings.HasSuffix(w, v) && !generic[v] {
				return true
			}
		}
	}
	return false
}

// isDate says whether a column holds points in time, so that its values come after rather than above each other.
func isDate(tokens []string, declared string) bool {
	for _, w := range tokens {
		switch w {
		case "date", "datetime", "day", "birthday", "dob", "birthdate", "timestamp", "birth":
			return true
		}
	}
	d := strings.ToUpper(declared)
	return strings.Contains(d, "DATE") || strings.Contains(d, "TIMESTAMP")
}

// isName says whether a column holds names.
func isName(tokens []string) bool {
	switch tokens[len(tokens)-1] {
	case "name", "title", "surname", "forename":
		return true
	}
	return false
}

func joined(tokens []string) string { return strings.Join(tokens, "_") }
