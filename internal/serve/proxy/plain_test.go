package proxy

import (
	"encoding/json"
	"testing"
)

// TestPlainTexts checks texts that are not JSON as a client reads them under kinds that change results.
func TestPlainTexts(t *testing.T) {
	const (
		python   = `[{'name': 'a', 'n': 1234.5, 'x': None}, {'name': 'b', 'n': 2, 'x': 'it\'s'}]`
		csv      = "name,n\na,1234.5\nb,2"
		keys     = "city: Bergen\ntemperature: 12.5"
		sentence = "It rains in Bergen. The wind is 12 m/s."
	)
	for _, c := range []struct{ text, rule, want string }{
		{python, "spec.result-renamed, field: n, new_name: size",
			`[{'name': 'a', 'size': 1234.5, 'x': None}, {'name': 'b', 'size': 2, 'x': "it's"}]`},
		{python, "out.null-sentinel, field: x",
			`{'records': [{'name': 'a', 'n': 1234.5, 'x': 'N/A'}, {'name': 'b', 'n': 2, 'x': "it's"}], ` +
				`'missing_values': {'x': 'N/A'}}`},
		{python, "exec.crash", `{'records': [{'name': 'a', 'n': 1234.5, 'x': None}], 'complete': False, 'error': ` +
			`'The tool crashed before it had read all records. The call can be made again.'}`},
		{csv, "out.wrapped-unit, with: kg", "name,n\na,kg 1234.5\nb,kg 2"},
		{csv, "out.reordered", "name,n\nb,2\na,1234.5\nsort_keys: [2,1]"},
		{csv, "spec.result-renamed, field: n, new_name: size", "name,size\na,1234.5\nb,2"},
		{keys, "spec.unit, factor: '10', sign: name", "city: Bergen\ntemperature_in_tenths: 125.0"},
		{keys, "out.labelled, field: city", "city: Answer: Bergen\ntemperature: 12.5"},
		{sentence, "out.wrapped-unit, with: km", "It rains in Bergen. The wind is km 12 m/s."},
		{sentence, "out.truncated", "It rains in Bergen\npage: 1\nnext_cursor: \"c1/1\""},
		{"12.5", "out.number-format", "12,5\nlocale: \"de-DE\""},
		{"nothing here", "spec.unit", "nothing here"},
	} {
		s := play(t, "faults: {it: {kind: "+c.rule+"}}")
		s.list()
		s.reply = func(*message) json.RawMessage { return textResult(c.text, false) }
		var got struct {
			Result struct{ Content []struct{ Text string } }
		}
		if err := json.Unmarshal([]byte(s.call("find", `{}`)), &got); err != nil {
			t.Fatal(err)
		}
		if text := got.Result.Content[0].Text; text != c.want {
			t.Errorf("%s of %q is\n%s\nwant\n%s", c.rule, c.text, text, c.want)
		}
	}
}

// FuzzPlainTexts parses any text and writes every reading again: an unchanged reading keeps its meaning.
func FuzzPlainTexts(f *testing.F) {
	for _, s := range []string{"a,b\n1,2", "a: 1\nb: 2", "[{'a': None}]", "x. y", "{'a': [1, True, \"\\u00e9\"]}", "",
		"\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, v := range plainViews(s) {
			written := v.encode()
			if v.layout == layoutParts && written != s {
				t.Fatalf("%q became %q", s, written)
			}
			again := plainViews(written)
			if v.layout == layoutParts || len(again) == 0 {
				continue
			}
			if got := again[0].encode(); got != written {
				t.Fatalf("%q became %q, and then %q", s, written, got)
			}
		}
	})
}
