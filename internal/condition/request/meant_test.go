package request_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
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
	for _, e := range append(examples(t, "spider:"+filepath.Join(shared, "data/spider"), "train"),
		examples(t, "bird:"+filepath.Join(shared, "data/bird"), "")...) {
		known[e.task.ID] = e
		name := e.task.Query.Schema.Name
		others[name] = append(others[name], e)
	}
	type tally struct{ wrong, taken, unread, plain, plainTaken, filled, filledTaken, right, refused int }
	tallies := map[string]*tally{"a": {}, "b": {}, "c": {}, "d": {}, "e": {}, "f": {}, "g": {}, "h": {}, "i": {}}
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
		t.Logf("part %s: of %d wrong texts %d pass the check of words, %d also the reader; of %d fillers, dropped clauses "+
			"and other requests %d; of %d right ones %d are refused", part, n.wrong, n.unread, n.taken, n.filled,
			n.filledTaken, n.right, n.refused)
	}
	if all.wrong < 1300 || all.taken*1000 > all.wrong*15 {
		t.Errorf("of %d wrong texts %d are taken", all.wrong, all.taken)
	}
	plain, plainTaken := all.plain+all.filled, all.plainTaken+all.filledTaken
	t.Logf("of %d fillers, other requests, dropped clauses and changed values %d are taken", plain, plainTaken)
	if plain < 1500 || plainTaken*200 > plain {
		t.Errorf("of %d fillers, other requests, dropped clauses and changed values %d are taken", plain, plainTaken)
	}
	if all.right < 500 || all.refused*100 > all.right*5 {
		t.Errorf("of %d right texts %d are refused", all.right, all.refused)
	}
}
