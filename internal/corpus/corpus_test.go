package corpus

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

func mustOpen(t testing.TB, spec string, opts Options) *Corpus {
	t.Helper()
	c, err := Open(spec, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// checkCorpus checks what holds for every corpus.
func checkCorpus(t testing.TB, c *Corpus) {
	t.Helper()
	ids := map[string]Example{}
	databases := map[string]bool{}
	for i, d := range c.Databases {
		if i > 0 && c.Databases[i-1].Name >= d.Name {
			t.Errorf("database %q stands after %q", d.Name, c.Databases[i-1].Name)
		}
		if d.Schema != nil || d.Notes == nil {
			t.Errorf("database %q: schema %v, notes %v", d.Name, d.Schema, d.Notes)
		}
		databases[d.Name] = true
	}
	for _, e := range c.Examples {
		if _, taken := ids[e.ID]; taken {
			t.Errorf("two examples are called %q", e.ID)
		}
		if e.Question == "" || e.SQL == "" || !databases[e.Database] {
			t.Errorf("example %+v is not complete", e)
		}
		if e.DuplicateOf != "" {
			first, ok := ids[e.DuplicateOf]
			if !ok || first.DuplicateOf != "" || first.Database != e.Database || first.Question != e.Question || first.SQL != e.SQL {
				t.Errorf("%s is called a duplicate of %q", e.ID, e.DuplicateOf)
			}
		}
		ids[e.ID] = e
	}
	for _, r := range c.Rejected {
		if !slices.Contains(Reasons(), r.Reason) || r.Message == "" || r.ID == "" || r.Position.Line < 1 || r.Position.Column < 1 {
			t.Errorf("rejected without an account: %+v", r)
		}
	}
	if len(c.Digest) != 64 {
		t.Errorf("digest %q", c.Digest)
	}
}

// checkPositions decodes what stands at each example's position and compares its question and SQL with the example's.
func checkPositions(t testing.TB, c *Corpus, question, query string) {
	t.Helper()
	type file struct {
		data   string
		starts []int
	}
	files := map[string]file{}
	for _, e := range c.Examples {
		f, ok := files[e.Position.File]
		if !ok {
			data, err := os.ReadFile(c.Path(e.Position))
			if err != nil {
				t.Fatal(err)
			}
			f.data = strings.TrimPrefix(string(data), utf8Mark)
			for line := range strings.Lines(f.data) {
				last := 0
				if n := len(f.starts); n > 0 {
					last = f.starts[n-1]
				}
				f.starts = append(f.starts, last+len(line))
			}
			f.starts = append([]int{0}, f.starts...)
			files[e.Position.File] = f
		}
		var row map[string]any
		at := f.starts[e.Position.Line-1] + e.Position.Column - 1
		if err := json.NewDecoder(strings.NewReader(f.data[at:])).Decode(&row); err != nil {
			t.Fatalf("%s at %v: %v", e.ID, e.Position, err)
		}
		for name, want := range map[string]string{question: e.Question, query: e.SQL} {
			if got, _ := row[name].(string); strings.TrimSpace(got) != want {
				t.Fatalf("%s: at %v %s is %q, not %q", e.ID, e.Position, name, got, want)
			}
		}
	}
}
