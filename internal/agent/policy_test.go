package agent

import (
	"context"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/task"
)

func planCall(label, tool string, arguments map[string]any) task.Call {
	return task.Call{Label: label, Tool: tool, Arguments: arguments}
}

// testTask has a direct plan of one call, and a composed one: two calls side by side, and one that uses the first.
func testTask(city string) *task.Task {
	return &task.Task{
		ID: "t1",
		Plans: []task.Plan{
			{Kind: task.PlanDirect, Calls: []task.Call{planCall("d", "get_all", nil)}, Answer: "d"},
			{Kind: task.PlanComposed, Answer: "c", Calls: []task.Call{
				planCall("a", "function_1", map[string]any{"city": city, "year": int64(1999)}),
				planCall("c", "function_2", map[string]any{"owners": "$a.id$"}),
				planCall("b", "get_all", map[string]any{}),
			}},
		},
		Literals: []task.Literal{{Value: "Bergen"}, {Value: int64(1999)}, {Value: "Oslo"}},
	}
}

func testView(t testing.TB) *task.View {
	tools := toolkitOf(t, fuzzTools)
	tools[0].Body.Bindings = []task.Binding{
		{Argument: "city", Kind: task.BindValue, Type: task.TypeText},
		{Argument: "year", Kind: task.BindValue, Type: task.TypeInteger},
	}
	tools[1].Body = nil
	tools[2].Body = nil
	return &task.View{Messages: []task.Message{{Role: "user", Content: "Which homes?"}}, Tools: tools}
}

func playPolicy(t *testing.T, name string, in PolicyInput) *harbour {
	t.Helper()
	p, err := NewPolicy(name, in)
	if err != nil {
		t.Fatal(err)
	}
	h := newHarbour()
	if err := h.play(t, p, testView(t)); err != nil {
		t.Fatal(err)
	}
	return h
}

func TestPlansArePlayedLevelByLevel(t *testing.T) {
	counted := []any{map[string]any{"count": int64(2)}}
	all := []any{map[string]any{"id": int64(7)}}
	for _, c := range []struct {
		policy, primary string
		sizes           []int
		answer          any
	}{
		{"gold", "", []int{1, 1}, all},
		{"gold", task.PlanDirect, []int{1, 1}, all},
		{"gold", task.PlanComposed, []int{2, 1, 1}, counted},
		{"gold-direct", task.PlanComposed, []int{1, 1}, all},
		{"gold-composed", task.PlanDirect, []int{2, 1, 1}, counted},
		{"blind", task.PlanComposed, []int{2, 1, 1}, counted},
	} {
		h := playPolicy(t, c.policy, PolicyInput{Task: testTask("Bergen"), Primary: c.primary})
		if !reflect.DeepEqual(h.sizes(), c.sizes) {
			t.Errorf("%s of %q: turns of %v actions, want %v", c.policy, c.primary, h.sizes(), c.sizes)
		}
		if !reflect.DeepEqual(h.answer, c.answer) || h.lenient || h.dangling {
			t.Errorf("%s of %q answers %v, want %v", c.policy, c.primary, h.answer, c.answer)
		}
	}
}

// TestComposedFallsBack: a task without a composed plan is played by its direct one.
func TestComposedFallsBack(t *testing.T) {
	task := testTask("Bergen")
	task.Plans = task.Plans[:1]
	direct := playPolicy(t, "gold-direct", PolicyInput{Task: task})
	composed := playPolicy(t, "gold-composed", PolicyInput{Task: task})
	if !reflect.DeepEqual(composed.sizes(), direct.sizes()) || !reflect.DeepEqual(composed.answer, direct.answer) {
		t.Errorf("gold-composed answers %v in turns of %v", composed.answer, composed.sizes())
	}
}

// TestErrors: gold does not answer what it does not have; blind goes on whatever comes back.
func TestErrors(t *testing.T) {
	in := PolicyInput{Task: testTask("Atlantis"), Primary: task.PlanComposed}
	gold := playPolicy(t, "gold", in)
	last := gold.turns[len(gold.turns)-1]
	if gold.ended || !last.Stop || !strings.Contains(last.Thought, "call a failed") {
		t.Errorf("gold ends with %+v", last)
	}
	blind := playPolicy(t, "blind", in)
	if !blind.ended || !blind.dangling || blind.calls != 3 {
		t.Errorf("blind made %d calls and answered %v", blind.calls, blind.answer)
	}
}

func TestAbsentPlansStopAtOnce(t *testing.T) {
	tk := testTask("Bergen")
	tk.Plans = tk.Plans[:1]
	for _, c := range []struct {
		policy, why string
		in          PolicyInput
	}{
		{"gold-composed", "the task has no direct plan", PolicyInput{Task: &task.Task{}}},
		{"gold-direct", "the task has no direct plan", PolicyInput{Task: &task.Task{}}},
		{"gold", "the task has no plan", PolicyInput{Task: &task.Task{}}},
		{"blind", "the task has no plan", PolicyInput{Task: tk, Primary: task.PlanComposed}},
		{"mute", "mute says nothing", PolicyInput{Task: tk}},
		{"random", "no tool can be called", PolicyInput{Task: &task.Task{Literals: []task.Literal{}}}},
	} {
		p, err := NewPolicy(c.policy, c.in)
		if err != nil {
			t.Fatal(err)
		}
		view := testView(t)
		view.Tools = view.Tools[:3] // get_all could be called without a literal
		turn, err := p.Next(t.Context(), view, nil)
		if err != nil || !turn.Stop || len(turn.Actions) > 0 || !strings.Contains(turn.Thought, c.why) {
			t.Errorf("%s: %+v, %v; want a stop that says %q", c.policy, turn, err, c.why)
		}
	}
}

