package schemas

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/seatrial/seatrial/internal/pipeline"
	"github.com/seatrial/seatrial/internal/pipeline/suitetest"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/card"
	"github.com/seatrial/seatrial/internal/report/comparison"
	"github.com/seatrial/seatrial/internal/report/export"
	"github.com/seatrial/seatrial/internal/report/gate"
	"github.com/seatrial/seatrial/internal/report/plan"
	"github.com/seatrial/seatrial/internal/report/runs"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

func TestMain(m *testing.M) { suitetest.Main(m) }

var small = suitetest.Demo(func(o *pipeline.Options) {
	o.Limit, o.Neighbours, o.FaultLimit = 6, 2, 3
	o.Styles = []string{task.StyleFunc, task.StyleSlot}
	o.Faults = []string{"exec.timeout", "out.truncated"}
})

// checker validates by an independent implementation of JSON Schema, and counts what it saw.
type checker struct {
	*testing.T
	compiled map[string]*jsonschema.Schema
	seen     map[string]int
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	c := &checker{t, map[string]*jsonschema.Schema{}, map[string]int{}}
	for _, name := range Names() {
		text, err := Of(name)
		if err != nil {
			t.Fatal(err)
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		compiler := jsonschema.NewCompiler()
		if err := compiler.AddResource(name, document); err != nil {
			t.Fatal(err)
		}
		if c.compiled[name], err = compiler.Compile(name); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// valid validates an output. Then it leaves out each required field, and adds one: the schema must refuse both.
func (c *checker) valid(name string, text []byte) {
	c.Helper()
	c.seen[name]++
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err == nil {
		err = c.compiled[name].Validate(document)
	}
	if err != nil {
		c.Errorf("%s: %v\n%.500s", name, err, text)
		return
	}
	if c.seen[name] > 3 {
		return
	}
	fields := document.(map[string]any)
	for _, field := range c.compiled[name].Required {
		value := fields[field]
		delete(fields, field)
		if c.compiled[name].Validate(document) == nil {
			c.Errorf("%s: valid without %q", name, field)
		}
		fields[field] = value
	}
	fields["no field"] = 1
	if c.compiled[name].Validate(document) == nil {
		c.Errorf("%s: valid with an unknown field", name)
	}
}

func (c *checker) json(name string, v any) {
	c.Helper()
	text, err := task.Marshal(v)
	if err != nil {
		c.Fatal(err)
	}
	c.valid(name, text)
}

func (c *checker) lines(name, path string) {
	c.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		c.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		c.valid(name, line)
	}
}

// play plays policies on a suite.
func play(t *testing.T, s *suite.Suite) *runs.Run {
	t.Helper()
	ctx := context.Background()
	store, err := episode.Create(ctx, filepath.Join(t.TempDir(), "run"), episode.Meta{Suite: s.Manifest.Digest,
		Settings: map[string]json.RawMessage{"trials": json.RawMessage("2")}})
	if err != nil {
		t.Fatal(err)
	}
	r := suitetest.NewRun(t, s, store, "blind", "recover", "random")
	r.Trials = 2
	if _, err := r.Execute(ctx); err != nil {
		t.Fatal(err)
	}
	run := runs.Of(store, s)
	t.Cleanup(func() { _ = run.Close() })
	return run
}

// What commands write is valid by the published schemas, and they refuse what lacks a field or has another.
func TestOutputsAreValid(t *testing.T) {
	c, s, ctx := newChecker(t), small.Load(t), context.Background()
	manifest, err := os.ReadFile(filepath.Join(s.Dir, suite.FileManifest))
	if err != nil {
		t.Fatal(err)
	}
	c.valid("suite", manifest)
	for name, file := range map[string]string{"task": suite.FileTasks, "instance": suite.FileInstances,
		"certificate": suite.FileCertificates, "rejection": suite.FileRejected, "recipe": suite.FileRecipes} {
		c.lines(name, filepath.Join(s.Dir, filepath.FromSlash(file)))
	}
	for style := range s.Tools {
		c.lines("tool", filepath.Join(s.Dir, suite.DirTools, style+".jsonl"))
	}
	run := play(t, s)
	err = run.EachRow(ctx, nil, func(row report.Row, stored *episode.Stored) error {
		text, err := stored.Transcript.Encode()
		if err != nil {
			return err
		}
		head, rest, _ := bytes.Cut(text, []byte("\n"))
		c.valid("transcript-header", head)
		for line := range bytes.Lines(rest) {
			c.valid("transcript-event", line)
		}
		c.json("grade", row.Grade.Whole())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c.reports(ctx, run)
	for _, name := range Names() {
		if c.seen[name] == 0 {
			t.Errorf("no output of %s was validated", name)
		}
	}
	if c.seen["transcript-event"] < 100 || c.seen["grade"] < 50 {
		t.Errorf("%v", c.seen)
	}
}

// reports validates what is made from a whole run.
func (c *checker) reports(ctx context.Context, run *runs.Run) {
	c.Helper()
	rows, err := run.Rows(ctx)
	if err != nil {
		c.Fatal(err)
	}
	list := []report.Run{{Rows: rows}}
	r, err := report.Build(list, report.Options{})
	if err != nil {
		c.Fatal(err)
	}
	c.json("report", r)
	made, err := card.Of(&run.Suite.Manifest, run.Store.Meta().Settings, r, rows)
	if err != nil {
		c.Fatal(err)
	}
	c.json("card", made)
	sides, err := comparison.Sides(list, report.Options{})
	if err != nil {
		c.Fatal(err)
	}
	compared, err := comparison.All(sides, "", report.Options{})
	if err != nil || len(compared) == 0 {
		c.Fatal(compared, err)
	}
	for _, one := range compared {
		c.json("compare", one)
	}
	rules, err := gate.Parse("rules", []byte("agent: blind\nrules:\n  - {measure: invalid, at_most: 0.35}\n"+
		"  - {measure: runaway, calls: 20, at_most: 0.35}\n"))
	if err != nil {
		c.Fatal(err)
	}
	verdict, err := gate.Judge(rules, rows, nil)
	if err != nil {
		c.Fatal(err)
	}
	c.json("gate", verdict)
	planned, err := plan.Make(plan.Request{Difference: 0.1, Power: 0.8, Alpha: 0.05, Arms: 2, Comparisons: 1, Rate: 0.5,
		Consistency: 0.5, Correlation: 0.5})
	if err != nil {
		c.Fatal(err)
	}
	c.json("plan", planned)
	summary, err := export.Run(ctx, run, export.Options{Format: "junit", Out: filepath.Join(c.TempDir(), "out")})
	if err != nil {
		c.Fatal(err)
	}
	c.json("export", summary)
}

// The formats of the schemas are those of the types, and a document of another version is refused.
func TestAnotherVersionIsRefused(t *testing.T) {
	c := newChecker(t)
	h := transcript.Header{Format: transcript.Format, ID: "x"}
	c.json("transcript-header", h)
	h.Format = strings.Replace(transcript.Format, "/", "/9", 1)
	text, err := task.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var invalid *jsonschema.ValidationError
	if err := c.compiled["transcript-header"].Validate(document); !errors.As(err, &invalid) {
		t.Errorf("%s is accepted: %v", text, err)
	}
}
