package audit

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// numeral is a number that a text gives, in digits or in words.
type numeral struct {
	start, end int // byte offsets
	// readings are what it may mean: 2.5 and 2,500,000 of "2.5 million" with the word apart, 0.5 and 50 of "50%".
	readings []float64
	digits   bool // it is written in digits
	lone     bool // it is a word that gives a number by the way: both, single, triple
	ordinal  bool // it says which one: 3rd, third
}

func (n *numeral) means(v float64) bool {
	return slices.ContainsFunc(n.readings, func(r float64) bool { return same(r, v) })
}

func same(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// currency is what may touch a number without making it a name.
var currency = regexp.MustCompile(`\b(?:USD|EUR|GBP|CZK|CHF|JPY|US|Rs)$`)

var token = regexp.MustCompile(`[0-9]+(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?|\.[0-9]+|\pL+`)

var (
	smallNumbers = map[string]float64{
		"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
		"ten":    10,
		"eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17,
		"eighteen": 18,
		"nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
		"ninety": 90,
	}
	ordinalNumbers = map[string]float64{
		"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
		"tenth":    10,
		"eleventh": 11, "twelfth": 12,
	}
	loneNumbers = map[string]float64{
		"once": 1, "single": 1, "only": 1, "twice": 2, "double": 2, "both": 2, "pair": 2, "couple": 2, "thrice": 3,
		"triple": 3,
		"dozen":  12, "half": 0.5, "quarter": 0.25,
	}
	scaleNumbers = map[string]float64{
		"hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9, "hundreds": 100, "thousands": 1e3, "millions": 1e6,
	}
)

// numerals finds the numbers of a text, in order. Digits that letters touch from before (K-12, A11) are names and no
// numbers.
func numerals(text string) []numeral {
	var list []numeral
	words := token.FindAllStringIndex(text, -1)
	for i := 0; i < len(words); i++ {
		at := words[i]
		word := strings.ToLower(text[at[0]:at[1]])
		if unicode.IsLetter(firstRune(word)) {
			n, next := spelled(text, words, i)
			if next > i {
				list = append(list, n)
				i = next - 1
			}
			continue
		}
		if named(text, at[0]) {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(word, ",", ""), 64)
		if err != nil {
			continue
		}
		n := numeral{start: at[0], end: at[1], readings: []float64{v}, digits: true}
		if strings.HasPrefix(strings.TrimLeft(text[at[1]:], " "), "%") {
			n.readings = append(n.readings, v/100)
		}
		if i+1 < len(words) {
			follow := strings.ToLower(text[words[i+1][0]:words[i+1][1]])
			gap := text[at[1]:words[i+1][0]]
			switch {
			case gap == "" && slices.Contains([]string{"st", "nd", "rd", "th"}, follow):
				n.ordinal = true
			case gap == "" && follow == "k":
				n.readings = append(n.readings, v*1e3)
			case gap == "" && (follow == "m" || follow == "mn"):
				n.readings = append(n.readings, v*1e6)
			case strings.TrimSpace(gap) == "" && scaleNumbers[follow] > 0:
				n.readings = append(n.readings, v*scaleNumbers[follow])
			case gap == " " && (follow == "percent" || follow == "per"):
				n.readings = append(n.readings, v/100)
			}
		}
		list = append(list, n)
	}
	return list
}

// spelled reads a number in words that begins at the i-th token; next is the token after it, i where there is none.
func spelled(text string, words [][]int, i int) (n numeral, next int) {
	word := func(j int) string { return strings.ToLower(text[words[j][0]:words[j][1]]) }
	n = numeral{start: words[i][0], end: words[i][1]}
	if v, ok := ordinalNumbers[word(i)]; ok {
		n.readings, n.ordinal = []float64{v}, true
		return n, i + 1
	}
	if v, ok := loneNumbers[word(i)]; ok {
		n.readings, n.lone = []float64{v}, true
		for next := i + 1; v == 0.5 && next < len(words) && next <= i+2; next++ { // half a dozen
			if word(next) == "dozen" {
				n.end, n.readings, n.lone = words[next][1], []float64{6}, false
				return n, next + 1
			}
		}
		return n, i + 1
	}
	total, part, j := 0.0, 0.0, i
reading:
	for ; j < len(words); j++ {
		w := word(j)
		if j > i && strings.Trim(text[words[j-1][1]:words[j][0]], " -") != "" {
			break
		}
		small, isSmall := smallNumbers[w]
		scale := scaleNumbers[w]
		switch {
		case isSmall:
			part += small
		case scale > 0 && (j > i || w == "hundred" || w == "thousand"):
			if part == 0 {
				part = 1
			}
			part *= scale
			if scale >= 1e3 {
				total, part = total+part, 0
			}
		case w == "and" && j > i && j+1 < len(words) && scaleNumbers[word(j-1)] > 0 && isNumberWord(word(j+1)):
		default:
			break reading
		}
		n.end = words[j][1]
	}
	if j == i {
		return n, i
	}
	n.readings = []float64{total + part}
	return n, j
}

func isNumberWord(w string) bool {
	_, known := smallNumbers[w]
	return known
}

// named says whether digits at an offset are part of a name, as in K-12 and A11: a letter touches them from before.
func named(text string, at int) bool {
	before, size := utf8.DecodeLastRuneInString(text[:at])
	if before == '-' {
		before, _ = utf8.DecodeLastRuneInString(text[:at-size])
	}
	if !unicode.IsLetter(before) {
		return before == '_'
	}
	return !currency.MatchString(text[:at])
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
