package environment

import (
	"strings"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"
)

// Cutoffs of the Ratcliff/Obershelp ratio.
const (
	valueCutoff = 0.8 // Hell or High Water, appendix C.1
	nameCutoff  = 0.6 // what difflib calls close
)

// nearest gives the candidate that is nearest to word by the Ratcliff/Obershelp ratio, both in lower case, if the ratio
// reaches the cutoff. It is Python's difflib.get_close_matches(word.lower(), …, n=1, cutoff) over a dictionary from
// lower-case candidates to candidates: of two candidates of one ratio the one that sorts last in lower case is taken,
// and of two that differ in case alone the later one.
func nearest(word string, candidates []string, cutoff float64) (string, bool) {
	word = strings.ToLower(word)
	letters := utf8.RuneCountInString(word)
	counts := make(map[rune]int, letters)
	for _, r := range word {
		counts[r]++
	}
	matcher := difflib.NewMatcher(nil, nil)
	prepared := false
	best, bestLower, bestRatio := "", "", -1.0
	available := make(map[rune]int, letters)
	for _, candidate := range candidates {
		lower := strings.ToLower(candidate)
		n := utf8.RuneCountInString(lower)
		// Two upper bounds of the ratio spare most candidates the comparison: by length, then by letters.
		if floor := max(cutoff, bestRatio); ratio(min(n, letters), n+letters) < floor ||
			commonRatio(lower, n, counts, letters, available) < floor {
			continue
		}
		if !prepared {
			matcher.SetSeq2(strings.Split(word, ""))
			prepared = true
		}
		matcher.SetSeq1(strings.Split(lower, ""))
		r := matcher.Ratio()
		if r < cutoff || r < bestRatio || r == bestRatio && lower < bestLower {
			continue
		}
		best, bestLower, bestRatio = candidate, lower, r
	}
	return best, bestRatio >= 0
}

// commonRatio is the ratio that would be reached if the order of the letters did not matter.
func commonRatio(lower string, n int, counts map[rune]int, letters int, available map[rune]int) float64 {
	clear(available)
	matches := 0
	for _, r := range lower {
		left, seen := available[r]
		if !seen {
			left = counts[r]
		}
		available[r] = left - 1
		if left > 0 {
			matches++
		}
	}
	return ratio(matches, n+letters)
}

// ratio is 2M/T, and 1 for two empty texts.
func ratio(matches, length int) float64 {
	if length == 0 {
		return 1
	}
	return 2 * float64(matches) / float64(length)
}
