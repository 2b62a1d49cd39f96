package request

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// numeral is a number that a text gives, in digits or in words.
type numeral struct {
	start, end int // byte offsets
	readings   []float64
	digits     bool
	// times says that the word gives a number of times: twice.
	times bool
}

func (n *numeral) means(v float64) bool {
	for _, r := range n.readings {
		if math.Abs(r-v) <= 1e-9*math.Max(1, math.Abs(v)) {
			return true
		}
	}
	return false
}

var (
	digitsText = regexp.MustCompile(`[0-9]+(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?`)
	units      = []string{
		"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
		"fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
	}
	tens       = []string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	unitValues = indexed(units)
	tenValues  = indexed(tens)
	timesWords = map[string]float64{"once": 1, "twice": 2, "thrice": 3}
	scaleWords = map[string]float64{"hundred": 100, "thousand": 1000, "million": 1e6, "billion": 1e9}
)

func indexed(list []string) map[string]int {
	m := map[string]int{}
	for i, s := range list {
		if s != "" {
			m[s] = i
		}
	}
	return m
}

// numerals finds the numbers of a text, in order. Digits that letters touch are names and no numbers.
func numerals(text string) []numeral {
	var list []numeral
	for _, at := range digitsText.FindAllStringIndex(text, -1) {
		if !bounded(text, at[0], at[1]) || at[0] > 0 && strings.ContainsRune("-._:/", rune(text[at[0]-1])) &&
			hyphened(text, at[0]) ||
			at[1]+1 < len(text) && strings.ContainsRune("-:/", rune(text[at[1]])) && isDigit(text[at[1]+1]) {
			continue
		}
		v, err := strconv.ParseFloat(strings.ReplaceAll(text[at[0]:at[1]], ",", ""), 64)
		if err != nil {
			continue
		}
		n := numeral{start: at[0], end: at[1], readings: []float64{v}, digits: true}
		rest := text[at[1]:]
		if next := rightOf(rest, words(rest), 0, 1); len(next) == 1 && scaleWords[next[0].folded] > 100 {
			n.end += next[0].end
			n.readings = []float64{v * scaleWords[next[0].folded]}
		}
		if strings.HasPrefix(strings.TrimLeft(text[n.end:], " "), "%") {
			n.readings = append(n.readings, v/100)
		}
		list = append(list, n)
	}
	all := words(text)
	for i := 0; i < len(all); {
		n, next := spelled(text, all, i)
		if next == i {
			i++
			continue
		}
		list = append(list, n)
		i = next
	}
	return list
}

// hyphened says whether the sign before an offset joins digits or letters, so that the number is part of a name or a
// date.
func hyphened(text string, at int) bool {
	return at > 1 && (isDigit(text[at-2]) || text[at-2] >= 'A' && text[at-2] <= 'z')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// spelled reads a number in words that begins at the i-th word; next is i where there is none.
func spelled(text string, all []word, i int) (n numeral, next int) {
	n = numeral{start: all[i].start, end: all[i].end}
	if v, ok := timesWords[all[i].folded]; ok {
		n.readings, n.times = []float64{v}, true
		return n, i + 1
	}
	if strings.HasPrefix(strings.ToLower(text[all[i].start:]), "half a dozen") {
		n.end, n.readings = all[i+2].end, []float64{6}
		return n, i + 3
	}
	if all[i].folded == "dozen" {
		n.readings = []float64{12}
		return n, i + 1
	}
	total, part, j, scaled := 0.0, 0.0, i, false
reading:
	for ; j < len(all); j++ {
		w := all[j].folded
		if j > i && strings.Trim(text[all[j-1].end:all[j].start], " -") != "" {
			break
		}
		unit, isUnit := unitValues[w]
		ten, isTen := tenValues[w]
		switch scale := scaleWords[w]; {
		case isTen && (j == i || scaled):
			part += 10 * float64(ten)
		case isUnit && (j == i || scaled || unit > 0 && unit < 10 && part >= 20 && math.Mod(part, 10) == 0):
			part += float64(unit)
		case scale > 0 && j > i:
			if part *= scale; scale >= 1000 {
				total, part = total+part, 0
			}
			scaled = true
			continue
		default:
			break reading
		}
		scaled = false
	}
	if j == i {
		return n, i
	}
	n.end, n.readings = all[j-1].end, []float64{total + part}
	return n, j
}

// spell writes a whole number from 0 to 99 in words, "" for others.
func spell(v int64) string {
	switch {
	case v < 0 || v > 99:
		return ""
	case v < 20:
		return units[v]
	case v%10 == 0:
		return tens[v/10]
	default:
		return tens[v/10] + "-" + units[v%10]
	}
}

// grouped writes a whole number with a comma before every three digits.
func grouped(v int64) string {
	s := strconv.FormatInt(v, 10)
	sign := ""
	if v < 0 {
		sign, s = "-", s[1:]
	}
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return sign + s
}
