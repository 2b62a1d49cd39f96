package request

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
	"github.com/seatrial/seatrial/internal/tools/wording"
	"github.com/sqlc-dev/meyer/ast"
)

// Kinds of values, by what stands in their place.
const (
	kindText   = "text"
	kindNumber = "number"
	kindYear   = "year"
	kindDate   = "date" // a day, a month, a time
	kindLike   = "like" // a part of a text
	kindLimit  = "limit"
)

// naming is what a value is called in general.
type naming struct {
	kind string
	noun string // a certain …
	// owner is what a row of the value's table is called, "" where it has none.
	owner string
	// beside are nouns that stand beside the value itself in a question, longest first: the state alive, division
	// material.
	beside []string
	// proper says that it is a name, before which no noun is described.
	proper bool
	// counts says that it is a number of things and not the measure of one.
	counts bool
}

// besideAll are nouns that stand beside values of any column.
var besideAll = []string{
	"substring", "string", "word", "phrase", "text", "keyword", "letter", "letters", "characters", "character", "name",
	"title", "code", "number", "value",
	"id", "type", "kind", "category", "year", "month", "date", "day", "city", "town", "country", "region", "state",
	"status", "language",
	"genre", "label", "colour", "color", "prefix", "suffix", "department", "district", "continent",
}

// unitWords are units behind the name of a measure: height cm.
var unitWords = english.Set("cm", "mm", "m", "km", "m2", "sqm", "kg", "g", "lb", "lbs", "eur", "usd", "gbp", "min",
	"minutes", "sec", "seconds", "hours", "days", "h", "c", "f", "pct", "percent", "percentage", "metres", "meters",
	"kilometres", "tonnes", "millions", "euros", "dollars", "kilograms", "centimetres", "grams", "t", "mw", "kw")

// keptNames are what a kind of name is told by: a certain first name, where a certain department name is a department.
var keptNames = english.Set("first", "last", "given", "sur", "middle", "nick", "user", "latin", "common", "short",
	"long", "official", "scientific", "family", "english", "brand", "file", "display", "former", "maiden", "other",
	"second")

// participle reports whether a word says what was done to a thing: received, built.
func participle(w string) bool {
	return len(w) > 4 && strings.HasSuffix(w, "ed") && !slices.Contains([]string{"speed", "breed", "need", "seed", "feed",
		"shed"}, w) ||
		w == "built" || w == "made" || w == "held" || w == "sold" || w == "won" || w == "lost"
}

// naming returns what a value is called in general. It depends on what the value is compared with, and not on the
// value, but for its type.
func (v *Value) naming() naming {
	n := v.named()
	if n.noun == "" {
		n.noun = "value"
	}
	if !slices.Contains(n.beside, n.noun) {
		n.beside = append(n.beside, n.noun)
	}
	n.beside = append(n.beside, besideAll...)
	slices.SortStableFunc(n.beside, func(a, b string) int { return len(strings.Fields(b)) - len(strings.Fields(a)) })
	return n
}

func (v *Value) named() naming {
	if v.task.Query == nil {
		return v.argumentNaming()
	}
	_, isText := v.Value.(string)
	switch v.Role {
	case task.RoleLimit, task.RoleOffset:
		return naming{kind: kindLimit, noun: "number", counts: true}
	case task.RoleLike:
		if v.Column != "" && v.wholePattern() {
			break
		}
		n := naming{kind: kindLike, noun: "text", proper: true}
		if c := v.columnNaming(v.Table, v.Column); c.noun != "" {
			n.beside = c.beside
		}
		return n
	}
	switch v.dateFormat() {
	case "%Y":
		return naming{kind: kindYear, noun: "year", proper: true}
	case "%m", "%Y-%m":
		return naming{kind: kindDate, noun: "month", proper: true}
	case "":
	default:
		return naming{kind: kindDate, noun: "time", proper: true}
	}
	if _, day := english.ParseDate(text(v.Value)); isText && day {
		n := v.columnNaming(v.Table, v.Column)
		return naming{kind: kindDate, noun: "date", beside: n.beside, proper: true}
	}
	if v.Column != "" {
		n := v.columnNaming(v.Table, v.Column)
		switch {
		case slices.Contains(strings.Fields(n.noun), "year") && v.numeric:
			return naming{kind: kindYear, noun: "year", beside: n.beside, proper: true}
		case v.numeric:
			n.kind = kindNumber
		}
		return n
	}
	if !v.numeric {
		return naming{kind: kindText, noun: "value", proper: true}
	}
	n := naming{kind: kindNumber, noun: "number", counts: true}
	if call, ok := sqlast.Unparen(orNil(v.Other)).(*ast.FuncCall); ok && len(call.Args) == 1 &&
		!strings.EqualFold(call.Name.Name, "count") {
		if ref := v.task.Query.Ref(sqlast.Unparen(call.Args[0])); ref != nil && ref.Source.Table != nil && ref.Column >= 0 {
			c := v.columnNaming(ref.Source.Table.Name, ref.Col().Name)
			n.noun, n.beside, n.counts = c.noun, c.beside, c.counts
		}
	}
	return n
}

