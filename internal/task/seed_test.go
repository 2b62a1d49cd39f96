package task

import (
	"fmt"
	"testing"
)

// TestDrawIsStable pins the first draws of some streams: a suite's seed must keep its meaning.
func TestDrawIsStable(t *testing.T) {
	for _, c := range []struct {
		seed uint64
		name []string
		want string
	}{
		{0, nil, "466 6696512952807151072 0.680194 af5570f5a1810b7a"}, {1, []string{"fault", "task"},
			"338 18256420516011898739 0.167255 dc2b04edad0b8963"}, {1, []string{"faulttask"},
			"277 7745839186364490395 0.760896 eda508d8209ffded"},
		{1 << 63, []string{""}, "940 8556160178443343841 0.123937 a44f869b720be79d"},
	} {
		r := Draw(c.seed, c.name...)
		if got := fmt.Sprintf("%d %d %.6f %s", r.IntN(1000), r.Uint64(), r.Float64(),
			Hash(c.seed, c.name...)); got != c.want {
			t.Errorf("Draw(%d, %q) gives %s, want %s", c.seed, c.name, got, c.want)
		}
	}
}

// TestDrawsAreApart checks that streams depend on the seed and on every name and where it ends, and that one stream's
// draws move no other's.
func TestDrawsAreApart(t *testing.T) {
	seen := map[string]string{}
	for seed := range uint64(3) {
		for _, name := range [][]string{nil, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"ab"}, {"a", "b"}, {"b", "a"},
			{"a\x01", "b"}} {
			what := fmt.Sprintf("%d %q", seed, name)
			for _, got := range []string{fmt.Sprint(Draw(seed, name...).Uint64()), Hash(seed, name...)} {
				if other, ok := seen[got]; ok {
					t.Errorf("%s and %s draw the same", what, other)
				}
				seen[got] = what
			}
		}
	}
	a, b := Draw(7, "a"), Draw(7, "b")
	for range 100 {
		a.Uint64()
	}
	if b.Uint64() != Draw(7, "b").Uint64() {
		t.Error("the draws of one stream move another")
	}
}
