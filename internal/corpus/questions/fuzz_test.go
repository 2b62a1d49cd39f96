package questions

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

// Every line that is not blank is an example or a rejection, and what an example says is what its line says.
func FuzzPairs(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", `{"question": "Q?", "sql": "SELECT 1"}`, "{}\r\n[]\n7",
		`{"id": "a", "question": "Q?", "sql": "SELECT 1"}` + "\n" + `{"id": "a", "question": "R?", "sql": "SELECT 1"}`,
		`{"question": "\ud83d", "sql": "\ufffd"}`, "\xff{", `{"question": "Q?", "sql": "SELECT 1", "id": 12}`, `{"\uFFFD":`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l := newLoader(&Corpus{Digest: strings.Repeat("0", 64), Databases: []Database{{Name: "x"}}})
		l.corpus.Databases[0].Notes = openNotebook("x", nil).notes
		l.pairs("f.jsonl", data, "x", "")
		checkCorpus(t, l.corpus)
		lines := strings.Split(string(data), "\n")
		want := 0
		for _, line := range lines {
			if strings.TrimSpace(line) != "" {
				want++
			}
		}
		if got := len(l.corpus.Examples) + len(l.corpus.Rejected); got != want {
			t.Fatalf("%d lines are %d examples and %d rejections", want, len(l.corpus.Examples), len(l.corpus.Rejected))
		}
		for _, e := range l.corpus.Examples {
			var row map[string]any
			if err := json.Unmarshal([]byte(lines[e.Position.Line-1]), &row); err != nil {
				t.Fatalf("an example of a line that is not JSON: %v", err)
			}
			if strings.TrimSpace(row["question"].(string)) != e.Question || strings.TrimSpace(row["sql"].(string)) != e.SQL {
				t.Fatalf("line %v gave %+v", row, e)
			}
		}
		for _, r := range l.corpus.Rejected {
			if line := r.Position.Line; line > len(lines) || r.Position.Column > len(lines[line-1])+1 {
				t.Fatalf("%+v is not a place in the file", r.Position)
			}
		}
	})
}

// A list yields exactly the elements that encoding/json finds, each at its offset, or one error with a place.
func FuzzList(f *testing.F) {
	for _, seed := range []string{
		"[]", " [1, {\"a\": [2]},\n\"x\"]\n", "{}", "[1", "[1,]", "[] []", "", "[\"\xff\"]", "nul",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newSource("root", fstest.MapFS{})
		var got []json.RawMessage
		err := s.list("f.json", data, func(element []byte, offset int) {
			if !bytes.HasPrefix(data[offset:], element) {
				t.Fatalf("%q is not at %d", element, offset)
			}
			got = append(got, element)
		})
		var want []json.RawMessage
		wrong := json.Unmarshal(data, &want)
		if wrong == nil && want == nil {
			wrong = json.Unmarshal([]byte("null is no list"), &want)
		}
		if (err == nil) != (wrong == nil) || len(got) != len(want) {
			t.Fatalf("%v with %d elements, want %v with %d", err, len(got), wrong, len(want))
		}
		if err != nil {
			wantUsage(t, err, "f.json")
		}
	})
}

// Whatever a description file contains, its rows name columns, are in order and are clean text.
func FuzzDescription(f *testing.F) {
	f.Add([]byte(berthCSV))
	for _, seed := range []string{
		"", "a,b\n\"x", "\xff\xfea\x00,\x00", "original_column_name;x\na;\"b\"c\n", "\x00\x00", "a\rb", "\xe9,\x81\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, faults := readDescription(data)
		last := 0
		for _, r := range rows {
			if r.column == "" || r.line <= last {
				t.Fatalf("row %+v after line %d", r, last)
			}
			last = r.line
			for _, text := range []string{plainLine(r.title), plainText(r.description), plainText(r.values)} {
				if !utf8.ValidString(text) || text != plainText(text) || text != strings.TrimSpace(text) {
					t.Fatalf("text %q is not clean", text)
				}
			}
		}
		for _, fault := range faults {
			if fault.message == "" {
				t.Fatal("a fault says nothing")
			}
		}
	})
}

// A spec either names a known kind and loses nothing, or is a usage error.
func FuzzSpec(f *testing.F) {
	for _, seed := range []string{
		"demo", "spider:x", "sql:a,b", "sql:a,b,c", "bird:", ":", "", "spider:C:\\x", "demo:", "SQL:a,b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, spec string) {
		k, path, err := parseSpec(spec)
		if err != nil {
			wantUsage(t, err)
			return
		}
		if !slices.Contains(Kinds(), k.name) || spec != strings.TrimSuffix(k.name+":"+path, ":") {
			t.Fatalf("%q is kind %q at %q", spec, k.name, path)
		}
		if before, after, ok := cutLast(path, ','); ok && (before+","+after != path || strings.Contains(after, ",")) {
			t.Fatalf("%q is cut to %q and %q", path, before, after)
		}
	})
}
