package describe

import (
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/prompt"
)

// question returns what a writer is asked about a page's tool.
func (p *page) question(tables string) prompt.Question {
	text := prompt.WriteDocumentation
	if p.Path != nil {
		text = prompt.WriteEndpoint
	}
	return prompt.Question{Text: text, Values: prompt.Values{
		"function": specify(p.derived), "database": p.derived.Database, "tables": shortened(tables), "complaint": "",
	}}
}

// shortened cuts long tables at the end of a line.
func shortened(tables string) string {
	if len(tables) > longestSchema {
		return tables[:strings.LastIndexByte(tables[:longestSchema], '\n')+1] + "…"
	}
	return tables
}

// specify describes a tool to a writer. It contains nothing from a question or an answer.
func specify(t *task.Tool) string {
	specification, err := task.Marshal(struct {
		Database    string       `json:"database"`
		Name        string       `json:"name"`
		Code        string       `json:"code"`
		Description string       `json:"description"`
		Parameters  *task.Schema `json:"parameters"`
		Returns     *task.Schema `json:"returns"`
	}{t.Database, t.Name, t.Body.Statement, t.Description, t.Parameters, t.Returns})
	if err != nil {
		panic(err) // plain data always has a JSON form
	}
	return string(specification)
}
