package callcheck

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

// TestPublishedFilesAreWrittenBack reads every available file without a diagnosis and gets its bytes back.
func TestPublishedFilesAreWrittenBack(t *testing.T) {
	dir := sharedData(t)
	for _, name := range []string{"simple_python", "multiple", "live_simple", "irrelevance"} {
		file := filepath.Join(dir, "BFCL_v4_"+name+".json")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		questions, found := ReadQuestions(file, data)
		refuse(t, found)
		var back bytes.Buffer
		for i, q := range questions {
			back.Write(q.Original)
			back.WriteByte('\n')
			if q.Position.Line != i+1 {
				t.Errorf("%s is at %s, want line %d", q.ID, q.Position, i+1)
			}
			for _, f := range q.Functions {
				if !bytes.Contains(q.Original, f.Original) {
					t.Errorf("%s: the document of %s is not in the line", q.ID, f.Name)
				}
				text, err := task.Marshal(f.Parameters)
				if err != nil {
					t.Fatal(err)
				}
				var again task.Schema
				if err := json.Unmarshal(text, &again); err != nil {
					t.Errorf("%s: %s as JSON Schema: %v", q.ID, f.Name, err)
				}
				jsonTypes(t, q.ID, f.Parameters)
			}
		}
		if !bytes.Equal(bytes.TrimSpace(back.Bytes()), bytes.TrimSpace(data)) {
			t.Errorf("%s is not written back as it was read", name)
		}
	}
}

func jsonTypes(t *testing.T, id string, s *task.Schema) {
	t.Helper()
	for _, name := range s.Types {
		if !slices.Contains([]string{"string", "integer", "number", "boolean", "array", "object"}, name) {
			t.Errorf("%s: JSON Schema has no type %s", id, name)
		}
	}
	if s.Items != nil {
		jsonTypes(t, id, s.Items)
	}
	for _, p := range s.Properties {
		jsonTypes(t, id, p.Schema)
	}
}

func TestDialect(t *testing.T) {
	const document = `{"name": "f", "description": "d", "parameters": {"type": "dict", "required": ["b"], "properties": {
		"b": {"type": "tuple", "items": {"type": "float"}, "default": [1.0]},
		"a": {"type": "HashMap", "properties": {"x": {"type": "Bigint"}, "y": {"type": "any"}}, "required": ["x", "z"]},
		"c": {"type": "String", "enum": ["p", 2], "description": "e", "optional": true}}}}`
	f, found := ReadFunction("f", []byte(document))
	refuse(t, found)
	got, err := task.Marshal(f.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{"b":{"type":"array","items":{"type":"number"}},` +
		`"a":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"string"}},"required":["x"]},` +
		`"c":{"type":"string","description":"e","enum":["p",2]}},"required":["b"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if string(f.Original) != document {
		t.Errorf("the document became %s", f.Original)
	}
}

func TestReadingSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`{"id": "a", "question": [], "function": []`, `f:3:43: this is no JSON: a comma or } is expected`},
		{`{"id": "a", "question": []}`, `f:3:1: a question must have the key "function"`},
		{`{"id": "a", "question": [], "functions": []}`,
			`f:3:42: a question has no key "functions" (did you mean "function"?)`},
		{`{"id": 1, "question": [], "function": []}`, `f:3:8: "id" must be a text, not a whole number`},
		{`{"id": "", "question": [], "function": []}`, `f:3:8: an entry must have an id`},
		{`{"id": "first", "question": [], "function": []}`, `f:3:1: the id "first" is used at f:1:1 already`},
		{`{"id": "a", "id": "b", "question": [], "function": []}`, `f:3:13: this is no JSON: the key "id" occurs twice`},
		{`{"id": "a", "question": [[{"role": "usr", "content": ""}]], "function": []}`,
			`f:3:36: the role must be user, assistant or system (did you mean "user"?)`},
		{`{"id": "ä", "question": [[]], "function": [{"name": "f", "description": "", "parameters": {"type": "dcit"}}]}`,
			`f:3:100: unknown type "dcit" (did you mean "dict"?)`},
		{`{"id": "a", "question": [], "function": [{"name": "f", "description": "", "parameters": {"type": "string"}}]}`,
			`f:3:89: the parameters of a function must be of the type dict`},
		{`{"id": "a", "question": [], "function": [{"name": "f", "description": "", "parameters": {"type": "dict", ` +
			`"properties": {"a": {"typ": "string"}}}}]}`, `f:3:134: unknown keyword "typ" (did you mean "type"?)`},
		{`{"id": "a", "question": [], "function": [{"name": "f", "description": "", "parameters": {"type": "dict", ` +
			`"properties": {}, "required": ["a"]}}]}`, `f:3:137: required parameter "a" is not documented`},
		{`{"id": "a", "question": [], "function": [{"name": "f", "description": "", "parameters": {"type": "dict"}}, ` +
			`{"name": "f", "description": "", "parameters": {"type": "dict"}}]}`, `f:3:108: the function "f" occurs twice`},
	} {
		data := `{"id": "first", "question": [], "function": []}` + "\n\n" + c.line + "\n"
		questions, found := ReadQuestions("f", []byte(data))
		var all []string
		for _, d := range found {
			all = append(all, d.String())
		}
		if !slices.Contains(all, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.line, strings.Join(all, "\n     "), c.want)
		}
		if len(questions) != 1 {
			t.Errorf("%s: %d questions were read, want the first line's", c.line, len(questions))
		}
	}
	for _, c := range []struct{ line, want string }{
		{`{"id": "a", "ground_truth": [{"f": {"x": 1}}]}`,
			`a:1:42: the possible values of "x" must be a list, not a whole number`},
		{`{"id": "a", "ground_truth": [{}]}`, `a:1:30: a possible answer must be an object of one function's name`},
		{`{"id": "a", "ground_truth": [{"f": []}]}`,
			`a:1:36: the arguments of a possible answer must be an object, not a list`},
		{`{"id": "a", "ground_truth": {}}`, `a:1:29: "ground_truth" must be a list, not an object`},
	} {
		answers, found := ReadAnswers("a", []byte(c.line))
		if len(found) == 0 || found[0].String() != c.want || len(answers) != 0 {
			t.Errorf("%s: %v, want %s", c.line, found, c.want)
		}
	}
}

func TestReadCall(t *testing.T) {
	c, err := ReadCall("f", []byte(`{"b": 1, "a": 1.0, "b": [9223372036854775808, "\u00e9\ud83d\ude00\ud800x", -0, 1e3]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range c.Arguments {
		text, _ := a.Value.MarshalJSON()
		got = append(got, a.Name+"="+string(text))
	}
	want := []string{`b=[9223372036854775808,"é😀�x",0,1000.0]`, "a=1.0"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for arguments, want := range map[string]ErrorType{
		`{`: DecoderFailed, `[]`: DecoderWrongFormat, ``: DecoderFailed, `{} x`: DecoderFailed,
	} {
		if _, err := ReadCall("f", []byte(arguments)); err == nil || ErrorTypeOf(err) != want {
			t.Errorf("%q: %v, want %s", arguments, err, want)
		}
	}
}
