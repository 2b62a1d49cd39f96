package environment

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/seatrial/seatrial/internal/task"
)

// maxNoted bounds how many values of one argument a note names.
const maxNoted = 5

// note explains a blank result (Hell or High Water, appendix C.1). It names each text argument whose value does not
// occur in the column that it is compared with, and the nearest value of that column, if one is near.
func (e *Environment) note(ctx context.Context, c *call, b *bound) (string, error) {
	var sentences []string
	t := c.tool
	w, err := e.worldOf(ctx, c, 0)
	if err != nil {
		return "", err
	}
	for i := range t.arguments {
		a := &t.arguments[i]
		if !a.hinted {
			continue
		}
		given := b.values[i : i+1]
		if a.Kind == task.BindList {
			given = nil
			if b.lists != nil {
				given = b.lists[i]
			}
		}
		told, err := noteArgument(ctx, w, a, given)
		if err != nil {
			return "", err
		}
		sentences = append(sentences, told...)
	}
	return strings.Join(sentences, " "), nil
}

func noteArgument(ctx context.Context, w World, a *argument, given []task.Value) ([]string, error) {
	var texts []string
	for _, v := range given {
		if text, ok := v.(string); ok && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if texts == nil {
		return nil, nil
	}
	known, err := w.TextValues(ctx, a.Table, a.Column)
	if err != nil {
		return nil, fmt.Errorf("values of %s.%s: %w", a.Table, a.Column, err)
	}
	var sentences []string
	left := 0
	for _, text := range texts {
		switch {
		case slices.Contains(known, text):
		case len(sentences) == maxNoted:
			left++
		default:
			sentences = append(sentences, describeUnmatched(a.Argument, text, known))
		}
	}
	if left > 0 {
		sentences = append(sentences, fmt.Sprintf("Unmatched values of `%s` beside these: %d.", a.Argument, left))
	}
	return sentences, nil
}

func describeUnmatched(argument, text string, known []string) string {
	sentence := fmt.Sprintf("No entry matches `%s` = %s.", argument, task.AppendValue(nil, text))
	if near, ok := nearest(text, known, valueCutoff); ok {
		sentence += fmt.Sprintf(" The nearest value is %s.", task.AppendValue(nil, near))
	}
	return sentence
}

// Cutoffs of the Ratcliff/Obershelp ratio.
const (
	valueCutoff = 0.8 // Hell or High Water, appendix C.1
	nameCutoff  = 0.6 // what difflib calls close
)

// nearest returns the candidate nearest to word by the Ratcliff/Obershelp ratio, both in lower case, if the ratio
// reaches the cutoff. It equals Python's difflib.get_close_matches(word.lower(), …, n=1, cutoff) over a dictionary from
// lower-case candidates to candidates: of two candidates with the same ratio it takes the one that sorts last in lower
// case, and of two that differ only in case the later one.
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
		// Two upper bounds of the ratio avoid most comparisons: by length, then by letters.
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
