package schemas

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write docs/schemas again")

const folder = "../../../docs/schemas"

// The published schemas are those of the types.
func TestPublishedSchemas(t *testing.T) {
	for _, name := range Names() {
		want, err := Of(name)
		if err != nil {
			t.Error(err)
			continue
		}
		path := filepath.Join(folder, name+".schema.json")
		if *rewrite {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not made from the types: go test ./internal/report/schemas -rewrite (%v)", path, err)
		}
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != len(Names()) {
		t.Errorf("%d files of %d schemas: %v", len(files), len(Names()), err)
	}
}
