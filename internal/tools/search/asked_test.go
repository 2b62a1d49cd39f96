package search

import (
	"slices"
	"testing"

	"github.com/seatrial/seatrial/internal/task/english"
)

// TestAskedWordsFindDescriptions: a question finds the description that says the same in other words, before one that
// shares only the subject; a word within another word adds nothing.
func TestAskedWordsFindDescriptions(t *testing.T) {
	texts := []string{
		"Get the name of the singers that we have.", "Get the number of singers.", "Get the age of singers.",
		"Get names of singers where singer id is not in a list.", "Get the singer with the highest age.",
	}
	x := newLexicalIndex(texts)
	for query, want := range map[string]int{
		"How many singers?": 1, "singers without a concert": 3, "the oldest singer": 4,
	} {
		if hits := x.search(query, 1); len(hits) != 1 || hits[0].Tool != want {
			t.Errorf("%q finds %v, want %q", query, hits, texts[want])
		}
	}
	if words := wordsOf("the northern almost Totally"); len(words) != 4 {
		t.Errorf("%q", words)
	}
	for _, a := range asked {
		for _, w := range english.Terms(a.means) {
			if !slices.Contains(wordsOf("Show "+a.words+" x"), w) {
				t.Errorf("%q does not add %q", a.words, w)
			}
		}
	}
}
