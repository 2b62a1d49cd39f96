package sqlast_test

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seatrial/seatrial/internal/diag/testenv"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
)

// TestSpider prints every query of Spider's that runs, and runs what is printed: the same rows.
func TestSpider(t *testing.T) {
	shared := testenv.Shared(t)
	root := filepath.Join(shared, "data", "spider")
	queries := map[string]map[string]bool{} // by database, each text once
	for _, file := range []string{"dev.json", "train_spider.json"} {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		var examples []struct {
			Database string `json:"db_id"`
			SQL      string `json:"query"`
		}
		if err := json.Unmarshal(data, &examples); err != nil {
			t.Fatal(err)
		}
		for _, e := range examples {
			if queries[e.Database] == nil {
				queries[e.Database] = map[string]bool{}
			}
			queries[e.Database][e.SQL] = true
		}
	}
	ran, refused := 0, map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		path := filepath.Join(root, "database", name, name+".sqlite")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		w, s := openFile(t, path)
		for _, text := range slices.Sorted(maps.Keys(queries[name])) {
			want, err := w.Query(t.Context(), text, nil)
			if err != nil {
				var q *database.QueryError
				if !errors.As(err, &q) {
					t.Errorf("%s: %s: %v", name, text, err)
				}
				continue
			}
			q, err := sqlast.Parse(text, s)
			if err != nil {
				refused[err.Error()]++
				continue
			}
			canonical := q.Canonical()
			again(t, s, canonical)
			got, err := w.Query(t.Context(), canonical, nil)
			if err != nil {
				t.Errorf("%s: %s\nis printed as\n%s\nwhich does not run: %v", name, text, canonical, err)
				continue
			}
			ran++
			if got.Digest(false) != want.Digest(false) {
				t.Errorf("%s: %s\ngives %d rows, but\n%s\ngives %d others", name, text, len(want.Rows), canonical, len(got.Rows))
			}
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Logf("%d different queries print and run the same; refused: %v", ran, refused)
	if ran < 3000 {
		t.Errorf("only %d queries ran", ran)
	}
}
