package pipeline

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/certify/recheck"
	"github.com/seatrial/seatrial/internal/diag/testenv"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// setOperations is a corpus of two questions that share the tool of a set operation and name its columns differently.
func setOperations(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	db, err := sql.Open("sqlite", filepath.Join(dir, "people.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		"CREATE TABLE person (id INTEGER PRIMARY KEY, first_name TEXT, last_name TEXT)",
		"INSERT INTO person VALUES (1, 'Ada', 'Berg'), (2, 'Bo', 'Ada'), (3, 'Cy', 'Dahl'), (4, 'Di', 'Berg'), (5, 'Eve', 'Falk')",
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	questions := strings.Join([]string{
		`{"id": "names", "question": "First and last names of people other than the Bergs?", "sql": "SELECT first_name, last_name FROM person EXCEPT SELECT first_name, last_name FROM person WHERE last_name = 'Berg'"}`,
		`{"id": "numbers", "question": "Ids and first names of people other than Bo?", "sql": "SELECT id, first_name FROM person EXCEPT SELECT id, first_name FROM person WHERE first_name = 'Bo'"}`,
		`{"id": "turned", "question": "Last and first names of people other than the Dahls?", "sql": "SELECT last_name, first_name FROM person EXCEPT SELECT last_name, first_name FROM person WHERE last_name = 'Dahl'"}`,
	}, "\n")
	if err := os.WriteFile(filepath.Join(dir, "questions.jsonl"), []byte(questions), 0o644); err != nil {
		t.Fatal(err)
	}
	return "sql:" + filepath.Join(dir, "people.sqlite") + "," + filepath.Join(dir, "questions.jsonl")
}

// TestEveryPlanIsGradedRight plays every plan of every task through the grader: a plan that is published is right
// there.
func TestEveryPlanIsGradedRight(t *testing.T) {
	testenv.SkipRace(t, looksAtBuilt)
	for name, corpus := range map[string]string{"set operations": setOperations(t), "demo": "demo"} {
		o := Defaults()
		o.Corpora, o.WorkDir, o.Seed, o.Neighbours = []string{corpus}, t.TempDir(), 7, 6
		o.Styles = Styles()
		if name == "demo" {
			o.Limit = 60
		}
		b, s := assembled(t, o)
		plans := 0
		stage := episode.NewStage(s, worldsOf{b}, environment.Limits{})
		for _, in := range s.Instances {
			tk, err := stage.Task(in)
			if err != nil {
				t.Fatal(err)
			}
			for i := range tk.Plans {
				plans++
				if g := gradeOf(t, stage, in, tk, "gold-"+tk.Plans[i].Kind); !g.Success {
					t.Errorf("%s, %s: the %s plan of %s is graded %s (%s)", name, in.ID, tk.Plans[i].Kind, tk.SQL, g.Outcome, g.Cause)
				}
			}
		}
		if plans <= len(s.Tasks) || len(s.Tasks) < 6 {
			t.Errorf("%s: %d plans of %d tasks: too few to say anything", name, plans, len(s.Tasks))
		}
	}
}

// assembled builds a suite in memory. Its builder is closed when the test ends.
func assembled(t *testing.T, o Options) (*builder, *suite.Suite) {
	t.Helper()
	b, err := newBuilder(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.close() })
	if err := b.passes(t.Context()); err != nil {
		t.Fatal(err)
	}
	built, err := b.assemble(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b, built.Suite
}

func gradeOf(t *testing.T, stage *episode.Stage, in *suite.Instance, tk *task.Task, name string) grade.Grade {
	t.Helper()
	env, err := stage.Environment(t.Context(), in, episode.Seat{Header: transcript.Header{
		ID: in.ID, Instance: in.ID, Task: in.Task, Agent: name,
	}})
	if err != nil {
		t.Fatal(err)
	}
	player, err := policy.New(name, policy.Input{Task: tk, Primary: in.Primary, Seed: in.Seed})
	if err != nil {
		t.Fatal(err)
	}
	record, err := episode.Play(t.Context(), env, player)
	if err != nil {
		t.Fatal(err)
	}
	g, err := grade.Of(tk, record)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestPairsShowAsManyTools counts the tools of instances that cannot be met and of the complete ones that they are
// scored with: the number of tools tells nothing, whatever the condition is.
func TestPairsShowAsManyTools(t *testing.T) {
	testenv.SkipRace(t, looksAtBuilt)
	o := Defaults()
	o.Corpora, o.WorkDir, o.Seed, o.Limit, o.Neighbours = []string{"demo"}, t.TempDir(), 7, 24, 4
	o.Styles = []string{task.StyleFunc, task.StyleRest}
	o.Faults = []string{"distractors-only", "exec.all-unavailable"}
	o.Conditions = []string{"drop-detail", "replace-tool"}
	s := buildWith(t, o)
	tasks, kinds := s.Index(), map[string]int{}
	pairs, _ := s.Pairs()
	for _, p := range pairs {
		tk := tasks[p.Incomplete.Task]
		kinds[p.Incomplete.Specification().String()]++
		if few, many := len(s.Toolkit(p.Incomplete, tk)), len(s.Toolkit(p.Complete, tk)); few != many {
			t.Errorf("%s shows %d tools, and %s shows %d", p.Incomplete.ID, few, p.Complete.ID, many)
		}
	}
	for _, kind := range []string{"hopeless:distractors-only", "hopeless:exec.all-unavailable", "drop-detail",
		"replace-tool:5"} {
		if kinds[kind] < 10 {
			t.Errorf("%d pairs are under %s, want 10: %v", kinds[kind], kind, kinds)
		}
	}
	found, err := recheck.Suite(t.Context(), s, recheck.Options{Workers: 2})
	if err != nil || len(found.Drift) > 0 {
		t.Errorf("drift %v (%v)", found, err)
	}
}
