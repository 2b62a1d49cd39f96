package questions

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/diag"
)

func TestPairsWithDirt(t *testing.T) {
	lines := []string{
		utf8Mark + `{"question": "How many ships?", "sql": "SELECT count(*) FROM ship"}`,
		"",
		`{"id": "own", "question": "Names?", "sql": "SELECT name FROM ship", "evidence": "n", "difficulty": "easy"}` + "\r",
		" \t",
		`{"id": 7, "question": "Names again?", "sql": "SELECT name FROM ship"}`,
		`{"id": "own", "question": "Taken?", "sql": "SELECT 1"}`,
		`{"question": "Q?" "sql": "SELECT 1"}`,
		`{"question": "Q?", "sql": "SELECT 1"} {}`,
		`["Q?", "SELECT 1"]`,
		`{"question": "Q?", "SQL": "SELECT 1"}`,
		`{"question": "Q?", "sql": "SELECT 1", "Evidence": "x"}`,
		`{"question": "", "sql": "SELECT 1"}`,
		`{"question": "Q?"}`,
		`{"question": "caf` + "\xe9" + `?", "sql": "SELECT 1"}`,
		`{"question": "Q?", "sql": 1}`,
		`{"id": "", "question": "Q?", "sql": "SELECT 1"}`,
		`{"id": 1.5, "question": "Q?", "sql": "SELECT 1"}`,
		`{"id": "a\nb", "question": "Q?", "sql": "SELECT 1"}`,
		`{"id": "` + strings.Repeat("x", 121) + `", "question": "Q?", "sql": "SELECT 1"}`,
		`  {"question": "How many ships?", "sql": "SELECT count(*) FROM ship", "id": null}`,
		`{"question": "Q?", "sql": "SELECT 1", "database": "x"}`,
		`{"id": "ships-0020", "question": "Taken by a line?", "sql": "SELECT 1"}`,
	}
	dir := writeTree(t, map[string]string{
		"a,b/ships.db": sqliteFile(t, harbourScript), "mine.jsonl": strings.Join(lines, "\n"),
	})
	database, examples := filepath.Join(dir, "a,b", "ships.db"), filepath.Join(dir, "mine.jsonl")
	c := mustOpen(t, "sql:"+database+","+examples, Options{})
	checkCorpus(t, c)
	checkPositions(t, c, "question", "sql")
	want := strings.Join([]string{
		"duplicate_id ships-0006 mine.jsonl:6:1",
		"bad_row ships-0007 mine.jsonl:7:19",
		"bad_row ships-0008 mine.jsonl:8:39",
		"bad_row ships-0009 mine.jsonl:9:1",
		"unknown_field ships-0010 mine.jsonl:10:20",
		"unknown_field ships-0011 mine.jsonl:11:39",
		"empty_question ships-0012 mine.jsonl:12:14",
		"empty_sql ships-0013 mine.jsonl:13:1",
		"bad_encoding ships-0014 mine.jsonl:14:18",
		"bad_row ships-0015 mine.jsonl:15:27",
		"bad_row ships-0016 mine.jsonl:16:8",
		"bad_row ships-0017 mine.jsonl:17:8",
		"bad_row ships-0018 mine.jsonl:18:8",
		"bad_row ships-0019 mine.jsonl:19:8",
		"unknown_field ships-0021 mine.jsonl:21:39",
		"duplicate_id ships-0022 mine.jsonl:22:1",
	}, "\n") + "\n"
	if got := account(c); got != want {
		t.Errorf("rejected\n%swant\n%s", got, want)
	}
	var ids []string
	for _, e := range c.Examples {
		ids = append(ids, e.ID)
	}
	if got := strings.Join(ids, " "); got != "ships-0001 own 7 ships-0020" {
		t.Errorf("examples %s", got)
	}
	if e := c.Examples[1]; e.Evidence != "n" || e.Difficulty != "easy" || e.Split != "" || e.Position.Line != 3 {
		t.Errorf("example %+v", e)
	}
	if got := c.Examples[3]; got.DuplicateOf != "ships-0001" || got.Position.Column != 3 {
		t.Errorf("example %+v", got)
	}
	if !strings.Contains(c.Rejected[0].Message, "mine.jsonl:3:1") || !strings.Contains(c.Rejected[4].Hint, `"sql"`) {
		t.Errorf("rejected %+v, %+v", c.Rejected[0], c.Rejected[4])
	}
	if c.Name != "ships" || c.Licence != "unknown" || len(c.Databases) != 1 || c.Databases[0].File != database {
		t.Errorf("corpus %s (%s) with %+v", c.Name, c.Licence, c.Databases)
	}
}

func TestPairsFilesThatAreNoLines(t *testing.T) {
	for text, words := range map[string][]string{
		"\xff\xfe{\x00}\x00":                {"UTF-16", "iconv"},
		"\n[\n {\"question\": \"Q?\"}\n]\n": {"e.jsonl:2:1", "jq -c '.[]'"},
	} {
		dir := writeTree(t, map[string]string{"d.sqlite": sqliteFile(t, harbourScript), "e.jsonl": text})
		_, err := Open("sql:"+filepath.Join(dir, "d.sqlite")+","+filepath.Join(dir, "e.jsonl"), Options{})
		wantUsage(t, err, words...)
	}
	dir := writeTree(t, map[string]string{"d.sqlite": sqliteFile(t, harbourScript), "e.jsonl": "\n \n"})
	c := mustOpen(t, "sql:"+filepath.Join(dir, "d.sqlite")+","+filepath.Join(dir, "e.jsonl"), Options{})
	if len(c.Examples)+len(c.Rejected) != 0 {
		t.Errorf("blank lines gave %+v %+v", c.Examples, c.Rejected)
	}
	_, err := Open("sql:"+filepath.Join(dir, "d.sqlite")+","+filepath.Join(dir, "f.jsonl"), Options{})
	wantUsage(t, err, "f.jsonl", "no such file", "JSON Lines")
}

// The digest covers both files and does not depend on where they are.
func TestPairsDigest(t *testing.T) {
	digest := func(script, line string) string {
		dir := writeTree(t, map[string]string{"d.sqlite": sqliteFile(t, script), "e.jsonl": line})
		return mustOpen(t, "sql:"+filepath.Join(dir, "d.sqlite")+","+filepath.Join(dir, "e.jsonl"), Options{}).Digest
	}
	base := digest(harbourScript, "\n")
	if digest(harbourScript, "\n") != base {
		t.Error("the same files elsewhere have another digest")
	}
	if digest(harbourScript+"CREATE TABLE t (a)", "\n") == base || digest(harbourScript, " \n") == base {
		t.Error("another file has the same digest")
	}
}

func TestUnreadableFile(t *testing.T) {
	dir := writeTree(t, map[string]string{"tables.json": "[]", "dev.json/x": ""})
	_, err := Open("spider:"+dir, Options{})
	if want := filepath.Join(dir, "dev.json") + ": cannot be read: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("a folder in a file's place gives %v", err)
	}
	if diag.ExitCode(err) != diag.ExitUsage {
		t.Errorf("exit code %d", diag.ExitCode(err))
	}
}
