//go:build !race

// The shortcuts run in one goroutine, and SQLite is dozens of times slower under the race detector.

package shortcut_test

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/certify/shortcut"
	"github.com/seatrial/seatrial/internal/diag/testenv"
	"github.com/seatrial/seatrial/internal/pipeline"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
)

// built is the demo with all faults on a few tasks of each kind, in every style, built once; with the corpora, a part
// of Spider's dev questions too.
var built = sync.OnceValues(func() (map[string]*shortcut.Meter, error) {
	meters := map[string]*shortcut.Meter{}
	corpora := map[string]func(o *pipeline.Options){
		"demo":   func(o *pipeline.Options) { o.FaultLimit = 10 },
		"styles": func(o *pipeline.Options) { o.Styles, o.FaultLimit = pipeline.Styles(), 3 },
	}
	if shared := testenv.SharedFolder(); shared != "" {
		corpora["spider"] = func(o *pipeline.Options) {
			o.Corpora, o.Split, o.Synthesize = []string{"spider:" + filepath.Join(shared, "data", "spider")}, "dev", true
			o.FaultLimit = 30
		}
	}
	for name, change := range corpora {
		dir, err := os.MkdirTemp("", "shortcut-*")
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
		o := pipeline.Defaults()
		o.Corpora, o.Seed, o.WorkDir, o.Neighbours, o.Faults = []string{"demo"}, 7, dir, 2, []string{"all"}
		change(&o)
		b, err := pipeline.Run(context.Background(), o)
		if err != nil {
			return nil, err
		}
		if err := suite.Write(filepath.Join(dir, "suite"), b.Suite, b.Databases); err != nil {
			return nil, err
		}
		s, err := suite.Load(filepath.Join(dir, "suite"))
		if err != nil {
			return nil, err
		}
		meters[name] = &shortcut.Meter{
			Suite: s, Stage: episode.NewStage(s, proof.NewWorlds(s, 0), environment.Limits{}),
		}
	}
	return meters, nil
})

var dirs []string

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range dirs {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func each(t *testing.T, check func(t *testing.T, name string, m *shortcut.Meter)) {
	t.Helper()
	meters, err := built()
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range meters {
		t.Run(name, func(t *testing.T) { check(t, name, m) })
	}
}

// TestViewsAreTheSame: before the first call, a fault, its look-alike, its mirror and its control look the same, byte
// for byte, with and without hints.
func TestViewsAreTheSame(t *testing.T) {
	each(t, func(t *testing.T, _ string, m *shortcut.Meter) {
		compared, differing, err := m.Views(t.Context())
		if err != nil || compared < 400 {
			t.Fatalf("%d views compared, %v", compared, err)
		}
		t.Logf("%d views compared, %d differ", compared, len(differing))
		for i, d := range differing {
			if i < 10 {
				t.Error(d)
			}
		}
	})
}

// TestReplicasNameNoTool: replicas resemble right tools at most twice as often as chance has it, and policies that call
// them without reading fail.
func TestReplicasNameNoTool(t *testing.T) {
	each(t, func(t *testing.T, name string, m *shortcut.Meter) {
		found, chance, err := m.Replicas(t.Context())
		if err != nil || found.Of < 50 {
			t.Fatalf("%.0f instances show replicas, %v", found.Of, err)
		}
		if found.Rate() > 2*chance.Rate() {
			t.Errorf("%.1f %% of replicas resemble right tools, by chance %.1f %%", 100*found.Rate(), 100*chance.Rate())
		}
		one, _, err := m.OneCall(t.Context(), false)
		if err != nil {
			t.Fatal(err)
		}
		if one.Rate() > 0.05 {
			t.Errorf("one call solves %.0f of %.0f faults", one.N, one.Of)
		}
		fitting, byChance, err := m.OneCall(t.Context(), true)
		if err != nil {
			t.Fatal(err)
		}
		if fitting.Rate() > byChance.Rate()+0.05 {
			t.Errorf("one fitting call solves %.0f of %.0f faults, and %.0f by chance", fitting.N, fitting.Of, byChance.N)
		}
		strict, err := m.AlwaysStrict(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strict.Rate() > 0.5 || strict.Of < 10 {
			t.Errorf("strict forms alone solve %.0f of %.0f faults and mirrors", strict.N, strict.Of)
		}
		t.Logf("replicas of right tools %.2f %% (chance %.2f %%), one call %.0f of %.0f, fitting %.0f (chance %.0f), always strict %.0f of %.0f",
			100*found.Rate(), 100*chance.Rate(), one.N, one.Of, fitting.N, byChance.N, strict.N, strict.Of)
	})
}

// TestListingsTellNothing: the number of tools, the length of the listing and the names of tools do not reveal that the
// right tools are missing.
func TestListingsTellNothing(t *testing.T) {
	each(t, func(t *testing.T, _ string, m *shortcut.Meter) {
		list, err := m.Listings(t.Context())
		if err != nil || len(list) == 0 {
			t.Fatalf("%d listings, %v", len(list), err)
		}
		tools := shortcut.Threshold(list, func(l *shortcut.Listing) int { return l.Tools })
		length := shortcut.Threshold(list, func(l *shortcut.Listing) int { return l.Length })
		names := shortcut.Words(list)
		t.Logf("%d listings: by number of tools %.2f, by length %.2f, by words %.2f", len(list), tools, length, names)
		bound := max(0.6, 0.5+1/math.Sqrt(float64(len(list)))) // a threshold is chosen on the listings that it is tried on
		if tools > 0.5 || length > bound || names > bound {
			t.Error("listings reveal that the right tools are missing")
		}
	})
}
