package witness

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/seatrial/seatrial/internal/schema"
)

// TestGoldens runs testdata: `schema` makes a database from SQL and gives nothing, `rows` adds to it, `mutants` lists a query's
// mutants, `plant` what is planted for it, and `determinate` what depends on the order of the visit on the database so far.
func TestGoldens(t *testing.T) {
	datadriven.Walk(t, "testdata/goldens", func(t *testing.T, path string) {
		var db *testDB
		var s *schema.Database
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "schema":
				db = memoryDB(t, d.Input)
				s = db.schema(t, "golden")
				return ""
			case "rows":
				db.exec(t, d.Input)
				return ""
			case "mutants":
				var b strings.Builder
				for _, m := range Mutants(mustParse(t, d.Input, s)) {
					fmt.Fprintf(&b, "%s: %s\n", m.Kind, m.SQL)
					if m.Equivalent {
						fmt.Fprintf(&b, "  equivalent: %s\n", m.Why)
					}
				}
				return b.String()
			case "determinate":
				q := mustParse(t, d.Input, s)
				f, err := Determinate(t.Context(), db, q)
				if err != nil {
					return err.Error()
				}
				_, ok, err := RightResults(t.Context(), db, q)
				if err != nil {
					return err.Error()
				}
				r := db.query(t, d.Input)
				blocks, err := Blocks(t.Context(), db, q, r)
				free := fmt.Sprint(blocks)
				if err != nil {
					free = err.Error()
				}
				out := "determinate"
				if f != nil {
					out = f.String()
					if f.Grouped {
						out += " (groups)"
					}
				}
				return fmt.Sprintf("%s\nmay depend: %v, right results: %v, blocks: %s\n", out, MayDepend(q), ok, free)
			default:
				t.Fatalf("unknown command %q", d.Cmd)
				return ""
			}
		})
	})
}
