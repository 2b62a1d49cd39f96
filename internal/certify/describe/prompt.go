package describe

import (
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/prompt"
)

// question returns what a writer is asked about a page's tool.
func (p *page) question(tables string) prompt.Question {
	if len(tables) > longestSchema {
		tables = tables[:strings.LastIndexByte(tables[:longestSchema], '\n')+1] + "…"
	}
	return prompt.Question{Text: prompt.WriteDocumentation, Values: prompt.Values{
		"function": specify(p.derived), "named": prompt.Yes(p.Path != nil), "database": p.derived.Database,
		"tables": tables, "complaint": "",
	}}
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