// TestRandomDrawsEvenly: every call that the literals allow is drawn about equally often, and the draw depends on
// seed, task and trial alone.
func TestRandomDrawsEvenly(t *testing.T) {
	view := testView(t)
	tk := testTask("Bergen")
	choices := task.SingleCalls(view.Tools, nil, tk.Literals)
	if len(choices) != 3 { // two cities with one year, and the tool without arguments
		t.Fatalf("%d single calls", len(choices))
	}
	const trials = 3000
	drawn := map[string]int{}
	for trial := range trials {
		in := PolicyInput{Task: tk, Seed: 5, Trial: trial}
		h, again := playPolicy(t, "random", in), playPolicy(t, "random", in)
		first := h.turns[0].Actions[0]
		drawn[first.Tool+string(first.Arguments)]++
		if !reflect.DeepEqual(h.turns, again.turns) {
			t.Fatal("the same trial drew another call")
		}
		if h.calls != 1 || !h.ended || h.dangling {
			t.Fatalf("%d calls, answer %v", h.calls, h.answer)
		}
	}
	expected := float64(trials) / float64(len(choices))
	chiSquared := 0.0
	for _, n := range drawn {
		chiSquared += math.Pow(float64(n)-expected, 2) / expected
	}
	// Two degrees of freedom: 13.8 is passed once in a thousand seeds, and this seed is fixed.
	if len(drawn) != len(choices) || chiSquared > 13.8 {
		t.Errorf("drawn %v, chi-squared %.1f", drawn, chiSquared)
	}
}

func TestUnknownPolicy(t *testing.T) {
	_, err := NewPolicy("golt", PolicyInput{Task: &task.Task{}})
	var known *diag.Error
	if !errors.As(err, &known) || known.Exit != diag.ExitUsage || !strings.Contains(known.Hint, `"gold"`) {
		t.Errorf("%v", err)
	}
	for _, p := range Policies() {
		if _, err := NewPolicy(p.Name, PolicyInput{Task: &task.Task{}, Python: echo{}}); err != nil || p.Description == "" {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestPolicyStopsForGood(t *testing.T) {
	p, err := NewPolicy("mute", PolicyInput{Task: testTask("Bergen")})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if turn, err := p.Next(t.Context(), testView(t), nil); err != nil || !turn.Stop {
			t.Errorf("%+v, %v", turn, err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Next(cancelled, testView(t), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context gives %v", err)
	}
}

// TestArgumentsKeepTheirTypes: what a plan holds reaches the environment as the same values.
func TestArgumentsKeepTheirTypes(t *testing.T) {
	arguments := map[string]any{
		"real": 1.0, "integer": int64(1), "big": int64(math.MaxInt64), "infinite": math.Inf(1), "null": nil, "bool": true,
		"text": "$$5 \"x\" é", "list": []any{int64(1), "a", nil, 2.5}, "object": map[string]any{"b": int64(1), "a": []any{}},
		"blob": task.Blob{1, 0xff},
	}
	action, err := callAction(&task.Call{Label: "x", Tool: "f", Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	got, err := task.DecodeValue(action.Arguments)
	if err != nil {
		t.Fatal(err)
	}
	arguments["blob"] = map[string]any{"$blob": "01ff"}
	if !reflect.DeepEqual(got, any(arguments)) {
		t.Errorf("got %#v\nfrom %s", got, action.Arguments)
	}
	if _, err := callAction(&task.Call{Arguments: map[string]any{"x": struct{}{}}}); err == nil {
		t.Error("a value that is no JSON is let pass")
	}
}

// TestLevels: every call stands in a later level than those it refers to, and levels are as early as can be.
func TestLevels(t *testing.T) {
	tried := 0
	for n := range 300 {
		r := task.Draw(2, "levels", strconv.Itoa(n))
		calls := make([]task.Call, 1+r.IntN(8))
		for i := range calls {
			arguments := map[string]any{}
			for range r.IntN(3) {
				if i > 0 {
					j := strconv.Itoa(r.IntN(i))
					arguments["a"+j] = []any{"$c" + j + ".x$"}
				}
			}
			calls[i] = planCall("c"+strconv.Itoa(i), "f", arguments)
		}
		level := map[string]int{}
		count := 0
		for l, indices := range planLevels(calls) {
			for _, i := range indices {
				level[calls[i].Label] = l
				count++
			}
		}
		if count != len(calls) {
			t.Fatalf("%d calls in levels, want %d", count, len(calls))
		}
		for i := range calls {
			earliest := 0
			for _, ref := range calls[i].References() {
				earliest = max(earliest, level[ref.Label]+1)
			}
			if level[calls[i].Label] != earliest {
				t.Errorf("call %d stands in level %d, want %d", i, level[calls[i].Label], earliest)
			}
			tried++
		}
	}
	if tried < 600 {
		t.Errorf("only %d calls", tried)
	}
}
