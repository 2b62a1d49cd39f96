package synthesize_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seatrial/seatrial/internal/corpus"
	"github.com/seatrial/seatrial/internal/schema"
	"github.com/seatrial/seatrial/internal/sqlast"
	"github.com/seatrial/seatrial/internal/synthesize"
)

// missing is a database without a file, with its queries that parse.
type missing struct {
	name    string
	sch     *schema.Database
	queries []*sqlast.Query
	asked   int // questions, those that do not parse included
}

func birdDatabases(t testing.TB) []missing {
	shared := os.Getenv("SEATRIAL_SHARED")
	if shared == "" {
		t.Skip("SEATRIAL_SHARED does not say where the published data sets are")
	}
	c, err := corpus.Open("bird:"+filepath.Join(shared, "data", "bird"), corpus.Options{Split: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	return missingOf(t, c)
}

func missingOf(t testing.TB, c *corpus.Corpus) []missing {
	var list []missing
	for _, d := range c.Databases {
		if d.Schema == nil {
			continue
		}
		m := missing{name: d.Name, sch: d.Schema}
		for _, e := range c.Examples {
			if e.Database != d.Name {
				continue
			}
			m.asked++
			q, err := sqlast.Parse(e.SQL, d.Schema)
			if err != nil {
				t.Logf("%s: %v", e.ID, err)
				continue
			}
			m.queries = append(m.queries, q)
		}
		list = append(list, m)
	}
	return list
}

func TestBird(t *testing.T) {
	asked, good := 0, 0
	for _, m := range birdDatabases(t) {
		start := time.Now()
		path := filepath.Join(t.TempDir(), m.name+".sqlite")
		r, err := synthesize.Database(t.Context(), m.sch, m.queries, 7, path)
		if err != nil {
			t.Fatal(err)
		}
		asked += m.asked
		good += r.Good()
		fmt.Printf("%-26s asked %4d parsed %4d fail %3d empty %3d long %3d indet %3d trivial %3d good %.3f rows %5d %v\n", m.name, m.asked, r.Queries,
			len(r.Failing), len(r.Empty), len(r.Long), len(r.Indeterminate), len(r.Trivial), float64(r.Good())/float64(m.asked), r.Rows, time.Since(start).Round(time.Millisecond))
		if v := os.Getenv("V"); v != "" && (v == "1" || v == m.name) {
			for _, l := range []struct{n string; l []int}{{"fail", r.Failing}, {"empty", r.Empty}, {"long", r.Long}, {"indet", r.Indeterminate}, {"trivial", r.Trivial}} {
				for _, i := range l.l {
					fmt.Println("   ", l.n, strings.Join(strings.Fields(m.queries[i].Source), " "))
				}
			}
		}
	}
	fmt.Println(asked, good, float64(good)/float64(asked))
}
