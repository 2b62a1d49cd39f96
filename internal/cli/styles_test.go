package cli_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/diag/testenv"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// TestStyles holds BIRD and Spider's dev questions, in the slot, sel and rest styles, to what the README promises: how
// many plans are proven, how many tasks are published, that the bytes do not depend on the number of workers, that the
// certificates hold, and that gold succeeds.
func TestStyles(t *testing.T) {
	shared := testenv.Shared(t)
	dir := t.TempDir()
	both := filepath.Join(dir, "both")
	make := func(out string, args ...string) (account suite.Counts) {
		decode(t, do(t, append([]string{"build", "--split", "dev", "--synthesize", "--seed", "7", "--out", out, "--json"},
			args...)...), &account)
		return account
	}
	bird, spider := "bird:"+filepath.Join(shared, "data", "bird"), "spider:"+filepath.Join(shared, "data", "spider")
	styles := []string{"--style", "slot", "--style", "sel", "--style", "rest"}
	account := make(both, append(styles, "--corpus", bird, "--corpus", spider)...)
	s, err := suite.Load(both)
	if err != nil {
		t.Fatal(err)
	}
	published := map[[2]string]int{}
	synthesised := 0
	for _, tk := range s.Tasks {
		published[[2]string{tk.Corpus, tk.Style}]++
		if strings.Contains(strings.Join(tk.Flags, " "), task.FlagSynthesized) {
			synthesised++
		}
	}
	for key, least := range map[[2]string]int{
		{"bird", task.StyleSlot}: 1320, {"bird", task.StyleSel}: 1320, {"bird", task.StyleRest}: 1420,
	} {
		if published[key] < least {
			t.Errorf("%s: %d are published, want at least %d", key, published[key], least)
		}
	}
	if synthesised == 0 || account.Synthesized != synthesised {
		t.Errorf("%d tasks are marked as synthesised, %d are counted", synthesised, account.Synthesized)
	}
	for style, c := range account.Styles {
		if c.Published+c.Rejected != c.Read {
			t.Errorf("%s: %d read, %d published, %d rejected", style, c.Read, c.Published, c.Rejected)
		}
	}

	// What is proven, corpus by corpus: on BIRD nine tenths in slot and sel and 97 % in rest, on Spider 97 % in all three.
	for corpus, spec := range map[string]string{"bird": bird, "spider": spider} {
		alone := make(filepath.Join(dir, corpus), append(styles, "--corpus", spec, "--workers", "1")...)
		for style, c := range alone.Styles {
			least := 0.97
			if corpus == "bird" && style != task.StyleRest {
				least = 0.90
			}
			if share := float64(c.Proven) / float64(c.Read); share < least {
				t.Errorf("%s, %s: %d of %d are proven (%.3f), want %.2f", corpus, style, c.Proven, c.Read, share, least)
			}
		}
	}
	var outcome struct {
		Certificates int               `json:"certificates"`
		Drift        []json.RawMessage `json:"drift"`
	}
	decode(t, do(t, "verify", both, "--json"), &outcome)
	if outcome.Certificates != account.Tasks || len(outcome.Drift) != 0 {
		t.Errorf("%d certificates for %d tasks, of which %d drift", outcome.Certificates, account.Tasks, len(outcome.Drift))
	}
	checkPolicies(t, s, do(t, "run", both, "--agent", "gold", "--agent", "gold-direct", "--agent", "gold-composed",
		"--agent", "mute",
		"--agent", "random", "--seed", "11", "--out", filepath.Join(dir, "run"), "--json"))
}
