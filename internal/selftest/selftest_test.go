package selftest_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/pipeline"
	"github.com/seatrial/seatrial/internal/selftest"
	"github.com/seatrial/seatrial/internal/suite"
)

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "seatrial-selftest"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch) // what is left is in the system's own folder for such files
	os.Exit(code)
}

// built is a small suite with faults of several kinds, hopeless ones among them.
var built = sync.OnceValues(func() (string, error) {
	o := pipeline.Defaults()
	o.Corpora, o.Seed, o.WorkDir, o.Limit, o.FaultLimit = []string{"demo"}, 7, filepath.Join(scratch, "work"), 24, 4
	o.Faults = []string{"exec.timeout", "exec.all-unavailable", "spec.result-renamed"}
	made, err := pipeline.Run(context.Background(), o)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(scratch, "suite")
	return dir, suite.Write(dir, made.Suite, made.Databases)
})

func load(t *testing.T) *suite.Suite {
	t.Helper()
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	s, err := suite.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func run(t *testing.T, s *suite.Suite, only ...string) []selftest.Result {
	t.Helper()
	results, err := selftest.Run(t.Context(), s, selftest.Options{Workers: 2, Only: only})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// TestASuiteMeetsEveryTarget also checks that no check of tasks and faults is empty.
func TestASuiteMeetsEveryTarget(t *testing.T) {
	results := run(t, load(t))
	if missed := selftest.Missed(results); len(missed) > 0 {
		t.Errorf("missed: %v\n%s", missed, selftest.Text(results))
	}
	for _, name := range []string{"gold", "mutants", "guessing", "effect", "survivable", "harmless", "hopeless"} {
		at := slices.IndexFunc(results, func(r selftest.Result) bool { return r.Check.Name == name })
		if at < 0 || results[at].Figure.Of == 0 {
			t.Errorf("%s measured nothing", name)
		}
	}
}

// TestChecksFail damages a suite and expects the check that guards against the damage to notice it.
func TestChecksFail(t *testing.T) {
	first := func(s *suite.Suite, fits func(*suite.Instance) bool) *suite.Instance {
		at := slices.IndexFunc(s.Instances, fits)
		if at < 0 {
			t.Fatal("the suite has no such instance")
		}
		return s.Instances[at]
	}
	ofRole := func(role string) func(*suite.Instance) bool {
		return func(in *suite.Instance) bool { return in.Role == role }
	}
	damages := map[string]func(s *suite.Suite){
		"gold": func(s *suite.Suite) { s.Tasks[0].Gold.Rows = nil },
		"mutants": func(s *suite.Suite) {
			for _, c := range s.Certificates {
				c.Mutants.Told = 0
			}
		},
		"survivable": func(s *suite.Suite) { first(s, ofRole(condition.RoleHopeless)).Role = condition.RoleFault },
		"harmless": func(s *suite.Suite) {
			s.Index()[first(s, ofRole(condition.RoleLookalike)).Task].Gold.Rows = nil
		},
		"hopeless": func(s *suite.Suite) { first(s, ofRole(condition.RoleLookalike)).Role = condition.RoleHopeless },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			s := load(t)
			damage(s)
			if missed := selftest.Missed(run(t, s, name)); !slices.Equal(missed, []string{name}) {
				t.Errorf("the damage is not noticed: missed %v", missed)
			}
		})
	}
}

func TestUnknownCheck(t *testing.T) {
	_, err := selftest.Run(t.Context(), load(t), selftest.Options{Only: []string{"glod"}})
	if err == nil || diag.ExitCode(err) != diag.ExitUsage || !strings.Contains(diag.Render(err), "gold") {
		t.Errorf("got %v, want a usage error that suggests gold", err)
	}
}
