package request_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/condition/request"
	"github.com/seatrial/seatrial/internal/diag/testenv"
)

// meant is a question of a corpus and texts that somebody wrote for it.
type meant struct {
	part, id     string
	right, wrong []string
}

// readMeant reads testdata/meant.txt.
func readMeant(t *testing.T) []*meant {
	t.Helper()
	f, err := os.Open("testdata/meant.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var list []*meant
	part := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		kind, rest, _ := strings.Cut(lines.Text(), " ")
		switch kind {
		case "", "#":
		case "part":
			part = rest
		case "spider":
			list = append(list, &meant{part: part, id: "spider-train-" + fmt.Sprintf("%04s", rest)})
		case "dev":
			list = append(list, &meant{part: part, id: "spider-dev-" + fmt.Sprintf("%04s", rest)})
		case "bird":
			list = append(list, &meant{part: part, id: "bird-dev-" + fmt.Sprintf("%04s", rest)})
		case "+":
			last := list[len(list)-1]
			last.right = append(last.right, rest)
		default:
			last := list[len(list)-1]
			last.wrong = append(last.wrong, lines.Text())
		}
	}
	return list
}

// TestMeantTexts judges texts that were written by hand for questions of Spider's train split and of BIRD. Each part was
// written before the rules that were measured on it.
func TestMeantTexts(t *testing.T) {
	shared := testenv.SharedFolder()
	if shared == "" {
		t.Skip("the corpora are not at hand")
	}
	known := map[string]example{}
	others := map[string][]example{}
	for _, e := range slices.Concat(examples(t, "spider:"+filepath.Join(shared, "data/spider"), "train"),
		examples(t, "spider:"+filepath.Join(shared, "data/spider"), "dev"),
		examples(t, "bird:"+filepath.Join(shared, "data/bird"), "")) {
		known[e.task.ID] = e
		name := e.task.Query.Schema.Name
		others[name] = append(others[name], e)
	}
	type tally struct{ wrong, taken, unread, open, plain, plainTaken, filled, filledTaken, right, refused, certain int }
	tallies := map[string]*tally{"a": {}, "b": {}, "c": {}, "d": {}, "e": {}, "f": {}, "g": {}, "h": {}, "i": {}, "j": {}}
	for _, m := range readMeant(t) {
		e, found := known[m.id]
		if !found {
			t.Errorf("no question %s", m.id)
			continue
		}
		own := e.task.Messages[0].Content
		page := request.WrittenParaphrase(e.task)
		if page == nil {
			t.Logf("%s: nothing is written for %q, which does not say all of its values", m.id, own)
			continue
		}
		for _, o := range others[e.task.Query.Schema.Name] {
			if o.task.Query.Source != e.task.Query.Source {
				page.Others = append(page.Others, o.task.Messages[0].Content)
			}
		}
		n := tallies[m.part]
		for _, text := range m.wrong {
			kind, text, _ := strings.Cut(text, " ")
			plain := kind == "v" || kind == "c" // another value, a clause less
			if plain {
				n.plain++
			}
			if page.Doubtful(text) && len(page.Doubts(text)) > 0 {
				n.open++
			}
			if n.wrong++; page.Complaint(text) == "" {
				if n.unread++; judged(t, page, text) == "" {
					if n.taken++; plain {
						n.plainTaken++
					}
					t.Logf("part %s, taken (%s): %q for %q", m.part, kind, text, own)
				}
			}
		}
		for _, text := range wrongTexts(own, "", "", page.Others) {
			if text == courtesy {
				continue
			}
			if n.filled++; judged(t, page, text) == "" {
				n.filledTaken++
				t.Logf("part %s, taken: %q for %q", m.part, text, own)
			}
		}
		for _, text := range m.right {
			if n.right++; page.Complaint(text) != "" {
				n.refused++
				if !page.Doubtful(text) || len(page.Doubts(text)) == 0 {
					n.certain++
				}
				t.Logf("part %s, refused, %s: %q for %q", m.part, page.Complaint(text), text, own)
			}
		}
	}
	var all tally
	for part, n := range tallies {
		all.plain, all.plainTaken = all.plain+n.plain, all.plainTaken+n.plainTaken
		all.wrong, all.taken = all.wrong+n.wrong, all.taken+n.taken
		all.filled, all.filledTaken = all.filled+n.filled, all.filledTaken+n.filledTaken
		all.right, all.refused = all.right+n.right, all.refused+n.refused
		all.certain += n.certain
		t.Logf("part %s: of %d wrong texts %d pass the check of words, %d also the reader, and %d are for the reader to "+
			"compare; of %d fillers, dropped clauses and other requests %d; of %d right ones %d are refused, %d if the reader "+
			"compares well", part, n.wrong, n.unread, n.taken, n.open, n.filled, n.filledTaken, n.right, n.refused, n.certain)
	}
	if all.wrong < 1300 || all.taken*1000 > all.wrong*15 {
		t.Errorf("of %d wrong texts %d are taken", all.wrong, all.taken)
	}
	plain, plainTaken := all.plain+all.filled, all.plainTaken+all.filledTaken
	t.Logf("of %d fillers, other requests, dropped clauses and changed values %d are taken", plain, plainTaken)
	if plain < 1500 || plainTaken*200 > plain {
		t.Errorf("of %d fillers, other requests, dropped clauses and changed values %d are taken", plain, plainTaken)
	}
	blind := tallies["j"] // no rule was changed to take its right texts: a reader has to
	if known, refused := all.right-blind.right, all.refused-blind.refused; known < 500 || refused*100 > known*5 {
		t.Errorf("of %d right texts of the parts before j %d are refused", known, refused)
	}
	if all.right < 600 || all.certain*100 > all.right*4 {
		t.Errorf("of %d right texts %d are refused, %d whatever a reader says", all.right, all.refused, all.certain)
	}
	t.Logf("of %d right texts %d are refused, %d whatever a reader says", all.right, all.refused, all.certain)
}
