package selftest

import (
	"context"
	"math"

	"github.com/seatrial/seatrial/internal/judge/cues"
)

// requestChecks are about requests that lack a detail.
var requestChecks = []Check{
	{
		Name: "words", Claim: "The wording does not tell that a detail is missing.",
		Method: "the better of two classifiers of words, trained on half of the databases and tested on the others: " +
			"incomplete requests of drop-detail against the complete ones beside them",
		Target: Target{AtMost, 0.60}, Unit: UnitShare, measure: measureWords,
	},
}

// fewestRequests is how many requests say anything about classifiers.
const fewestRequests = 100

// measureWords is the balanced accuracy of classifiers of words.
func measureWords(_ context.Context, t *Trial) (Figure, error) {
	examples, err := cues.Of(t.Suite)
	if err != nil || len(examples) < fewestRequests {
		return Figure{}, err
	}
	told := cues.Told(examples)
	if math.IsNaN(told) {
		return Figure{}, nil
	}
	return Figure{Value: told, Of: len(examples), Note: "50 % is chance"}, nil
}
