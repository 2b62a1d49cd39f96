package describe

import (
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// instructions precede the specification of a tool in a prompt.
const instructions = `You are writing the reference of read-only functions over a database. Below are the tables of
the database, two examples of good documentation from another database, and one function with its code and with
descriptions that a program derived. Improve the wording, so that a developer who reads only your text knows when to
call this function and with what. Do not change what it means: code and derived description are exact.

Reply with one JSON object, and nothing before or after it:
`

// rules tell a writer what a text must be.
const rules = `- summary: one to three sentences of at most 600 bytes that say what is returned, under which
  conditions, in which order and how many. Name every parameter in backquotes where it is used.
- parameters: every parameter under its own name, unchanged, with a description of at most 400 bytes: what the value is
  compared with and how (equal, above, at least, contains …), its format and its unit. No others.
- Speak of columns and tables, never of particular values: give no examples of what might be asked or answered.
`

const nameRule = `- name: small letters, digits and underscores, at most 64 characters, beginning with a verb (get,
  count, list, find). It names what is returned and what it can be asked by. No other function may have it.
`

// demonstrations are documentation of an invented database. Backquotes are written as apostrophes.
const demonstrations = `
Example 1:
{"code":"SELECT u1.title FROM boat AS u1 WHERE u1.berth = ?1 AND u1.length > ?2",
 "derived":"Get titles of boats where berth is 'reed_onyx' and length is greater than 'dune_iris'."}
{"summary":"Returns the title of every boat that lies at the berth 'reed_onyx' and is longer than 'dune_iris'.",
 "parameters":{"reed_onyx":"Berth of the boat; must be equal.","dune_iris":"Length in metres that it must exceed."}}

Example 2:
{"code":"SELECT u1.port, count(*) FROM visit AS u1 GROUP BY u1.port",
 "derived":"Get port and the number of visits, for each port."}
{"summary":"Counts the visits of each port: one row a port, with the port and how many visits it had.","parameters":{}}

`

// instructions returns what precedes the specification of a page's tool.
func (p *page) instructions(tables string) string {
	form := `{"summary": "...", "parameters": {"<parameter>": "<description>", ...}}` + "\n\n"
	names := ""
	if p.Path != nil {
		form = `{"name": "...", ` + strings.TrimPrefix(form, "{")
		names = nameRule
	}
	if len(tables) > longestSchema {
		tables = tables[:strings.LastIndexByte(tables[:longestSchema], '\n')+1] + "…"
	}
	return instructions + form + names + rules + "\nThe tables of " + p.derived.Database + ":\n" + tables + "\n" +
		strings.ReplaceAll(demonstrations, "'", "`") + "The function:\n"
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

// request is what the writer is asked this time.
func (p *page) request() string {
	if p.record.Complaint == "" {
		return p.prompt
	}
	return p.prompt + "\nYour last reply was refused: " + p.record.Complaint + ". Write it anew.\n"
}
