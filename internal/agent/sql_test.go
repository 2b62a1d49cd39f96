package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// sqlTool runs SQL on a database of homes.
func sqlTool() *task.Tool {
	return &task.Tool{
		Name: "query_database", Description: "Runs SQL.\n\nCREATE TABLE home (id INTEGER)",
		Parameters: &task.Schema{
			Types: []string{"object"}, Required: []string{"sql"}, Closed: true,
			Properties: []task.Property{{Name: "sql", Schema: &task.Schema{Types: []string{"string"}}}},
		},
		Body: &task.Body{Engine: task.EngineText, Bindings: []task.Binding{
			{Argument: "sql", Kind: task.BindValue, Type: task.TypeText, Role: task.RoleSource},
		}},
	}
}

func showSQL(r *sqlReading) string {
	var b strings.Builder
	if r.statement != "" {
		fmt.Fprintf(&b, "sql: %s\n", inLine(r.statement))
	}
	if r.declined {
		fmt.Fprintf(&b, "decline: %s\n", inLine(r.reason))
	}
	if r.thought != "" {
		fmt.Fprintf(&b, "thought: %s\n", inLine(r.thought))
	}
	for _, u := range r.unparsed {
		fmt.Fprintf(&b, "unparsed %s: %s\n", u.Reason, inLine(u.Text))
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

// checkSQL demands what must hold of every reading: at most one act, reasons of the closed list, and no lost word.
func checkSQL(t testing.TB, text string, r *sqlReading) {
	t.Helper()
	if r.declined && r.statement != "" {
		t.Errorf("both a query and a decline in %q", text)
	}
	if strings.TrimSpace(r.statement) != r.statement {
		t.Errorf("the statement %q of %q", r.statement, text)
	}
	kept := r.statement + "\n" + r.reason + "\n" + r.thought
	for _, u := range r.unparsed {
		if !slices.Contains(Reasons(), u.Reason) {
			t.Errorf("%q is not in the closed list of reasons", u.Reason)
		}
		kept += "\n" + u.Text
	}
	for _, word := range lostWords(text, kept) {
		if !sqlGrammar[word] {
			t.Errorf("the word %q has vanished from the reply %q\nread as:\n%s", word, text, showSQL(r))
		}
	}
}

// sqlGrammar are the words by which replies say that they hold a query.
var sqlGrammar = map[string]bool{
	"sql": true, "sqlite": true, "postgresql": true, "mysql": true, "query": true, "database": true, "answer": true,
	"statement": true, "decline": true,
}

// TestSQLGoldens reads replies as models write them: `read` reads its input as the text of a reply, `native` reads a
// line `name arguments` as a native call, with the text of the reply behind an empty line.
func TestSQLGoldens(t *testing.T) {
	reader := newSQLReader(sqlTool(), "sql")
	stages := map[string]bool{}
	datadriven.RunTest(t, "testdata/sql/replies", func(t *testing.T, d *datadriven.TestData) string {
		m := &model.Message{Content: d.Input}
		if d.Cmd == "native" {
			call, text, _ := strings.Cut(d.Input, "\n\n")
			name, arguments, _ := strings.Cut(call, " ")
			m.Content, m.ToolCalls = text, []model.ToolCall{{Name: name, Arguments: arguments}}
		}
		for _, stage := range sqlStages {
			s := &sqlSearch{reader: &reader, m: m, text: m.Content}
			if stage.find(s); len(s.found) > 0 {
				stages[stage.name] = true
				break
			}
		}
		r := reader.read(m)
		checkSQL(t, m.Content, &r)
		return showSQL(&r)
	})
	for _, stage := range sqlStages {
		if !stages[stage.name] {
			t.Errorf("no golden is read by stage %q", stage.name)
		}
	}
}

// TestSQLReadsBack: whatever query is written, in whatever frame, is read as it was.
func TestSQLReadsBack(t *testing.T) {
	pieces := []string{
		"SELECT", " a", " 'it''s; -- no'", ` "x;y"`, " [b c]", " `d`", "\nFROM t", " WHERE (a > 1)", " -- why;\n",
		" /* x; */",
		"\n\nORDER BY a", " LIMIT 1", ", (SELECT max(b) FROM u)", " UNION ALL SELECT 2",
	}
	frames := []struct{ before, after string }{
		{"```sql\n", "\n```"}, {"Thus:\n```\n", ";\n```\nDone."}, {"<sql>", "</sql>"}, {"Sure.\n\n", ";\n\nThat is it."},
		{"", ";"},
		{"Query: ", "\n\nIt returns the rows."},
	}
	reader := newSQLReader(sqlTool(), "sql")
	read := 0
	for seed := range uint64(600) {
		r := task.Draw(seed, "sql")
		query := "SELECT a"
		if r.IntN(3) == 0 {
			query = "WITH w AS (SELECT 1) SELECT a"
		}
		for range r.IntN(7) {
			query += pieces[1+r.IntN(len(pieces)-1)]
		}
		query = strings.TrimSpace(query)
		frame := frames[r.IntN(len(frames))]
		if strings.HasSuffix(query, ";") && strings.Contains(query, "-- why;") {
			query += "\nLIMIT 2" // a comment at the end would hide the semicolon behind it
		}
		got := reader.read(&model.Message{Content: frame.before + query + frame.after})
		if got.statement != query {
			t.Errorf("seed %d: %q between %q was read as\n%s", seed, query, frame, showSQL(&got))
		}
		read++

		arguments, err := task.Marshal(map[string]any{"sql": query + ";"})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []model.Message{
			{ToolCalls: []model.ToolCall{{Name: "query_database", Arguments: string(arguments)}}},
			{Content: `{"name": "query_database", "arguments": ` + string(arguments) + `}`},
			{Content: "```json\n" + string(arguments) + "\n```"},
		} {
			if got := reader.read(&m); got.statement != query {
				t.Errorf("seed %d: %q in %+v was read as\n%s", seed, query, m, showSQL(&got))
			}
		}
	}
	if read < 600 {
		t.Errorf("only %d queries were read", read)
	}
}

// TestSQLProtocol: one reply, one call, its result is the answer; a query that is refused leaves none.
func TestSQLProtocol(t *testing.T) {
	view := &task.View{
		Messages: []task.Message{{Role: "user", Content: "Which homes?"}}, Evidence: "homes means houses",
		Tools: []*task.Tool{sqlTool()},
	}
	s := says("I think.\n```sql\nSELECT id FROM home;\n```")
	h := playProtocol(t, SQL, ProtocolConfig{Client: s}, view)
	if !reflect.DeepEqual(h.answer, records(t, `[{"id": 7}]`)) || len(s.requests) != 1 ||
		h.turns[0].Thought != "I think." {
		t.Errorf("answer %v after %d requests: %+v", h.answer, len(s.requests), h.turns)
	}
	request := &s.requests[0]
	if len(request.Tools) != 0 || !strings.HasSuffix(request.System, view.Tools[0].Description) ||
		request.Messages[0].Content != "Which homes?\n\nGood to know: homes means houses" {
		t.Errorf("request %+v", request)
	}
	h = playProtocol(t, SQL, ProtocolConfig{Client: says("SELECT nothing")}, view)
	if h.ended || h.calls != 1 || !h.turns[1].Stop {
		t.Errorf("after a refused query: %+v", h.turns)
	}
	h = playProtocol(t, SQL, ProtocolConfig{Client: says("Decline: there are no prices")}, view)
	if h.declined != "there are no prices" {
		t.Errorf("declined with %q", h.declined)
	}
	h = playProtocol(t, SQL, ProtocolConfig{Client: says("There are three.")}, view)
	want := []task.Unparse{{Reason: ReasonNoCall, Text: "There are three."}}
	if h.ended || !h.turns[0].Stop || !reflect.DeepEqual(h.turns[0].Unparsed, want) {
		t.Errorf("prose: %+v", h.turns[0])
	}
	for _, tools := range [][]*task.Tool{nil, {sqlTool(), sqlTool()}} {
		p, err := NewProtocol(SQL, ProtocolConfig{Client: says("")})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Next(t.Context(), &task.View{Tools: tools}, nil); err == nil {
			t.Errorf("%d tools that run SQL are no error", len(tools))
		}
	}
}

// FuzzSQL: whatever a model writes, reading it ends, and no word of it is lost.
func FuzzSQL(f *testing.F) {
	addGoldens(f, "sql")
	addGoldens(f, "read")
	reader := newSQLReader(sqlTool(), "sql")
	f.Fuzz(func(t *testing.T, text string) {
		s := &sqlBaseline{reader: reader}
		r := reader.read(&model.Message{Content: text})
		checkSQL(t, text, &r)
		d := s.read(&model.Reply{Message: model.Message{Content: text}}, nil)
		if len(d.actions) > 1 {
			t.Errorf("%d acts", len(d.actions))
		}
		for i := range d.actions {
			if a := &d.actions[i]; a.Kind == task.ActionCall {
				var arguments map[string]string
				if err := json.Unmarshal(a.Arguments, &arguments); err != nil || len(arguments) != 1 {
					t.Errorf("arguments %s: %v", a.Arguments, err)
				}
			}
		}
	})
}
