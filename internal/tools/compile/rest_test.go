package compile

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/seatrial/seatrial/internal/corpus/questions"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
)

// parseNotedSchema reads tables as parseSchema does, and lines about them behind: `key table.column other.column`,
// `primary table.column`, `title table.column words` and `note table.column words`.
func parseNotedSchema(t *testing.T, name, text string) *schema.Database {
	t.Helper()
	var tables strings.Builder
	var notes [][]string
	for line := range strings.Lines(text) {
		if fields := strings.SplitN(strings.TrimSpace(line), " ", 3); !strings.Contains(fields[0], "(") {
			notes = append(notes, fields)
		} else {
			tables.WriteString(line)
		}
	}
	d := parseSchema(t, name, tables.String())
	find := func(name string) (*schema.Table, int) {
		table, column, _ := strings.Cut(name, ".")
		tab := d.Table(table)
		if tab == nil || column != "" && tab.Column(column) < 0 {
			t.Fatalf("no column %q", name)
		}
		return tab, tab.Column(column)
	}
	for _, n := range notes {
		table, column := find(n[1])
		switch n[0] {
		case "key":
			target, at := find(n[2])
			table.ForeignKeys = append(table.ForeignKeys, schema.ForeignKey{Columns: []int{column}, Target: target.Name,
				TargetColumns: []int{at}})
		case "primary":
			table.PrimaryKey = []int{column}
		case "title":
			if column < 0 {
				table.Title = n[2]
			} else {
				table.Columns[column].Title = n[2]
			}
		case "note":
			table.Columns[column].Description = n[2]
		default:
			t.Fatalf("unknown line %v", n)
		}
	}
	return d
}

// TestRest is driven by testdata/rest: one query a line in; name, parameters, path, columns and documentation out. All
// queries of a command are one library, so that they are told apart; `names` shows names and parameters alone.
func TestRest(t *testing.T) {
	var db *schema.Database
	datadriven.RunTest(t, "testdata/rest", func(t *testing.T, d *datadriven.TestData) string {
		if d.Cmd == "schema" {
			db = parseNotedSchema(t, "heroes", d.Input)
			return ""
		}
		library := NewLibrary()
		var drafts []*Draft
		for line := range strings.Lines(d.Input) {
			q, err := sqlast.Parse(strings.TrimSpace(line), db)
			if err != nil {
				return err.Error()
			}
			draft := Rest(q)
			library.Add(draft)
			drafts = append(drafts, draft)
		}
		tools, err := library.Name(1, NamesReadable)
		if err != nil {
			t.Fatal(err)
		}
		checkEndpoints(t, tools)
		var b strings.Builder
		for _, draft := range drafts {
			tool := draft.Direct[0].function.tool
			var arguments []string
			for _, g := range tool.Body.Bindings {
				arguments = append(arguments, g.Argument)
			}
			fmt.Fprintf(&b, "%s(%s)\n", tool.Name, strings.Join(arguments, ", "))
			if d.Cmd == "names" {
				continue
			}
			fmt.Fprintf(&b, "  %s\n  %s\n", tool.Path, tool.Description)
			for _, p := range tool.Parameters.Properties {
				fmt.Fprintf(&b, "  %s: %s. %s\n", p.Name, strings.Join(p.Schema.Types, " or "), p.Schema.Description)
			}
			for _, p := range tool.Returns.Items.Properties {
				fmt.Fprintf(&b, "  -> %s: %s. %s\n", p.Name, strings.Join(p.Schema.Types, " or "), p.Schema.Description)
			}
			for _, p := range draft.Plans() {
				arguments, err := task.Marshal(p.Calls[0].Arguments)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "  %s %s\n", p.Kind, arguments)
			}
		}
		return b.String()
	})
}

// opened is a database of a corpus with its schema.
type opened struct {
	world  *database.World
	schema *schema.Database
}

// openCorpus opens the databases of a corpus that are at hand.
func openCorpus(t *testing.T, spec string) (*questions.Corpus, map[string]opened) {
	t.Helper()
	c, err := questions.Open(spec, questions.Options{WorkDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]opened{}
	for i := range c.Databases {
		d := &c.Databases[i]
		if d.File == "" {
			continue
		}
		w, err := database.Open(d.File, database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.Close() })
		s, err := w.Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s.Name = d.Name
		d.Annotate(s)
		all[d.Name] = opened{w, s}
	}
	return c, all
}

// TestEndpointsAnswer runs the statement of every endpoint with the arguments of its example: SQLite, running the
// original SQL, is the oracle. Rows are compared as a bag, for joins are sorted.
func TestEndpointsAnswer(t *testing.T) {
	specs := map[string]int{"demo": 150}
	if shared := os.Getenv("SEATRIAL_SHARED"); shared != "" {
		specs["spider:"+filepath.Join(shared, "data", "spider")] = 5000
		specs["bird:"+filepath.Join(shared, "data", "bird")] = 120
	}
	for spec, atLeast := range specs {
		kind, _, _ := strings.Cut(spec, ":")
		t.Run(kind, func(t *testing.T) {
			c, all := openCorpus(t, spec)
			ran, sorted := 0, 0
			for _, e := range c.Examples {
				at, known := all[e.Database]
				if !known || e.DuplicateOf != "" {
					continue
				}
				q, err := sqlast.Parse(e.SQL, at.schema)
				if err != nil {
					continue
				}
				want, err := at.world.Query(t.Context(), e.SQL, nil)
				if err != nil {
					continue
				}
				draft := Rest(q)
				got, err := answer(t.Context(), at.world, draft)
				if err != nil {
					t.Errorf("%s: %s\n%s: %v", e.ID, e.SQL, draft.Direct[0].function.statement, err)
					continue
				}
				ran++
				if sortJoins(q) != q {
					sorted++
				}
				gold := task.Gold{Kind: task.GoldRows, Columns: draft.Columns(), Rows: want.Rows}
				if !gold.Holds(got) {
					t.Errorf("%s: %s\ngives %d rows, its endpoint %d others: %s", e.ID, e.SQL, len(want.Rows), len(got.Rows),
						draft.Direct[0].function.statement)
				}
			}
			if ran < atLeast || sorted == 0 {
				t.Errorf("%d endpoints ran, %d of them with sorted joins; want at least %d", ran, sorted, atLeast)
			}
			t.Logf("%d endpoints answer as their queries do, %d of them with sorted joins", ran, sorted)
		})
	}
}

