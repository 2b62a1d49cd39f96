package story

import (
	"testing"

	"github.com/seatrial/seatrial/internal/suite/transcript"
)

func TestFirstDifferenceIsACallAResultOrTheAnswer(t *testing.T) {
	base := []string{`call f {"a":1} = [1]`, `call g {} = [2]`, `answer [2]`}
	for name, c := range map[string]struct {
		a, b []string
		want *Difference
	}{
		"the same":       {base, base, nil},
		"the same value": {base, []string{base[0], base[1], `answer [[2.0]]`}, nil},
		"a call": {base, []string{base[0], `call h {} = [2]`, base[2]},
			&Difference{2, differentCalls, "g {}", "h {}"}},
		"a result": {base, []string{`call f {"a":1} = [3]`, base[1], base[2]},
			&Difference{1, differentResults, "[1]", "[3]"}},
		"an error": {base, []string{`fails f {"a":1} = late`, base[1], base[2]},
			&Difference{1, differentResults, "[1]", "error: timeout: late"}},
		"the answer": {base, []string{base[0], base[1], `answer [5]`},
			&Difference{3, differentAnswers, "[2]", "[5]"}},
		"an early end": {[]string{base[0], base[2]}, base,
			&Difference{2, differentCalls, "ends with [2]", "g {}"}},
		"no call": {[]string{base[2]}, base, &Difference{1, differentCalls, "no call", `f {"a":1}`}},
	} {
		got := FirstDifference(&transcript.Transcript{Events: script(c.a...)}, &transcript.Transcript{Events: script(c.b...)})
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
