package sense

import (
	"slices"
	"testing"
)

// TestOppositesAreRequests: what a reader is offered as the opposite says it in words that fit.
func TestOppositesAreRequests(t *testing.T) {
	for own, want := range map[string]string{
		"Which ships have fewer than 20 sailors?": "Which ships have more than 20 sailors?",
		"Which harbour has the fewest berths?":    "Which harbour has the most berths?",
		"List the cheaper berths.":                "List the dearer berths.",
	} {
		if got := Opposites(own); !slices.Contains(got, want) {
			t.Errorf("%q has the opposites %q, want %q among them", own, got, want)
		}
	}
	for own, never := range map[string]string{
		"Which berths exceed 40 metres?":     "Which berths fewer 40 metres?",
		"Which record labels are in Bergen?": "Which fewest labels are in Bergen?",
	} {
		if got := Opposites(own); slices.Contains(got, never) {
			t.Errorf("%q has the opposite %q", own, never)
		}
	}
	for _, pair := range [][2]sense{{upwards, downwards}, {highest, lowest}} {
		if len(sensible[pair[0]]) != len(sensible[pair[1]]) {
			t.Errorf("senses %d and %d have %d and %d words", pair[0], pair[1], len(sensible[pair[0]]), len(sensible[pair[1]]))
		}
	}
}

// TestCutTakesWholeWords: a value of one letter is no part of a word.
func TestCutTakesWholeWords(t *testing.T) {
	if got := cut("the most males with sex m, m.", "m"); got != "the most males with sex  ,  ." {
		t.Errorf("got %q", got)
	}
}

// TestAskedNouns reads what texts ask for.
func TestAskedNouns(t *testing.T) {
	for said, want := range map[string][]string{
		"return the height of the highest mountain.":               {"height"},
		"show each student's name and total credits by department": {"name", "credits"},
		"which ships took part in a mission? give me their ids.":   {"ships", "ids"},
	} {
		var got []string
		for _, nouns := range askedNouns(said) {
			got = append(got, nouns...)
		}
		slices.Sort(got)
		var roots []string
		for _, w := range want {
			roots = append(roots, root(w))
		}
		slices.Sort(roots)
		if !slices.Equal(got, roots) {
			t.Errorf("%q asks for %q, want %q", said, got, roots)
		}
	}
}
