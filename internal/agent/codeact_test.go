package agent

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/python"
	"github.com/seatrial/seatrial/internal/task"
)

// engineOf gives the interpreter of all tests; they are skipped where no engine can be had.
func engineOf(t testing.TB) python.Engine {
	t.Helper()
	engine, err := openPython()
	if err != nil {
		t.Skipf("no interpreter of Python: %v", err)
	}
	return engine
}

var openPython = sync.OnceValues(func() (python.Engine, error) {
	return python.Open(context.Background(), python.Choice{})
})

// echo is an engine without Python: each block prints itself.
type echo struct{}

func (echo) Name() string { return "echo" }
func (echo) Close() error { return nil }
func (echo) Start(context.Context, *python.Setup) (python.Session, error) {
	return echo{}, nil
}

func (echo) Run(_ context.Context, code string) (*python.Outcome, error) {
	return &python.Outcome{Output: code + "\n"}, nil
}

func playCode(t *testing.T, engine python.Engine, view *task.View, replies ...string) (*harbour, *scripted) {
	t.Helper()
	s := says(replies...)
	p, err := NewProtocol(CodeAct, ProtocolConfig{Client: s, Python: engine})
	if err != nil {
		t.Fatal(err)
	}
	h := newHarbour()
	if err := h.play(t, p, view); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	return h, s
}

// lastTold is what the model was told last.
func lastTold(s *scripted) string {
	messages := s.requests[len(s.requests)-1].Messages
	return messages[len(messages)-1].Content
}

