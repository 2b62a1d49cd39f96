package agent

import (
	"errors"
	"fmt"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// sqlBaseline asks for one SQL query in place of calls, the baseline of NL2API §4.2. The query goes to the view's one
// tool that runs SQL; what it returns is the answer.
type sqlBaseline struct {
	reader sqlReader
}

func newSQL(ProtocolConfig) dialect { return &sqlBaseline{} }

const (
	promptSQL = `You answer a request by writing one SQL query for SQLite. You get a single reply. The query is run for ` +
		`you, read-only, and the rows that it returns are taken as the answer: let it return what was asked for and ` +
		`nothing beside it.`

	promptSQLForm = "Reply with the query in a fenced block and nothing else:\n```sql\nSELECT ...\n```"

	promptSQLDecline = `If this database cannot settle the request, or the request leaves out something you would need, ` +
		`decline in place of writing a query: reply with one line that reads "Decline:" and gives the reason. Declining ` +
		`ends the task; saying nothing does not count as declining.`
)

func (s *sqlBaseline) open(view *task.View) (model.Request, error) {
	var request model.Request
	var runs *task.Tool
	for _, t := range view.Tools {
		if t.Body != nil && t.Body.Engine == task.EngineText {
			if runs != nil {
				return request, fmt.Errorf("protocol %s: two tools run SQL: %q and %q", SQL, runs.Name, t.Name)
			}
			runs = t
		}
	}
	if runs == nil || len(runs.Body.Bindings) != 1 {
		return request, errors.New("protocol " + SQL + ": the view has no tool that runs SQL, given as its one argument")
	}
	s.reader = newSQLReader(runs, runs.Body.Bindings[0].Argument)
	system := paragraphs(promptSQL, promptSQLForm, promptSQLDecline, runs.Description)
	request.System, request.Messages = conversationOf(view, system)
	return request, nil
}

func (s *sqlBaseline) read(reply *model.Reply, _ []string) decision {
	r := s.reader.read(&reply.Message)
	d := decision{thought: r.thought, unparsed: r.unparsed, silent: r.statement == "" && !r.declined}
	switch {
	case r.statement != "":
		d.actions = []task.Action{{
			Kind: task.ActionCall, Tool: s.reader.tool.Name,
			Arguments: append(append(append([]byte{'{'}, quote(s.reader.argument)...), ':'),
				append(quote(task.EscapeText(r.statement)), '}')...),
		}}
	case r.declined:
		d.actions = []task.Action{{Kind: task.ActionDecline, Text: r.reason}}
	case r.thought != "" && len(r.unparsed) == 0:
		d.unparsed = []task.Unparse{{Reason: ReasonNoCall, Text: r.thought}}
	}
	return d
}

func (s *sqlBaseline) observe([]task.Observation) ([]model.Message, error) { return nil, nil }
