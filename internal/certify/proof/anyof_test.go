package proof_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/pipeline"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/function"
)

// sayer is an agent that answers at once.
type sayer json.RawMessage

func (s sayer) Next(context.Context, *task.View, []task.Observation) (task.Turn, error) {
	return task.Turn{Actions: []task.Action{{Kind: task.ActionAnswer, Answer: json.RawMessage(s)}}}, nil
}

// TestAnyOfEndToEnd builds, writes, loads and verifies a suite whose questions have several right answers, and grades
// agents that return them.
func TestAnyOfEndToEnd(t *testing.T) {
	type example struct {
		question, sql string
		right, wrong  []string
	}
	examples := []example{
		{
			"Which quay is deepest?", "SELECT name FROM quay ORDER BY depth DESC LIMIT 1",
			[]string{`"South"`, `["East"]`, `[{"name": "East"}]`}, []string{`"North"`, `["South", "East"]`, `[]`},
		},
		{
			"Which flag is the most common, and how many ships fly it?",
			"SELECT flag, count(*) FROM ship GROUP BY flag ORDER BY count(*) DESC LIMIT 1",
			[]string{`[["PT", 2]]`, `[["ES", 2]]`}, []string{`[["PT", 1]]`, `[["NO", 1]]`, `[["ES", 2], ["PT", 2]]`},
		},
		{
			"Name the two ships with the largest tonnage.", "SELECT name FROM ship ORDER BY tonnage DESC LIMIT 2",
			[]string{`["Dorada", "Corvo"]`, `["Dorada", "Brisa"]`},
			[]string{`["Corvo", "Dorada"]`, `["Brisa", "Corvo"]`, `["Dorada"]`, `["Dorada", "Alba"]`},
		},
		{
			"Which ships fly the flag of Portugal?", "SELECT name FROM ship WHERE flag = 'PT'",
			[]string{`["Corvo", "Brisa"]`}, []string{`["Brisa"]`},
		},
	}
	dir := t.TempDir()
	var lines strings.Builder
	for _, e := range examples {
		line, err := json.Marshal(map[string]string{"question": e.question, "sql": e.sql})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	file := filepath.Join(dir, "examples.jsonl")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	o := pipeline.Defaults()
	o.Corpora, o.Seed, o.WorkDir, o.Augment = []string{"sql:" + makeFile(t, "harbour", harbour) + "," + file}, seed,
		filepath.Join(dir, "work"), 0
	built, err := pipeline.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "suite")
	if err := suite.Write(out, built.Suite, built.Databases); err != nil {
		t.Fatal(err)
	}
	s, err := suite.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tasks) != len(examples) {
		t.Fatalf("%d tasks of %d examples: %+v", len(s.Tasks), len(examples), s.Rejected)
	}
	if drift := verifySuite(t, s, 1).Drift; len(drift) > 0 {
		t.Errorf("what was just built drifts: %v", drift)
	}
	worlds := proof.NewWorlds(s, 0)
	defer worlds.Close()
	stage := episode.NewStage(s, worlds, environment.Limits{})
	for i, tk := range s.Tasks {
		e := examples[slices.IndexFunc(examples, func(e example) bool { return e.sql == tk.SQL })]
		checks := s.Certificates[i].Checks
		if several := strings.Contains(e.sql, "LIMIT"); several != (tk.Gold.Kind == task.GoldAnyOf) ||
			several != slices.Contains(checks, proof.CheckOneOf) || several == slices.Contains(checks, proof.CheckDeterminate) {
			t.Errorf("%s: gold of the kind %s, checks %v", e.sql, tk.Gold.Kind, checks)
		}
		if c := s.Certificates[i]; c.Mutants.Told == 0 || len(c.Plans) == 0 || c.Plans[0].Worlds < o.Neighbours/2 {
			t.Errorf("%s: certificate %+v", e.sql, c)
		}
		for n, said := range append(slices.Clone(e.right), e.wrong...) {
			id := fmt.Sprint(i, "-", n)
			env, err := stage.Environment(t.Context(), s.Instances[i], episode.Seat{
				Header: transcript.Header{ID: id, Instance: s.Instances[i].ID, Task: tk.ID, Agent: "sayer"},
			})
			if err != nil {
				t.Fatal(err)
			}
			record, err := episode.Play(t.Context(), env, sayer(said))
			if err != nil {
				t.Fatal(err)
			}
			g, err := grade.Of(tk, record)
			if err != nil {
				t.Fatal(err)
			}
			if want := n < len(e.right); g.Success != want {
				t.Errorf("%s: %s is graded %s, want success %v", e.sql, said, g.Outcome, want)
			}
		}
	}
}

