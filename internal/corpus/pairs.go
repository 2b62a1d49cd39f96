package corpus

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/schema"
)

// pairFields lists what a line of a user's own examples may hold.
var pairFields = []string{"question", "sql", "id", "evidence", "difficulty"}

// loadPairs loads a user's own database and examples: DB.sqlite,EXAMPLES.jsonl, cut at the last comma. The corpus and
// its database are named by the database's file without its extension.
func loadPairs(l *loader, paths string, _ Options) error {
	const form = "sql:DB.sqlite,EXAMPLES.jsonl"
	comma := strings.LastIndexByte(paths, ',')
	if comma <= 0 || comma == len(paths)-1 {
		return diag.Usagef("corpus %q names no two files", "sql:"+paths).WithHint("write %s", form)
	}
	databasePath, examplesPath := paths[:comma], paths[comma+1:]
	base := filepath.Base(databasePath)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if !isFileName(name) {
		return diag.Usagef("the database cannot be called %q", name).At(databasePath, 0, 0).
			WithHint("give the file a name of letters, digits, spaces, - and _")
	}
	databases, database, err := besideFile(databasePath)
	if err != nil {
		return err
	}
	switch state, err := databases.database(database); {
	case err != nil:
		return err
	case state == fileMissing:
		return diag.Usagef("there is no such file").At(databasePath, 0, 0).WithHint("write %s", form)
	case state == fileForeign:
		return diag.Usagef("this is not an SQLite database").At(databasePath, 0, 0).WithHint("write %s", form)
	}
	examples, file, err := besideFile(examplesPath)
	if err != nil {
		return err
	}
	data, found, err := examples.read(file)
	if err != nil {
		return err
	}
	if !found {
		return diag.Usagef("there is no such file").At(examplesPath, 0, 0).
			WithHint(`expected JSON Lines: {"question": …, "sql": …}, one a line`)
	}
	if err := examples.checkLines(file, data); err != nil {
		return err
	}
	l.corpus.Name, l.corpus.Root = name, filepath.Dir(examplesPath)
	l.pairs(file, data, name, "")
	l.corpus.Databases = []Database{{Name: name, File: databasePath, Notes: &schema.Database{Name: name}}}

	both := newSource("", nil)
	both.sums["database/"+database] = databases.sums[database]
	both.sums["examples/"+file] = examples.sums[file]
	l.corpus.Digest = both.digest()
	return nil
}

// besideFile gives the folder that a file is in, and its name there.
func besideFile(path string) (*source, string, error) {
	dir, base := filepath.Dir(path), filepath.Base(path)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return nil, "", diag.Usagef("there is no such folder").At(dir, 0, 0).WithHint("check the path %s", path)
	}
	return newSource(dir, os.DirFS(dir)), base, nil
}

// pairs reads examples as JSON Lines. Every line that is not blank becomes an example or a rejection. series is what
// ids begin with where a line gives none: the number of its line follows. databaseField names the field that says which
// database a line asks about; where it is "", all ask about series.
func (l *loader) pairs(file string, data []byte, series, databaseField string) {
	lines := indexLines(file, data)
	known := pairFields
	if databaseField != "" {
		known = append([]string{databaseField}, pairFields...)
	}
	eachLine(data, func(line []byte, offset int) {
		at := lines.at(offset + firstByte(line))
		e := Example{ID: exampleID(series, at.Line), Position: at}
		rowID := e.ID
		if databaseField == "" {
			e.Database = series
		}
		if bad := readPair(line, offset, &e, databaseField, known); bad != nil {
			l.reject(e, bad, lines.at(bad.offset))
			return
		}
		l.add(e, rowID)
	})
}

func readPair(line []byte, offset int, e *Example, databaseField string, known []string) *fault {
	r, bad := readRecord(line, offset)
	if bad != nil {
		return bad
	}
	if databaseField != "" {
		if bad := r.fill(field{databaseField, &e.Database}); bad != nil {
			return bad
		}
	}
	if bad := r.only(known...); bad != nil {
		return bad
	}
	if bad := r.fill(field{"question", &e.Question}, field{"sql", &e.SQL}, field{"evidence", &e.Evidence},
		field{"difficulty", &e.Difficulty}); bad != nil {
		return bad
	}
	if bad := r.complete(e, databaseField, "question", "sql"); bad != nil {
		return bad
	}
	id, bad := r.id()
	if bad == nil && id != "" {
		e.ID = id
	}
	return bad
}

// id gives the id that a line gives itself: text on one line or a whole number; "" where it gives none.
func (r *record) id() (string, *fault) {
	const longest = 120
	m := r.member("id")
	if m == nil || string(m.value) == "null" {
		return "", nil
	}
	if m.value[0] != '"' {
		if strings.Trim(string(m.value), "0123456789") == "" && len(m.value) <= longest {
			return string(m.value), nil
		}
		return "", &fault{reason: BadRow, offset: m.start, message: `"id" is neither text nor a whole number`}
	}
	id, bad := m.unquote()
	switch {
	case bad != nil:
		return "", bad
	case id == "":
		return "", &fault{BadRow, m.start, `"id" is empty`, "leave it out where there is none"}
	case len(id) > longest:
		return "", &fault{reason: BadRow, offset: m.start, message: fmt.Sprintf(`"id" is longer than %d bytes`, longest)}
	case strings.ContainsFunc(id, unicode.IsControl):
		return "", &fault{reason: BadRow, offset: m.start, message: `"id" holds a control character`}
	}
	return id, nil
}
