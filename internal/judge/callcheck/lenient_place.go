package callcheck

import (
	"slices"
	"strings"
)

// part is a piece of a place's name between commas: its words joined, and the regions that it may mean.
type part struct {
	name    string
	regions []string
}

func (a *part) same(b *part) bool {
	if a.name == b.name {
		return true
	}
	for _, id := range a.regions {
		if slices.Contains(b.regions, id) {
			return true
		}
	}
	return false
}

var (
	placeSigns = strings.NewReplacer("(", ",", ")", "", ";", ",")
	nameSigns  = strings.NewReplacer(".", "", "'", " ")
)

// placeParts splits the name of a place: Miami, FL (USA) has three parts. A state or country that ends a part without a
// comma before it is a part of its own if its name is long or its code is in capitals.
func placeParts(s string) []part {
	if len(s) > longestForm {
		return nil
	}
	s = placeSigns.Replace(s)
	var all []part
	for text := range strings.SplitSeq(s, ",") {
		all = append(all, regionsApart(text)...)
	}
	return all
}

func regionsApart(text string) []part {
	written := strings.Fields(nameSigns.Replace(text))
	all := unabbreviated(words(strings.Join(written, " ")))
	if len(all) == 0 {
		return nil
	}
	if len(all) > 2 && all[1] == "of" && (all[0] == "city" || all[0] == "state") {
		all, written = all[2:], written[min(2, len(written)):]
	}
	if len(all) > 1 && all[len(all)-1] == "state" {
		all = all[:len(all)-1]
	}
	whole := onePart(all)
	if len(whole.regions) > 0 || len(all) != len(written) {
		return []part{whole}
	}
	if _, city := cityNames[strings.Join(all, "")]; city {
		return []part{whole}
	}
	for n := min(len(all)-1, 4); n > 0; n-- {
		tail := onePart(all[len(all)-n:])
		code := written[len(written)-1]
		if len(tail.regions) > 0 && (len(tail.name) > 3 || n == 1 && code == strings.ToUpper(code)) {
			return append(regionsApart(strings.Join(written[:len(written)-n], " ")), tail)
		}
	}
	return []part{whole}
}

func onePart(all []string) part {
	name := strings.Join(all, "")
	p := part{name: name, regions: regions[name]}
	if city, ok := cityNames[name]; ok {
		p.name = city
	}
	return p
}

func samePlace(a, b []part) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for i := range a {
		if !a[i].same(&b[i]) {
			return false
		}
	}
	return true
}

func placeForm(given, wanted *Value, p *parameter) bool {
	return bothTexts(given, wanted) && p.is(topicPlace) &&
		samePlace(placeParts(given.text), placeParts(wanted.text))
}

// placeQualifier accepts more or fewer states and countries after the same place. If a possible answer states which
// place of that name it means, another one is wrong.
func placeQualifier(given, wanted *Value, p *parameter) bool {
	if !bothTexts(given, wanted) || !p.is(topicPlace) {
		return false
	}
	a, b := placeParts(given.text), placeParts(wanted.text)
	if !qualifies(a, b) && !qualifies(b, a) {
		return false
	}
	for i := range p.answers {
		if other := placeParts(p.answers[i].text); len(other) > 1 && len(a) > 1 && other[0].same(&a[0]) {
			if !samePlace(a, other) && !qualifies(a, other) && !qualifies(other, a) {
				return false
			}
		}
	}
	return true
}

// qualifies reports whether long is short with more states and countries after its first part.
func qualifies(long, short []part) bool {
	if len(short) == 0 || len(long) <= len(short) || !long[0].same(&short[0]) {
		return false
	}
	at := 1
	for i := range long[1:] {
		switch l := &long[i+1]; {
		case at < len(short) && l.same(&short[at]):
			at++
		case len(l.regions) == 0:
			return false
		}
	}
	return at == len(short)
}

func languageForm(given, wanted *Value, p *parameter) bool {
	if !bothTexts(given, wanted) || !p.is(topicLanguage) {
		return false
	}
	a := languageCodes[strings.Join(words(given.text), "")]
	b := languageCodes[strings.Join(words(wanted.text), "")]
	return len(a) > 0 && len(b) > 0 && a[0] == b[0]
}
