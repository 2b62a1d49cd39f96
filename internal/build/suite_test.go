package build

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seatrial/seatrial/internal/compile"
	"github.com/seatrial/seatrial/internal/database"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/environment"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/transcript"
	"github.com/seatrial/seatrial/internal/universe"
)

// driftsUnderRace is how many changes of a list `verify` is held against under the race detector: what it tells of them does
// not depend on that.
const driftsUnderRace = 4

var scratch string

func TestMain(m *testing.M) {
	var err error
	if scratch, err = os.MkdirTemp("", "seatrial-build-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(scratch) // the system's temporary folder
	os.Exit(code)
}

// demoOptions reads the demo corpus, under the race detector the beginning of it.
func demoOptions(dir string) Options {
	o := Defaults()
	o.Corpora, o.Seed, o.WorkDir, o.Workers = []string{"demo"}, 7, dir, 2
	if underRace {
		o.Limit, o.Neighbours = 6, 3
	}
	return o
}

// demoSuite builds the demo's suite once and writes it.
var demoSuite = sync.OnceValues(func() (*Built, error) {
	built, err := Run(context.Background(), demoOptions(filepath.Join(scratch, "work")))
	if err != nil {
		return nil, err
	}
	return built, suite.Write(filepath.Join(scratch, "suite"), built.Suite, built.Databases)
})

func demo(t *testing.T) *suite.Suite {
	t.Helper()
	built, err := demoSuite()
	if err != nil {
		t.Fatal(err)
	}
	return built.Suite
}

func run(t *testing.T, o Options) *suite.Suite {
	t.Helper()
	built, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	checkAccount(t, built.Suite)
	return built.Suite
}

// checkAccount holds for every suite: nothing is dropped in silence, and every reason is in the closed list.
func checkAccount(t *testing.T, s *suite.Suite) {
	t.Helper()
	c := s.Manifest.Counts
	ids := map[string]bool{}
	rejected := 0
	for _, r := range s.Rejected {
		if Reasons()[r.Reason] == "" {
			t.Errorf("%s: reason %q is not in the list", r.ID, r.Reason)
		}
		if r.Message == "" || r.File == "" || r.Line < 1 || r.Corpus == "" {
			t.Errorf("a rejection without place or words: %+v", *r)
		}
		if ids[r.What+r.ID] {
			t.Errorf("%s %s is rejected twice", r.What, r.ID)
		}
		ids[r.What+r.ID] = true
		if r.What == "example" {
			rejected++
		}
	}
	published := 0
	for i, task := range s.Tasks {
		if task.Variant == "" {
			published++
		}
		if s.Instances[i].Task != task.ID || s.Certificates[i].Instance != s.Instances[i].ID {
			t.Errorf("task %s stands beside instance %s of %s and a certificate of %s",
				task.ID, s.Instances[i].ID, s.Instances[i].Task, s.Certificates[i].Instance)
		}
		if p := task.Plan(s.Instances[i].Primary); p == nil || p.Workflow != s.Instances[i].Workflow {
			t.Errorf("%s: primary %s with workflow %s", task.ID, s.Instances[i].Primary, s.Instances[i].Workflow)
		}
	}
	sum := 0
	for _, n := range c.RejectedByReason {
		sum += n
	}
	if c.Published+c.Rejected != c.Read || published != c.Published || rejected != c.Rejected || sum != c.Rejected {
		t.Errorf("read %d, published %d (%d tasks), rejected %d (%d lines, %d by reason)",
			c.Read, c.Published, published, c.Rejected, rejected, sum)
	}
	if c.Tasks != len(s.Tasks) || c.Variants != len(s.Tasks)-published || len(s.Instances) != len(s.Tasks) ||
		len(s.Certificates) != len(s.Tasks) {
		t.Errorf("%d tasks, %d instances, %d certificates; counted %d tasks, %d variants",
			len(s.Tasks), len(s.Instances), len(s.Certificates), c.Tasks, c.Variants)
	}
	workflows := 0
	for _, n := range c.Workflows {
		workflows += n
	}
	if workflows != len(s.Tasks) {
		t.Errorf("%d workflows of %d tasks", workflows, len(s.Tasks))
	}
}

// TestDemo states what the demo corpus must reach.
func TestDemo(t *testing.T) {
	s := demo(t)
	checkAccount(t, s)
	c := s.Manifest.Counts
	if c.Read < 160 && !underRace {
		t.Errorf("%d examples were read", c.Read)
	}
	if 100*c.Published < 95*c.Read {
		t.Errorf("%d of %d examples are published, want 95 %%: %v", c.Published, c.Read, c.RejectedByReason)
	}
	if c.TasksWithAlternative != c.Structured || c.Structured < 90 && !underRace {
		t.Errorf("%d of %d structured tasks have a second plan", c.TasksWithAlternative, c.Structured)
	}
	if underRace {
		return // a few neighbours tell less
	}
	if c.MutationScore < 0.95 {
		t.Errorf("mutation score %.4f of %+v", c.MutationScore, c.Mutants)
		for _, certificate := range s.Certificates {
			for _, m := range certificate.Survivors {
				t.Logf("%s survives: %s %s", certificate.Instance, m.Kind, m.SQL)
			}
		}
	}
	if 100*c.Weak > 3*c.Tasks {
		t.Errorf("%d of %d tasks are weak", c.Weak, c.Tasks)
	}
	for _, w := range []string{
		universe.WorkflowSingle, universe.WorkflowSequential, universe.WorkflowParallel, universe.WorkflowMixed,
	} {
		if c.Workflows[w] == 0 {
			t.Errorf("no primary plan is %s: %v", w, c.Workflows)
		}
	}
	validation := 0
	for _, task := range s.Tasks {
		if task.Split == universe.SplitValidation {
			validation++
		}
	}
	if share := float64(validation) / float64(len(s.Tasks)); share < 0.08 || share > 0.12 {
		t.Errorf("%.3f of the tasks are on the validation side", share)
	}
	t.Logf("published %d of %d, mutation score %.4f, joins %.4f, weak %d, guessable %d, workflows %v",
		c.Published, c.Read, c.MutationScore, c.JoinMutants.Score(), c.Weak, c.Guessable, c.Workflows)
}

// TestSameBytes builds the demo at several numbers of workers, in folders of different names.
func TestSameBytes(t *testing.T) {
	demo(t)
	for _, workers := range []int{1, 4} {
		o := demoOptions(filepath.Join(t.TempDir(), "elsewhere"))
		o.Workers = workers
		built, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Join(t.TempDir(), "suite")
		if err := suite.Write(dir, built.Suite, built.Databases); err != nil {
			t.Fatal(err)
		}
		if n := compareFolders(t, filepath.Join(scratch, "suite"), dir); n < 8 {
			t.Errorf("%d workers: only %d files were compared", workers, n)
		}
	}
}

// compareFolders wants two folders to hold the same files, and gives their number.
func compareFolders(t *testing.T, a, b string) int {
	t.Helper()
	left, right := files(t, a), files(t, b)
	for name, data := range left {
		if !bytes.Equal(data, right[name]) {
			t.Errorf("%s differs: %d and %d bytes", name, len(data), len(right[name]))
		}
	}
	if len(left) != len(right) {
		t.Errorf("%d and %d files", len(left), len(right))
	}
	return len(left)
}

func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestChance plays every single call of some tasks through an environment, answers with its result, and wants as many
// right answers as the task's chance level says.
func TestChance(t *testing.T) {
	s := demo(t)
	tasks, hits, several := 20, 0, 0
	if underRace {
		tasks = 2
	}
	worlds := map[string]*database.World{}
	// Every twelfth task: the databases stand in the suite one after another. Guessable ones come first.
	order := make([]int, len(s.Tasks))
	for i := range order {
		order[i] = (i * 12) % len(order)
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(s.Tasks[b].Flags) - len(s.Tasks[a].Flags) })
	for _, i := range slices.Compact(order)[:tasks] {
		task := s.Tasks[i]
		if worlds[task.Database] == nil {
			path, err := s.DatabasePath(task.Database)
			if err != nil {
				t.Fatal(err)
			}
			if worlds[task.Database], err = database.Open(path, database.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		tools := s.Toolkit(s.Instances[i], task)
		kit, err := environment.NewToolkit(tools)
		if err != nil {
			t.Fatal(err)
		}
		var counted universe.Chance
		for _, call := range universe.SingleCalls(tools, nil, task.Literals) {
			counted.Calls++
			if answersRight(t, kit, worlds[task.Database], task, &call) {
				counted.Hits++
			}
		}
		if counted != task.Chance {
			t.Errorf("%s: %+v counted, %+v published", task.ID, counted, task.Chance)
		}
		if counted.Hits == 0 {
			t.Errorf("%s: not even the direct plan's call is among the single calls", task.ID)
		}
		if guessable := slices.Contains(task.Flags, universe.FlagGuessable); guessable != (counted.Level() > 0.10) {
			t.Errorf("%s: guessable %v at a level of %.3f", task.ID, guessable, counted.Level())
		}
		hits += counted.Hits
		if counted.Hits > 1 {
			several++
		}
	}
	for _, w := range worlds {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d hits in %d tasks, several in %d", hits, tasks, several)
}

func answersRight(t *testing.T, kit *environment.Toolkit, w *database.World, task *universe.Task, call *universe.Call) bool {
	t.Helper()
	env, err := environment.New(environment.Config{Toolkit: kit, World: w, Parallelism: 1})
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := universe.Marshal(call.Arguments)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = env.Step(t.Context(), universe.Turn{Actions: []universe.Action{
		{Kind: universe.ActionCall, Label: call.Label, Tool: call.Tool, Arguments: arguments},
		{Kind: universe.ActionAnswer, Answer: []byte(`"$` + call.Label + `$"`)},
	}}); err != nil {
		t.Fatal(err)
	}
	for _, e := range env.Transcript().Events {
		if e.Kind == transcript.EventAnswer && e.Columns != nil {
			return task.Gold.Accepts(universe.Answer{Result: &universe.Result{Columns: e.Columns, Rows: e.Result}}).Strict
		}
	}
	return false
}

// TestOptions builds a part of the demo under each option that decides what is published.
func TestOptions(t *testing.T) {
	if underRace {
		t.Skip("what is published does not depend on what runs side by side: the ordinary build tests it")
	}
	small := func() Options {
		o := demoOptions(filepath.Join(scratch, "work"))
		o.Limit, o.Neighbours = 41, 4 // the first database
		return o
	}
	t.Run("require alternative", func(t *testing.T) {
		o := small()
		o.RequireAlternative = true
		s := run(t, o)
		c := s.Manifest.Counts
		if c.TasksWithAlternative != c.Tasks || c.RejectedByReason["no_alternative"] != c.Rejected || c.Rejected == 0 {
			t.Errorf("%+v", c)
		}
		o.RequireAlternative = false
		if all := run(t, o).Manifest.Counts; all.Tools != c.Tools || all.TasksWithAlternative != c.Tasks {
			t.Errorf("%d tools and %d tasks with a second plan, %d and %d where one is required: functions are never dropped",
				all.Tools, all.TasksWithAlternative, c.Tools, c.Tasks)
		}
	})
	t.Run("max rows", func(t *testing.T) {
		o := small()
		o.MaxRows = 2
		s := run(t, o)
		for _, task := range s.Tasks {
			if rows := task.Gold.Longest(); rows > 2 {
				t.Errorf("%s has %d rows", task.ID, rows)
			}
		}
		if c := s.Manifest.Counts; c.RejectedByReason["too_many_rows"] != c.Rejected || c.Rejected == 0 || c.Tasks == 0 {
			t.Errorf("%+v", c)
		}
	})
	t.Run("limit", func(t *testing.T) {
		o := small()
		o.Limit = 5
		s := run(t, o)
		if c := s.Manifest.Counts; c.Read != 5 || s.Manifest.Corpora[0].Examples != 5 {
			t.Errorf("%+v of %+v", c, s.Manifest.Corpora)
		}
	})
	t.Run("validation share", func(t *testing.T) {
		for _, share := range []float64{0, 1} {
			o := small()
			o.Limit, o.ValidationShare = 8, share
			for _, task := range run(t, o).Tasks {
				if (task.Split == universe.SplitValidation) != (share == 1) {
					t.Errorf("share %g: %s is on the side of %s", share, task.ID, task.Split)
				}
			}
		}
	})
	t.Run("names", func(t *testing.T) {
		for _, names := range []string{compile.NamesReadable, compile.NamesObscure} {
			o := small()
			o.Names = names
			seen := map[string]bool{}
			described := map[string]bool{}
			for _, tool := range run(t, o).Tools[universe.StyleFunc] {
				if len(tool.Name) > compile.MaxNameLength || tool.Name == "" || seen[tool.Name] ||
					strings.Trim(tool.Name, "abcdefghijklmnopqrstuvwxyz_0123456789") != "" {
					t.Errorf("%s: name %q", names, tool.Name)
				}
				if strings.HasPrefix(tool.Name, "function_") != (names == compile.NamesObscure) {
					t.Errorf("%s: name %q", names, tool.Name)
				}
				seen[tool.Name] = true
				if described[tool.Database+tool.Description] {
					t.Errorf("two tools are described as %q", tool.Description)
				}
				described[tool.Database+tool.Description] = true
			}
			if len(seen) < 8 {
				t.Errorf("%d tools", len(seen))
			}
		}
	})
	t.Run("style", func(t *testing.T) {
		o := small()
		o.Styles = []string{"fun"}
		var bad *diag.Error
		if _, err := Run(t.Context(), o); !errors.As(err, &bad) || !strings.Contains(err.Error()+bad.Hint, "func") {
			t.Errorf("error %v, want one that names func", err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Run(ctx, small()); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// TestAugment states what variants are.
func TestAugment(t *testing.T) {
	if underRace {
		t.Skip("what is published does not depend on what runs side by side: the ordinary build tests it")
	}
	o := demoOptions(filepath.Join(scratch, "work"))
	o.Augment = 2
	o.Limit = 82 // the first two databases
	s := run(t, o)
	c := s.Manifest.Counts
	if c.Variants < 60 {
		t.Errorf("%d variants", c.Variants)
	}
	index := s.Index()
	asked := map[string]string{}
	perSource := map[string]int{}
	sameAnswer := 0
	for i, task := range s.Tasks {
		key := task.Database + "\n" + task.Question() + "\n" + task.SQL
		if other := asked[key]; other != "" {
			t.Errorf("%s asks what %s asks", task.ID, other)
		}
		asked[key] = task.ID
		if task.Variant == "" {
			continue
		}
		source := index[task.Variant]
		if source == nil {
			t.Errorf("%s is a variant of %s, which is not there", task.ID, task.Variant)
			continue
		}
		perSource[source.ID]++
		certificate := s.Certificates[i]
		switch {
		case task.Split != source.Split:
			t.Errorf("%s is on the side of %s and its source on that of %s", task.ID, task.Split, source.Split)
		case task.Question() == source.Question() || task.SQL == source.SQL:
			t.Errorf("%s repeats its source: %s, %s", task.ID, task.Question(), task.SQL)
		case task.Gold.Longest() == 0:
			t.Errorf("%s has an empty answer", task.ID)
		case certificate.Neighbours != o.Neighbours || len(certificate.Plans) != len(task.Plans) || len(certificate.Checks) < 4 ||
			len(task.Plans) != len(source.Plans) || task.Proof != universe.ProofExecuted:
			t.Errorf("%s is not proven as its source is: %+v", task.ID, certificate)
		}
		if string(rowsOf(t, task)) == string(rowsOf(t, source)) {
			sameAnswer++
		}
		checkExchange(t, task, source)
	}
	for id, n := range perSource {
		if n > o.Augment {
			t.Errorf("%s has %d variants, want at most %d", id, n, o.Augment)
		}
	}
	t.Logf("%d variants of %d sources, %d with their source's answer; refused %v", c.Variants, len(perSource), sameAnswer, c.VariantsRefused)
	if 4*sameAnswer > c.Variants {
		t.Errorf("%d of %d variants have their source's answer", sameAnswer, c.Variants)
	}
}

func rowsOf(t *testing.T, task *universe.Task) []byte {
	t.Helper()
	text, err := universe.Marshal(task.Gold.Answers()[0].Rows)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkExchange wants one literal of the source to be exchanged in question and SQL, and everything else to stay.
func checkExchange(t *testing.T, task, source *universe.Task) {
	t.Helper()
	spelt := func(v universe.Value) string {
		if text, ok := v.(string); ok {
			return text
		}
		return strings.TrimSuffix(string(universe.AppendValue(nil, v)), ".0")
	}
	for _, from := range source.Literals {
		for _, to := range task.Literals {
			if to.Argument != from.Argument || from.End == 0 {
				continue
			}
			q := source.Question()
			if q[:from.Start]+spelt(to.Value)+q[from.End:] != task.Question() {
				continue
			}
			written := strings.ReplaceAll(spelt(to.Value), "'", "''")
			if !strings.Contains(task.SQL, written) || len(compile.Mentions(task.Question(), from.Value)) > 0 {
				t.Errorf("%s: %v for %v in %s, %s", task.ID, to.Value, from.Value, task.Question(), task.SQL)
			}
			if len(task.Plans[0].Calls) != 1 || task.Plans[0].Calls[0].Tool != source.Plans[0].Calls[0].Tool {
				t.Errorf("%s uses another tool than its source", task.ID)
			}
			return
		}
	}
	t.Errorf("%s: no literal explains the change from %q to %q", task.ID, source.Question(), task.Question())
}

// makeFile runs a script into a database file.
func makeFile(t *testing.T, path, script string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func writeLines(t *testing.T, path string, lines ...string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func ownOptions(t *testing.T, corpora ...string) Options {
	t.Helper()
	o := Defaults()
	o.Corpora, o.Seed, o.WorkDir, o.Workers, o.Neighbours, o.StatementTimeout = corpora, 3, t.TempDir(), 2, 3, 30*time.Second
	return o
}
