package twin

import (
	"slices"
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

func shelved(name, description string, required ...string) *task.Tool {
	t := &task.Tool{Name: name, Description: description, Parameters: &task.Schema{Types: []string{"object"},
		Required: required}}
	for _, p := range required {
		t.Parameters.Properties = append(t.Parameters.Properties, task.Property{Name: p,
			Schema: &task.Schema{Types: []string{"string"}}})
	}
	return t
}

// TestShelf replaces and adds tools of a small shelf. A tool with the name, the arguments, the subject or nearly the
// words of a needed tool never replaces it; the most similar of the others does.
func TestShelf(t *testing.T) {
	needed := shelved("harbour.tide_level", "Gets the level of the tide in a harbour at an hour.", "harbour", "hour")
	tools := []*task.Tool{
		needed,
		shelved("harbour_tide_level", "Something of the same name.", "x"),
		shelved("get_sea", "Takes the same arguments.", "harbour", "hour"),
		shelved("tide_level_forecast", "Gets the level of the tide in a harbour on a day.", "place", "day"),
		shelved("berth_price", "Gets the price of a berth in a harbour at an hour.", "berth"),
		shelved("harbour_pilot", "Calls a pilot to a harbour.", "boat"),
		shelved("bake_bread", "Bakes a loaf.", "flour"),
		shelved("paint_fence", "Paints all planks.", "colour"),
	}
	s, err := NewShelf(t.Context(), Lexical, tools)
	if err != nil {
		t.Fatal(err)
	}
	needs := []Need{{Tool: needed, Arguments: []string{"harbour", "hour"}}}
	made, refusal := s.Substitute(tools[:1], needs)
	if refusal != nil || made.Replaced[0].By != "berth_price" || !slices.Equal(made.Toolkit, []string{"berth_price"}) {
		t.Errorf("%+v, %v, want berth_price", made, refusal)
	}
	if _, refusal := s.Substitute([]*task.Tool{needed, tools[3]}, needs); refusal == nil ||
		refusal.Reason != reasonOtherServes {
		t.Errorf("a tool about the same thing may stay: %v", refusal)
	}
	if _, refusal := s.Substitute(tools[:1], nil); refusal == nil || refusal.Reason != ReasonNothingNeeded {
		t.Errorf("nothing is needed: %v", refusal)
	}
	order := func(name string) string { return name }
	for _, test := range []struct {
		far  bool
		n    int
		want []string
	}{{false, 2, []string{"berth_price", "harbour_pilot"}}, {true, 2, []string{"bake_bread", "harbour_pilot"}},
		{false, 9, nil}} {
		added, refusal := s.Beside(tools[:1], needs, test.n, test.far, order)
		var names []string
		for _, r := range added {
			names = append(names, r.Tool.Name)
		}
		if !slices.Equal(names, test.want) || (refusal == nil) != (test.want != nil) {
			t.Errorf("far %t: %v, %v, want %v", test.far, names, refusal, test.want)
		}
	}
}