func TestCodeAct(t *testing.T) {
	h, s := playCode(t, engineOf(t), testView(t),
		"<thought> I look. </thought>\n<execute>\nhomes = function_1(\"Bergen\", year=1999)\nprint(len(homes))\nhomes[0]\n</execute>",
		"<thought> I count. </thought>\n<execute>\nn = function_2(owners=[home['id'] for home in homes])\n</execute>\nOutput: 17",
		"<thought> Done. </thought>\n<solution>\nsolution = n\n</solution>")
	if !reflect.DeepEqual(h.answer, records(t, `[{"count": 2}]`)) || len(s.requests) != 3 {
		t.Fatalf("answer %v after %d requests", h.answer, len(s.requests))
	}
	want := []struct {
		open          bool
		actions       int
		reply         string
		output, value string
		unparsed      int
	}{
		{open: true, actions: 1, reply: "I look."},
		{output: "2\n", value: "{'city': 'Bergen', 'id': 1}"},
		{open: true, actions: 1, reply: "I count.", unparsed: 1},
		{},
		{open: true, actions: 1, reply: "Done."},
	}
	if len(h.turns) != len(want) {
		t.Fatalf("%d turns", len(h.turns))
	}
	for i, w := range want {
		turn := h.turns[i]
		ended := i == 1 || i == 3 || i == 4
		if turn.Open != w.open || len(turn.Actions) != w.actions || turn.Thought != w.reply ||
			len(turn.Unparsed) != w.unparsed ||
			(turn.Block != nil) != ended {
			t.Errorf("turn %d: %+v", i, turn)
		} else if ended && (turn.Block.Output != w.output || turn.Block.Value != w.value) {
			t.Errorf("turn %d shows %+v", i, turn.Block)
		}
	}
	if told := s.requests[1].Messages; told[len(told)-1].Content != "2\n{'city': 'Bergen', 'id': 1}" {
		t.Errorf("told %q", told[len(told)-1].Content)
	}
	history := s.requests[2].Messages
	if text := history[len(history)-2].Content; strings.Contains(text, "17") || !strings.HasSuffix(text, "</execute>") {
		t.Errorf("the observation that the model made up is kept: %q", text)
	}
	system := s.requests[0].System
	for _, want := range []string{"def function_1(city: str", "def function_2(owners: list", "decline(", "solution ="} {
		if !strings.Contains(system, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
}

// TestCodeActLiterals: what looks like a reference is a text in code, and errors of tools are exceptions.
func TestCodeActLiterals(t *testing.T) {
	h, s := playCode(t, engineOf(t), testView(t),
		"<execute>function_1('$call_1$', 1)[0]['city']</execute>",
		"<execute>\ntry:\n    function_1('Atlantis', 1)\nexcept ToolError as e:\n    print('caught', e)\nno_such_name\n</execute>",
		"<execute>decline('nothing to be had')</execute>")
	if told := s.requests[1].Messages[len(s.requests[1].Messages)-1].Content; told != "'$call_1$'" {
		t.Errorf("the text came back as %q", told)
	}
	told := lastTold(s)
	if !strings.Contains(told, "caught server_error: the service is down") || !strings.Contains(told, "NameError") {
		t.Errorf("told %q", told)
	}
	if h.declined != "nothing to be had" {
		t.Errorf("declined %q", h.declined)
	}
}

// TestCodeActBadSolution: a solution that is none is told as a traceback, and the episode goes on.
func TestCodeActBadSolution(t *testing.T) {
	for code, want := range map[string]string{
		"answer = 1":              "NameError",
		"solution = {1, 2}":       "TypeError",
		"solution = 1 / 0":        "ZeroDivisionError",
		"solution = float('nan')": "ValueError",
	} {
		h, s := playCode(t, engineOf(t), testView(t), "<solution>"+code+"</solution>", "<solution>solution = [3]</solution>")
		if !reflect.DeepEqual(h.answer, []any{int64(3)}) {
			t.Errorf("%s: answer %v", code, h.answer)
		}
		if told := lastTold(s); !strings.Contains(told, want) {
			t.Errorf("%s: told %q", code, told)
		}
	}
}

// TestCodeActEndsCode: code that still runs when the episode ends is ended, and Close waits for it.
func TestCodeActEndsCode(t *testing.T) {
	p, err := NewProtocol(CodeAct, ProtocolConfig{Client: says("<execute>function_1('Bergen', 1)\nwhile True: pass</execute>"), Python: engineOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	turn, err := p.Next(t.Context(), testView(t), nil)
	if err != nil || !turn.Open || len(turn.Actions) != 1 {
		t.Fatalf("%+v, %v", turn, err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestCodeActReads: which part of a reply is code.
func TestCodeActReads(t *testing.T) {
	for name, c := range map[string]struct {
		reply, code, thought string
		solution             bool
		unparsed             []string
	}{
		"tags":          {reply: "<thought>a</thought><execute>\nx\n</execute>", code: "x", thought: "a"},
		"open at end":   {reply: "<execute>x", code: "x"},
		"solution":      {reply: "<solution>solution = 1</solution>", code: "solution = 1", solution: true},
		"fence in tags": {reply: "<execute>\n```python\nx\ny\n```\n</execute>", code: "x\ny\n"},
		"only fence":    {reply: "I run\n```python\nx\ny\n```", code: "x\ny", thought: "I run\n```python\nx\ny\n```"},
		"text in front": {reply: "I think.\n<execute>x</execute>", code: "x", thought: "I think."},
		"second block": {reply: "<execute>x</execute>\n<execute>y</execute>", code: "x",
			unparsed: []string{ReasonAfterAct}},
		"thought behind": {reply: "<execute>x</execute><thought>b</thought> c", code: "x", thought: "b",
			unparsed: []string{ReasonAfterAct}},
		"in a thought": {reply: "<thought>or <execute>z</execute>?</thought><execute>x</execute>", code: "x",
			thought: "or <execute>z</execute>?"},
		"two fences": {reply: "```python\nx\n```\n```python\ny\n```", unparsed: []string{ReasonNoAct},
			thought: "```python\nx\n```\n```python\ny\n```"},
		"prose":   {reply: "It is 3.", unparsed: []string{ReasonNoAct}, thought: "It is 3."},
		"nothing": {reply: ""},
		"both": {reply: "<execute>\nx\n</execute>\n<solution>\nsolution = x\n</solution>", code: "x",
			unparsed: []string{ReasonAfterAct}},
		"solution first": {reply: "<solution>solution = 1</solution><execute>x</execute>", code: "solution = 1",
			solution: true, unparsed: []string{ReasonAfterAct}},
		"nested": {reply: "<execute>\nx\n<execute>\ny\n</execute>\n</execute>", code: "x",
			unparsed: []string{ReasonAfterAct}},
		"never closed": {reply: "<execute>\nx\n<solution>\nsolution = x\n</solution>", code: "x",
			unparsed: []string{ReasonAfterAct}},
		"open thought": {reply: "<thought>a\n<execute>\nx\n</execute>", code: "x", thought: "a"},
		"two thoughts": {reply: "<thought>a\n<execute>x</execute>\n<thought>b</thought>", code: "x", thought: "a\nb"},
		"wrong end":    {reply: "<thought>a</thought><execute>x</thought>", code: "x", thought: "a"},
		"template": {reply: "should I <execute>no</execute>?</think><execute>x</execute>", code: "x",
			thought: "should I <execute>no</execute>?"},
		"tags in code": {reply: "<execute>print('<thought>', '</think>', '<solution>')</execute>",
			code: "print('<thought>', '</think>', '<solution>')"},
		"attributes":     {reply: "<execute lang=\"python\" >x</execute >", code: "x"},
		"several fences": {reply: "<execute>\n```python\nx\n```\nand\n```python\ny\n```\n</execute>", code: "x\ny"},
		"half a fence":   {reply: "<execute>\n```python\nx\n</execute>", code: "x"},
		"fence around": {reply: "```python\n<execute>\nx\n</execute>\n```", code: "x", thought: "```python",
			unparsed: []string{ReasonAfterAct}},
	} {
		d := (&codeAct{}).read(&model.Reply{Message: model.Message{Content: c.reply}}, nil)
		var reasons []string
		for _, u := range d.unparsed {
			reasons = append(reasons, u.Reason)
		}
		got := codeBlock{}
		if d.block != nil {
			got = *d.block
		}
		if got.code != c.code || got.solution != c.solution || d.thought != c.thought || !reflect.DeepEqual(reasons,
			c.unparsed) {
			t.Errorf("%s: code %q, solution %v, thought %q, unparsed %v", name, got.code, got.solution, d.thought, reasons)
		}
		if (d.block == nil) != (c.code == "") || d.silent != (c.reply == "") {
			t.Errorf("%s: block %v, silent %v", name, d.block, d.silent)
		}
	}
}

func FuzzCodeActReads(f *testing.F) {
	for _, s := range []string{"<execute>x</execute>", "<thought><execute>", "</solution><solution>y", "```python\nx\n```",
		"<EXECUTE>\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, reply string) {
		d := (&codeAct{}).read(&model.Reply{Message: model.Message{Content: reply}}, nil)
		if d.block != nil {
			for line := range strings.Lines(d.block.code) {
				if line = strings.TrimSuffix(line, "\n"); !strings.Contains(reply, line) {
					t.Errorf("%q is not in %q", line, reply)
				}
			}
		}
		for _, m := range d.history {
			if !strings.Contains(reply, m.Content) {
				t.Errorf("history %q is not in %q", m.Content, reply)
			}
		}
	})
}

// TestPythonNames: every tool has a name of its own that Python takes, and names that are identifiers stay.
func TestPythonNames(t *testing.T) {
	var tools []*task.Tool
	for _, name := range []string{"a.b", "a_b", "class", "get data", "1st", "decline", "ü", "a-b"} {
		tools = append(tools, &task.Tool{Name: name, Parameters: &task.Schema{
			Types: []string{"object"}, Required: []string{"x", "from"},
			Properties: []task.Property{
				{Name: "x", Schema: &task.Schema{Types: []string{"array"}, Items: &task.Schema{Types: []string{"string", "null"}}}},
				{Name: "from", Schema: &task.Schema{Types: []string{"integer"}}},
				{Name: "y", Schema: &task.Schema{Types: []string{"number"}, Description: `say """three"""`}},
			},
		}})
	}
	n := newPythonNames(tools, codeDecline)
	for _, tool := range tools {
		id := n.function[tool.Name]
		if identifier(id) != id || n.tool[id] != tool || id == codeDecline {
			t.Errorf("%q is %q", tool.Name, id)
		}
	}
	if n.function["a_b"] != "a_b" {
		t.Errorf("a_b became %q", n.function["a_b"])
	}
	stub := n.stub(tools[0])
	if !strings.Contains(stub, "(x: list[str | None], y: float = ..., **words):") || strings.Count(stub, `"""`) != 2 {
		t.Errorf("%s", stub)
	}
	outcome := runPython(t, stub+"\n    return 1\n"+n.function["a.b"]+"([], **{'from': 1})")
	if outcome.Value != "1" {
		t.Errorf("the stub is no Python: %+v", outcome)
	}
}

func runPython(t *testing.T, code string) *python.Outcome {
	t.Helper()
	session, err := engineOf(t).Start(t.Context(), &python.Setup{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	outcome, err := session.Run(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// TestLiteral: what is written as Python is the same value there.
func TestLiteral(t *testing.T) {
	for _, text := range []string{
		`null`, `true`, `-17`, `1.5e300`, `"a\"b\\c\n\u0001é😀$x$"`, `[1,[null,false]]`, `{"from":{"b":[]},"a b":"'"}`,
		`9007199254740993`,
	} {
		v, err := task.DecodeValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		outcome := runPython(t, "import json\nprint(json.dumps("+literal(v)+", ensure_ascii=False, sort_keys=True))")
		got, err := task.DecodeValue([]byte(outcome.Output))
		if err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%s became %q (%v)", text, outcome.Output, outcome.Traceback)
		}
	}
}

// TestAnswersKeepTheOrderOfFields: cells of records count by place where their keys are not the right answer's.
func TestAnswersKeepTheOrderOfFields(t *testing.T) {
	for _, text := range []string{
		`[{"name":"Alpine House","accession_count":9},{"name":null,"accession_count":1.50}]`,
		`{"b":{"z":[true,{}],"a":"'"},"a":[]}`, `-17`, `9007199254740993`, `[]`,
	} {
		code, ok := inOrder(json.RawMessage(text))
		if !ok {
			t.Fatalf("%s cannot be written", text)
		}
		outcome := runPython(t, "import json\nprint(json.dumps("+code+", ensure_ascii=False, separators=(',', ':')))")
		if got, want := strings.TrimSpace(outcome.Output), strings.Replace(text, "1.50", "1.5", 1); got != want {
			t.Errorf("%s became %s %s", want, got, outcome.Traceback)
		}
	}
	for _, text := range []string{``, `[1,`, `{"a":}`, `nothing`} {
		if code, ok := inOrder(json.RawMessage(text)); ok {
			t.Errorf("%q is written %s", text, code)
		}
	}
}

// TestCodePolicies: what is written as code comes to what the plan comes to, by calls of the same arguments.
func TestCodePolicies(t *testing.T) {
	task := &task.Task{Plans: []task.Plan{{
		Kind: task.PlanDirect, Answer: "counted",
		Calls: []task.Call{
			{Label: "homes", Tool: "function_1", Arguments: map[string]any{"city": "$$Bergen", "year": int64(1999)}},
			{Label: "counted", Tool: "function_2", Arguments: map[string]any{"owners": "$homes.id$"}},
		},
	}}}
	for _, name := range []string{"gold-code", "gold-code-slip", "blind-code", "recover-code"} {
		p, err := NewPolicy(name, PolicyInput{Task: task, Python: engineOf(t)})
		if err != nil {
			t.Fatal(err)
		}
		h := newHarbour()
		view := testView(t)
		if err := h.play(t, p, view); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if !reflect.DeepEqual(h.answer, records(t, `[{"count": 2}]`)) || h.calls != 2 {
			t.Errorf("%s: answer %v after %d calls", name, h.answer, h.calls)
		}
		if !reflect.DeepEqual(h.results["homes"][0]["city"], "$Bergen") {
			t.Errorf("%s: the text came as %v", name, h.results["homes"][0]["city"])
		}
	}
	if _, err := NewPolicy("gold-code", PolicyInput{Task: task}); err == nil {
		t.Error("no interpreter is no error")
	}
}

// TestTablesByLabel: of a text that looks like a reference, only that of a table that was given stays one.
func TestTablesByLabel(t *testing.T) {
	c := newCoder(echo{}, python.Limits{}, &task.View{Starts: []task.Table{{Label: "starting_table"}}})
	for given, want := range map[string]string{
		`{"a":"$starting_table$"}`:                   `{"a":"$starting_table$"}`,
		`{"a":"$starting_table.name$"}`:              `{"a":"$starting_table.name$"}`,
		`{"a":"$other$","b":["$5"]}`:                 `{"a":"$$other$","b":["$$5"]}`,
		`{"a":{"handle":"$starting_table$","k":[]}}`: `{"a":"$starting_table$"}`,
		`{"a":{"handle":"$other$"}}`:                 `{"a":{"handle":"$$other$"}}`,
	} {
		got, err := c.literal(json.RawMessage(given))
		if err != nil || string(got) != want {
			t.Errorf("%s became %s (%v)", given, got, err)
		}
	}
}
