package universe_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/universe"
)

func TestContentWords(t *testing.T) {
	for text, want := range map[string]string{
		"How many ships' decks are there in the harbour?": "deck harbour ship",
		"Get ship_name and the SUM of moss, 1999":         "moss ship sum",
		"well-kept Åre’s":                                 "well-kept åre",
		"":                                                "",
	} {
		if got := strings.Join(slices.Sorted(maps.Keys(universe.ContentWords(text))), " "); got != want {
			t.Errorf("%q has the words %q, want %q", text, got, want)
		}
	}
}

func TestHasPhrase(t *testing.T) {
	for _, c := range []struct {
		text, phrase string
		want         bool
	}{
		{"Beds in Rose Lane", "rose lane", true}, {"Beds in Rose Lanes", "Rose Lane", false}, {"120 beds, 12 roses", "12", true},
		{"120 beds", "12", false}, {"été", "t", false}, {"anything", "", false}, {"", "x", false}, {"xx x", "x", true},
	} {
		if universe.HasPhrase(c.text, c.phrase) != c.want {
			t.Errorf("%q has %q: want %v", c.text, c.phrase, c.want)
		}
	}
}