// answer runs the one call of a draft.
func answer(ctx context.Context, w *database.World, d *Draft) (*task.Result, error) {
	call := d.Direct[0]
	values := make([]task.Value, len(call.arguments))
	for i, a := range call.arguments {
		values[i] = a.value
	}
	return w.Query(ctx, call.function.statement, values)
}

// TestEndpointsDoNotDependOnOrder names one corpus from examples in shuffled orders.
func TestEndpointsDoNotDependOnOrder(t *testing.T) {
	c, all := openCorpus(t, "demo")
	name := func(order []int) string {
		library := NewLibrary()
		for _, i := range order {
			e := c.Examples[i]
			if q, err := sqlast.Parse(e.SQL, all[e.Database].schema); err == nil {
				library.Add(Rest(q))
			}
		}
		tools, err := library.Name(1, NamesObscure)
		if err != nil {
			t.Fatal(err)
		}
		checkEndpoints(t, tools)
		text, err := task.Marshal(tools)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	order := make([]int, len(c.Examples))
	for i := range order {
		order[i] = i
	}
	first := name(order)
	draw := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if again := name(order); again != first {
			t.Fatal("another order of examples gives other endpoints")
		}
	}
}

// TestOneLibraryForBothStyles adds functions and endpoints to one library: neither changes the other.
func TestOneLibraryForBothStyles(t *testing.T) {
	db := parseSchema(t, "music", "singer(id INTEGER, name TEXT, age INTEGER)")
	parse := func(sql string) *sqlast.Query {
		q, err := sqlast.Parse(sql, db)
		if err != nil {
			t.Fatal(err)
		}
		return q
	}
	const sql = "SELECT name FROM singer WHERE age > 3"
	tools := func(drafts ...*Draft) []string {
		library := NewLibrary()
		for _, d := range drafts {
			library.Add(d)
		}
		list, err := library.Name(5, NamesObscure)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, tool := range list {
			text, err := task.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(text))
		}
		return texts
	}
	functions, endpoints := tools(Func(parse(sql))), tools(Rest(parse(sql)))
	both := tools(Rest(parse(sql)), Func(parse(sql)))
	if !slices.Equal(both, append(functions, endpoints...)) {
		t.Errorf("together %v, apart %v and %v", both, functions, endpoints)
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"CDSCode": "cds_code", "AdmFName1": "adm_f_name1", "Percent (%) Eligible Free (K-12)": "percent_eligible_free_k_12",
		"pet_type": "pet_type", "IDs": "ids", "Größe": "gro_e", "Café": "cafe", "driver's name": "drivers_name",
		"T-BIL": "t_bil", "StuID": "stu_id",
	} {
		if got := joined(tokensOf(name)); got != want {
			t.Errorf("%q in words is %s, want %s", name, got, want)
		}
	}
	for one, many := range map[string]string{
		"singer": "singers", "city": "cities", "class": "classes", "match": "matches", "superhero": "superheroes",
		"person": "people",
		"status": "statuses", "diagnosis": "diagnoses", "day": "days", "tax": "taxes", "series": "series",
		"course": "courses", "house": "houses",
	} {
		if got := pluralWord(one); got != many {
			t.Errorf("more than one %s are %s, want %s", one, got, many)
		}
		if got := singularWord(many); got != one {
			t.Errorf("one of %s is %s, want %s", many, got, one)
		}
		if again := pluralWord(many); again != many {
			t.Errorf("the plural %s became %s", many, again)
		}
	}
	for phrase, want := range map[string]string{
		"height cm": "heights_cm", "date of birth": "dates_of_birth", "number of test takers": "number_of_test_takers",
		"free meal count k 12": "free_meal_counts_k_12", "is official": "is_official", "date arrived": "dates_arrived",
	} {
		if got := joined(plural(strings.Fields(phrase))); got != want {
			t.Errorf("more than one %s are %s, want %s", phrase, got, want)
		}
	}
}

// FuzzTokens holds words to what names may be made of.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"CDSCode", "Größe", "a b-c", "IDs", "T1", "½", "driver's", "ＡＢ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range tokensOf(s) {
			if w == "" || strings.Trim(w, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
				t.Errorf("%q holds the word %q", s, w)
			}
			_ = pluralWord(singularWord(w))
		}
		if name := cutWords(joined(tokensOf(s)), 20); len(name) > 20 || strings.HasSuffix(name, "_") {
			t.Errorf("%q is cut to %q", s, name)
		}
	})
}
