package questions

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/diag/testenv"
)

// sharedData returns the folder of published data sets, or skips the test if there is none.
func sharedData(t testing.TB) string {
	t.Helper()
	shared := testenv.Shared(t)
	return filepath.Join(shared, "data")
}

func missing(c *Corpus) (names []string, examples int) {
	gone := map[string]bool{}
	for _, d := range c.Databases {
		if d.File == "" {
			gone[d.Name] = true
			names = append(names, d.Name)
		}
	}
	for _, e := range c.Examples {
		if gone[e.Database] {
			examples++
		}
	}
	return names, examples
}

func TestSpiderAsPublished(t *testing.T) {
	dir := filepath.Join(sharedData(t), "spider")
	for _, test := range []struct {
		split              string
		examples, orphaned int
		missing            string
		first, last        string
	}{
		{"", 6020, 258, "baseball_1 music_2 soccer_1 wta_1", "spider-dev-0000", "spider-train-4985"},
		{"dev", 1034, 62, "wta_1", "spider-dev-0000", "spider-dev-1033"},
		{"train", 4986, 196, "baseball_1 music_2 soccer_1", "spider-train-0000", "spider-train-4985"},
	} {
		t.Run("split "+test.split, func(t *testing.T) {
			c := mustOpen(t, "spider:"+dir, Options{Split: test.split})
			names, orphaned := missing(c)
			if len(c.Examples) != test.examples || len(c.Rejected) != 0 || orphaned != test.orphaned {
				t.Errorf("%d examples, %d of them without database, %d rejected; want %d, %d, 0",
					len(c.Examples), orphaned, len(c.Rejected), test.examples, test.orphaned)
			}
			if got := strings.Join(names, " "); got != test.missing {
				t.Errorf("missing databases %q, want %q", got, test.missing)
			}
			if first, last := c.Examples[0].ID, c.Examples[len(c.Examples)-1].ID; first != test.first || last != test.last {
				t.Errorf("ids go from %s to %s, want %s to %s", first, last, test.first, test.last)
			}
			if len(c.Warnings) != 0 {
				t.Errorf("%d warnings, the first: %v", len(c.Warnings), c.Warnings[0])
			}
			checkCorpus(t, c)
			checkPositions(t, c, "question", "query")
		})
	}
}

func TestSpiderTitlesAsPublished(t *testing.T) {
	c := mustOpen(t, "spider:"+filepath.Join(sharedData(t), "spider"), Options{})
	for _, d := range c.Databases {
		if len(d.Notes.Tables) == 0 {
			t.Errorf("%s has no notes", d.Name)
		}
		for _, table := range d.Notes.Tables {
			for _, column := range table.Columns {
				if column.Title == "" || table.Title == "" {
					t.Errorf("%s.%s.%s has no title", d.Name, table.Name, column.Name)
				}
			}
		}
	}
}

func TestBirdAsPublished(t *testing.T) {
	c := mustOpen(t, "bird:"+filepath.Join(sharedData(t), "bird"), Options{})
	names, orphaned := missing(c)
	if len(c.Examples) != 1534 || len(c.Rejected) != 0 || len(c.Databases) != 11 || len(names) != 10 ||
		orphaned != 1534-129 {
		t.Errorf("%d examples (%d without database), %d rejected, %d databases (%d missing); want 1534 (1405), 0, 11 (10)",
			len(c.Examples), orphaned, len(c.Rejected), len(c.Databases), len(names))
	}
	if first, last := c.Examples[0].ID, c.Examples[1533].ID; first != "bird-dev-0000" || last != "bird-dev-1533" {
		t.Errorf("ids go from %s to %s", first, last)
	}
	difficulties := map[string]int{}
	for _, e := range c.Examples {
		difficulties[e.Difficulty]++
	}
	if len(difficulties) != 3 || difficulties["simple"] == 0 {
		t.Errorf("difficulties %v", difficulties)
	}
	for _, d := range c.Databases {
		for _, table := range d.Notes.Tables {
			for _, column := range table.Columns {
				if column.Title == "" || column.Description == "" {
					t.Logf("%s.%s.%s: title %q, description %q", d.Name, table.Name, column.Name, column.Title, column.Description)
				}
				if d.Name == "superhero" && column.Description == "" {
					t.Errorf("%s.%s has no description", table.Name, column.Name)
				}
				if strings.ContainsAny(column.Description+column.Values, "\u0095\u00a0\r\t") ||
					strings.Contains(column.Description+column.Values, "<|") {
					t.Errorf("%s.%s.%s: %q %q", d.Name, table.Name, column.Name, column.Description, column.Values)
				}
			}
		}
	}
	for _, w := range c.Warnings {
		t.Log(w)
	}
	checkCorpus(t, c)
	checkPositions(t, c, "question", "SQL")
}

func BenchmarkOpen(b *testing.B) {
	dir := sharedData(b)
	for _, kind := range []string{"spider", "bird"} {
		b.Run(kind, func(b *testing.B) {
			for b.Loop() {
				mustOpen(b, kind+":"+filepath.Join(dir, kind), Options{})
			}
		})
	}
}
