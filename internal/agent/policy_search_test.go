package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// planOf makes a plan that calls tools one after the other.
func planOf(kind string, tools ...string) task.Plan {
	p := task.Plan{Kind: kind}
	for i, name := range tools {
		p.Calls = append(p.Calls, task.Call{Label: string(rune('a' + i)), Tool: name})
		p.Answer = p.Calls[i].Label
	}
	return p
}

// TestWantedTools looks for the primary plan's tools, and for those of other plans until no tool is in all of them.
func TestWantedTools(t *testing.T) {
	tk := &task.Task{
		Plans: []task.Plan{planOf(task.PlanDirect, "x"), planOf(task.PlanComposed, "y", "z", "y")},
		Paths: []task.Path{{Plan: planOf("path-1", "y", "w")}, {Plan: planOf("path-2", "v"), Accidental: true}},
	}
	for primary, want := range map[string]string{
		"": "x y z", task.PlanDirect: "x y z", task.PlanComposed: "y z x", "path-1": "y w x",
	} {
		if got := strings.Join(wantedTools(PolicyInput{Task: tk, Primary: primary}), " "); got != want {
			t.Errorf("primary %q: %s, want %s", primary, got, want)
		}
	}
	tk.Plans, tk.Paths = tk.Plans[1:], []task.Path{{Plan: planOf("path-1", "z", "y")}, {Plan: planOf("path-3", "z", "u")},
		{Plan: planOf("path-4", "u")}}
	if got := strings.Join(wantedTools(PolicyInput{Task: tk}), " "); got != "y z u" {
		t.Errorf("%s", got)
	}
}

func openView(names ...string) *task.View {
	view := &task.View{Messages: []task.Message{{Role: "user", Content: "How many?"}}}
	for _, name := range append([]string{task.ToolSearch, task.ToolInfo}, names...) {
		view.Tools = append(view.Tools, &task.Tool{
			Name: name, Parameters: &task.Schema{Types: []string{"object"}}, Body: &task.Body{Engine: task.EngineSearch},
		})
	}
	return view
}

// TestPolicySearches finds its tools where it has to, and nowhere else.
func TestPolicySearches(t *testing.T) {
	tk := &task.Task{
		Messages: []task.Message{{Role: "user", Content: "How many $?"}}, Plans: []task.Plan{planOf(task.PlanDirect, "x",
			"y")},
	}
	calls := func(p *Policy, view *task.View) string {
		t.Helper()
		turn, err := p.Next(t.Context(), view, nil)
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, a := range turn.Actions {
			list = append(list, strings.TrimSpace(a.Tool+" "+string(a.Arguments)))
		}
		return strings.Join(list, "; ")
	}
	for _, test := range []struct {
		policy string
		views  []*task.View
		want   []string
	}{
		{"gold", []*task.View{openView(), openView("x"), openView("x", "y")}, []string{
			`search_tools {"query":"How many $?"}`, `get_info {"tool_name":"y"}`, `x {}; y {}`,
		}},
		{"recover", []*task.View{openView(), openView("x", "y")}, []string{`search_tools {"query":"How many $?"}`,
			`x {}; y {}`}},
		{"blind", []*task.View{openView("x", "y")}, []string{`search_tools {"query":"How many $?"}`}},
		{"gold-unfound", []*task.View{openView()}, []string{`x {}; y {}`}},
		{"gold", []*task.View{{Tools: openView("x", "y").Tools[2:]}}, []string{`x {}; y {}`}},
	} {
		p, err := NewPolicy(test.policy, PolicyInput{Task: tk})
		if err != nil {
			t.Fatal(err)
		}
		for i, view := range test.views {
			if got := calls(p, view); got != test.want[i] {
				t.Errorf("%s, turn %d: %s, want %s", test.policy, i+1, got, test.want[i])
			}
		}
	}
}

// offered is a model that calls a tool in every reply, and remembers what it was offered.
type offered struct {
	requests []model.Request
	call     string
}

func (o *offered) Complete(_ context.Context, r model.Request) (*model.Reply, error) {
	o.requests = append(o.requests, r)
	return &model.Reply{Message: model.Message{
		Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "c", Name: o.call, Arguments: `{}`}},
	}}, nil
}

// TestNativeToolsGrow offers tools that come into view behind those before, once, and leaves earlier requests as they
// were.
func TestNativeToolsGrow(t *testing.T) {
	client := &offered{call: "found_later"}
	c, err := NewProtocol("tools", ProtocolConfig{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	for _, view := range []*task.View{openView(), openView("found/first", "found_later"), openView("found/first",
		"found_later")} {
		turn, err := c.Next(t.Context(), view, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(turn.Actions) != 1 || turn.Actions[0].Tool != "found_later" {
			t.Errorf("it does %+v", turn.Actions)
		}
	}
	count := func(i int) (names []string) {
		for _, tool := range client.requests[i].Tools {
			names = append(names, tool.Name)
		}
		return names
	}
	first, second, third := count(0), count(1), count(2)
	if len(first) != 4 || len(second) != 6 || !slices.Equal(second[:4], first) || !slices.Equal(second, third) ||
		second[5] != "found_later" {
		t.Errorf("offered are %v, then %v, then %v", first, second, third)
	}
}

// TestReactReadsGrownTools reads a call of a found tool in any of the ways in which calls are written, as of one shown
// before.
func TestReactReadsGrownTools(t *testing.T) {
	tool := &task.Tool{Name: "found later", Parameters: &task.Schema{Types: []string{"object"}}}
	r := newReact(ProtocolConfig{Specs: new(Specs)}).(*react)
	view := openView()
	if _, err := r.open(view); err != nil {
		t.Fatal(err)
	}
	reply := &model.Reply{Message: model.Message{Role: model.RoleAssistant,
		Content: "Thought: so\nAction: found later\nAction Input: {}"}}
	if d := r.read(reply, nil); len(d.actions) != 0 {
		t.Errorf("a name that nobody knows is read as %+v", d.actions)
	}
	view.Tools = append(view.Tools, tool)
	r.grow(view)
	if d := r.read(reply, nil); len(d.actions) != 1 || d.actions[0].Tool != tool.Name ||
		!json.Valid(d.actions[0].Arguments) {
		t.Errorf("it is read as %+v, %+v", d.actions, d.unparsed)
	}
}