// wholePattern reports whether a pattern is the value, without wildcards.
func (v *Value) wholePattern() bool {
	pattern, ok := v.task.Query.Literal(v.Node)
	return ok && pattern == v.Value
}

// columnNaming names the values of a column.
//
//nolint:gocyclo // one branch for each way to name a column; a table of rules would read better
func (v *Value) columnNaming(table, column string) naming {
	t := v.task.Query.Schema.Table(table)
	if t == nil || t.Column(column) < 0 {
		return naming{kind: kindText, proper: true}
	}
	tokens := wording.PlainColumnWords(t, t.Column(column))
	one, _ := wording.TableNoun(t)
	owner := strings.Join(one, " ")
	for len(tokens) > 1 && (unitWords[tokens[len(tokens)-1]] || participle(tokens[len(tokens)-1])) {
		tokens = tokens[:len(tokens)-1] // height cm, material received
	}
	if k := len(one); len(tokens) > k && slices.Equal(tokens[:k], one) &&
		!slices.Contains([]string{"name", "id", "code", "number", "no", "type"}, tokens[k]) {
		tokens = tokens[k:]
	}
	n := naming{kind: kindText, owner: owner, beside: []string{strings.Join(tokens, " ")}}
	last := tokens[len(tokens)-1]
	n.beside = append(n.beside, last)
	if at := slices.IndexFunc(tokens, func(w string) bool { return wording.Prepositions[w] }); at > 0 {
		n.noun = strings.Join(tokens[:at], " ") // year of birth
		n.beside = append(n.beside, n.noun)
	} else if len(tokens) > 1 && len(tokens) < 4 && tokens[0] != "is" && tokens[0] != "has" {
		n.noun = strings.Join(tokens, " ")
	} else {
		n.noun = last
	}
	switch {
	case participle(last) && len(tokens) == 1 && v.numeric && v.number >= 1500 && v.number < 2100:
		n.noun = "year"
	case v.numeric && last != "series" && english.Singular([]string{last})[0] != last &&
		english.Plural([]string{last})[0] == last:
		n.noun, n.counts = "number", true // seats
	case slices.Contains([]string{"number", "num", "count", "total", "no", "quantity", "amount"}, tokens[0]) &&
		len(tokens) > 1:
		n.noun, n.counts = "number", true
	case last == "name" || last == "title" || last == "surname" || last == "forename" || last == "nickname" ||
		last == "fullname":
		n.proper = true
		n.beside = append(n.beside, owner, one[len(one)-1])
		switch before := tokens[:len(tokens)-1]; {
		case len(before) == 0 || len(before) == 1 && before[0] == "full":
			n.noun = owner
		case last == "name" && len(before) == 1 && !keptNames[before[0]]:
			n.noun = before[0]
			n.beside = append(n.beside, before[0])
		case last == "title" && len(before) == 1 && before[0] != "job":
			n.noun = before[0]
		}
	case last == "id" || last == "code" || last == "number" || last == "no":
		n.proper = true
		n.beside = append(n.beside, owner, one[len(one)-1])
		if len(tokens) > 1 {
			n.beside = append(n.beside, strings.Join(tokens[:len(tokens)-1], " "))
			if last == "code" || last == "id" {
				n.noun = strings.Join(tokens, " ")
			}
		} else {
			n.noun = last
		}
	case last == "by" && !v.numeric:
		n.noun, n.beside, n.proper = "person", []string{owner}, true // directed by
	case n.noun == "year" || n.noun == "date": // year of founded
	case wording.Prepositions[last] || participle(last):
		n.noun, n.beside = "value", []string{owner}
	}
	n.noun = strings.Join(english.Singular(strings.Fields(n.noun)), " ")
	return n
}