// TestPlansOfSeveralRightAnswers proves plans whose query breaks ties in its own way: each returns right answers
// wherever it is played. A plan that changes the order itself does not.
func TestPlansOfSeveralRightAnswers(t *testing.T) {
	w, sch := openFile(t, makeFile(t, "small", harbour), database.Options{})
	x, err := proof.NewExaminer(t.Context(), w, seed)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	other := 0
	for _, c := range []struct{ text, plan, reason string }{
		{"SELECT name FROM quay ORDER BY depth DESC LIMIT 1", "SELECT name FROM quay ORDER BY depth DESC, id LIMIT 1", ""},
		{"SELECT name FROM quay ORDER BY depth DESC LIMIT 1", "SELECT name FROM quay ORDER BY depth DESC, id DESC LIMIT 1",
			""},
		{"SELECT name FROM quay ORDER BY depth DESC LIMIT 1", "SELECT name FROM quay ORDER BY depth LIMIT 1",
			proof.ReasonPlanDisagrees},
		{"SELECT name FROM quay ORDER BY depth DESC LIMIT 1", "SELECT name FROM quay ORDER BY depth DESC LIMIT 2",
			proof.ReasonPlanDisagrees},
		{"SELECT name FROM quay ORDER BY depth DESC LIMIT 1", "SELECT name FROM quay WHERE name = 'East'",
			proof.ReasonPlanDisagrees},
		{
			"SELECT flag FROM ship GROUP BY flag ORDER BY count(*) DESC LIMIT 1",
			"SELECT flag FROM ship GROUP BY flag ORDER BY count(*) DESC, flag DESC LIMIT 1", "",
		},
		{
			"SELECT flag FROM ship GROUP BY flag ORDER BY count(*) DESC LIMIT 1",
			"SELECT flag FROM ship GROUP BY flag ORDER BY flag DESC LIMIT 1", proof.ReasonPlanDisagrees,
		},
	} {
		q, planned := parse(t, c.text, sch), function.Compile(parse(t, c.plan, sch))
		library := function.NewLibrary()
		library.Add(planned)
		tools, err := library.Name(seed, function.NamesObscure)
		if err != nil {
			t.Fatal(err)
		}
		p, err := proof.NewProver(t.Context(), proof.ProverConfig{
			Database: "small", World: w, Schema: sch, Tools: tools, Recipe: []*sqlast.Query{q}, Seed: seed,
			Neighbours: neighbours,
		})
		if err != nil {
			t.Fatal(err)
		}
		columns := function.Compile(q).Columns()
		found, err := x.Examine(t.Context(), q, columns)
		if err != nil || len(found.Alternatives) == 0 {
			t.Fatalf("%s: %+v %v", c.text, found, err)
		}
		proven, err := p.Prove(t.Context(), &proof.Claim{Query: q, Columns: columns, Plans: planned.Plans(), Finding: found})
		p.Close()
		if err != nil {
			t.Fatal(err)
		}
		if proven.Reason != c.reason || c.reason == "" && !slices.Contains(proven.Certificate.Checks, proof.CheckOneOf) {
			t.Errorf("%s as the plan of %s: %q (%s), checks %v", c.plan, c.text, proven.Reason, proven.Message,
				proven.Certificate.Checks)
		}
		if c.reason == "" && proven.Certificate.Plans[0].Digest != found.Result.Digest(true) {
			other++
		}
	}
	if other == 0 {
		t.Error("no plan gives another right answer than its query")
	}
}
