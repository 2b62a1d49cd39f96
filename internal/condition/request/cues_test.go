package request_test

import (
	"math"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/condition/request"
	"github.com/seatrial/seatrial/internal/judge/cues"
)

// mostTold is the balanced accuracy that words alone may reach; signs are read more sharply than the claim needs.
const (
	mostTold      = 0.60
	mostToldSigns = 0.66
)

// TestWordsTellNothing leaves a value out of each request, trains two classifiers on the words of one corpus, and has
// them tell the incomplete requests of another from the complete ones in the same wording. Without corpora at hand the
// databases of the demo are the corpora.
func TestWordsTellNothing(t *testing.T) {
	sets := map[string][]cues.Example{}
	forms := map[string]map[string]bool{}
	for name, list := range corpora(t) {
		for _, e := range list {
			of := name
			if name == "demo" {
				if of = "demo a"; e.task.ID > "h" {
					of = "demo b"
				}
			}
			for _, v := range request.Values(e.task) {
				made, reason := v.Drop()
				if reason != "" {
					continue
				}
				sets[of] = append(sets[of], cues.Example{Text: made.Messages[0].Content},
					cues.Example{Text: made.Whole[0].Content, Complete: true})
				if forms[of] == nil {
					forms[of] = map[string]bool{}
				}
				form := strings.ReplaceAll(strings.ToLower(made.Phrase), made.Names[len(made.Names)-1], "X")
				forms[of][form] = true
				break
			}
		}
	}
	if len(sets) < 2 {
		t.Fatalf("only %d corpora were compared", len(sets))
	}
	for train, examples := range sets {
		if len(forms[train]) < 12 {
			t.Errorf("%s has only %d wordings", train, len(forms[train]))
		}
		for test, others := range sets {
			if train == test {
				continue
			}
			for _, k := range cues.Kinds() {
				for signs, most := range map[bool]float64{false: mostTold, true: mostToldSigns} {
					c := k.Train(examples, signs)
					told := c.Balanced(others)
					t.Logf("%s to %s, %s, signs %t: %.1f %% of %d", train, test, k.Name, signs, told*100, len(others))
					noise := 1.645 * 0.5 / math.Sqrt(float64(len(others))) // one-sided 95 % bound at chance
					if told > most+noise {
						t.Errorf("%s to %s, %s, signs %t: %.1f %%", train, test, k.Name, signs, told*100)
					}
				}
			}
		}
	}
}
