package reply

import (
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/agent/agenttest"
	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// FuzzRead checks that reading any text terminates, finds only calls with valid arguments, and loses no word.
func FuzzRead(f *testing.F) {
	agenttest.AddGoldens(f, "read")
	agenttest.AddGoldens(f, "../../protocol/testdata/react")
	one := &writtenCall{"function_1", "Bergen", 1999}
	for _, templates := range formatTemplates {
		for _, template := range templates {
			f.Add(one.write(template))
		}
	}
	reader := NewReader(agenttest.Toolkit(f, agenttest.Tools+"\nfilter_data(data_source: label, value: any)"))
	f.Fuzz(func(t *testing.T, text string) {
		m := &model.Message{Content: text}
		r := reader.Read(m, []string{"call_1"})
		checkReading(t, m, &r)
	})
}

// FuzzAnswer checks that an answer is valid JSON and loses no word.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"42", "John Doe", "007", `[{"Name": "John"}]`, "[{'Name': None}]", "```json\n[1]\n```", "`$call_1$`", "$call_1$", "",
		`"x"`, "[1, 2", "{a}", "1e999",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		answer := FinalAnswer(text)
		if _, ok := literal.IsJSON(string(answer)); !ok {
			t.Fatalf("%q became %s, which is not JSON", text, answer)
		}
		decoded, _ := literal.IsJSON(string(answer))
		for _, word := range agenttest.LostWords(strings.ReplaceAll(text, "```json", ""), string(decoded)) {
			if !strings.Contains(text, "```") {
				t.Errorf("the word %q of %q has vanished: %s", word, text, answer)
			}
		}
	})
}
