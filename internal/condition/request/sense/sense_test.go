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
