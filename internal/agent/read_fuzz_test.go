package agent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seatrial/seatrial/internal/agent/model"
)

// fuzzTools is the toolkit of the fuzz tests: the names that the goldens use.
const fuzzTools = `function_1(city: string, year: integer)
function_2(owners: array)
math.power(base: number, exponent: number)
get_all()`

// addGoldens seeds a fuzz test with the inputs of the goldens in a folder.
func addGoldens(f *testing.F, folder string) {
	paths, err := filepath.Glob(filepath.Join("testdata", folder, "*"))
	if err != nil || len(paths) == 0 {
		f.Fatalf("no goldens in %s: %v", folder, err)
	}
	for _, path := range paths {
		datadriven.RunTestAny(f, path, func(_ testing.TB, d *datadriven.TestData) string {
			f.Add(d.Input)
			return d.Expected
		})
	}
}

// FuzzRead: whatever a model writes, reading it ends, finds calls with valid arguments, and loses no word.
func FuzzRead(f *testing.F) {
	addGoldens(f, "read")
	addGoldens(f, "react")
	reader := NewReader(toolkitOf(f, fuzzTools+"\nfilter_data(data_source: label, value: any)"))
	f.Fuzz(func(t *testing.T, text string) {
		m := &model.Message{Content: text}
		r := reader.Read(m, []string{"call_1"})
		checkReading(t, m, &r)
	})
}

// FuzzReact: whatever a model writes, a turn of the loop has at most one act and loses no word.
func FuzzReact(f *testing.F) {
	addGoldens(f, "react")
	addGoldens(f, "read")
	tools := toolkitOf(f, fuzzTools)
	f.Fuzz(func(t *testing.T, text string) {
		r := &react{reader: NewReader(tools)}
		d := r.read(&model.Reply{Message: model.Message{Content: text}}, []string{"call_1"})
		checkReact(t, text, &d)
	})
}

// FuzzAnswer: an answer is valid JSON, and none of its words is lost.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"42", "John Doe", "007", `[{"Name": "John"}]`, "[{'Name': None}]", "```json\n[1]\n```", "`$call_1$`", "$call_1$", "",
		`"x"`, "[1, 2", "{a}", "1e999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer := finalAnswer(text)
		if _, ok := isJSON(string(answer)); !ok {
			t.Fatalf("%q became %s, which is not JSON", text, answer)
		}
		decoded, _ := isJSON(string(answer))
		for _, word := range lostWords(strings.ReplaceAll(text, "```json", ""), string(decoded)) {
			if !strings.Contains(text, "```") {
				t.Errorf("the word %q of %q has vanished: %s", word, text, answer)
			}
		}
	})
}
