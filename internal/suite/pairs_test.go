package suite

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/universe"
)

// under makes conditions of texts NAME or NAME=PARAMETERS.
func under(texts ...string) []condition.Condition {
	var list []condition.Condition
	for _, text := range texts {
		name, parameters, _ := strings.Cut(text, "=")
		c := condition.Condition{Name: name}
		if parameters != "" {
			c.Parameters = json.RawMessage(parameters)
		}
		list = append(list, c)
	}
	return list
}

func TestPairs(t *testing.T) {
	clean, hopeless := condition.RoleClean, condition.RoleHopeless
	s := &Suite{Instances: []*Instance{
		{ID: "1/clean", Task: "1", Role: clean},
		{ID: "1/less", Task: "1", Role: hopeless, Conditions: under(`few={"tool":"a"}`)},
		{ID: "1/size", Task: "1", Role: clean, Conditions: under(`size={"n":3}`)},
		{ID: "1/control", Task: "1", Role: clean, Conditions: under(`few={"tool":"a","variant":"control"}`)},
		{ID: "1/harmless", Task: "1", Role: condition.RoleLookalike, Conditions: under("few")},
		{ID: "1/silent", Task: "1", Role: hopeless, Conditions: under(`silent={"argument":"x"}`)},
		{ID: "1/silent3", Task: "1", Role: hopeless, Conditions: under(`size={"n":3}`, `silent={"argument":"x"}`)},
		{ID: "1/silent4", Task: "1", Role: hopeless, Conditions: under(`size={"n":4}`, `silent={"argument":"x"}`)},
		{ID: "2/size", Task: "2", Role: clean, Conditions: under(`size={"n":3}`)},
		{ID: "2/silent", Task: "2", Role: hopeless, Conditions: under(`silent={"argument":"x"}`)},
		{ID: "3/bare", Task: "3", Role: hopeless},
	}}
	want := map[string]string{
		"1/less": "1/control", "1/silent": "1/clean", "1/silent3": "1/size", "1/silent4": "1/clean",
	}
	pairs, alone := s.Pairs()
	for _, p := range pairs {
		if want[p.Incomplete.ID] != p.Complete.ID {
			t.Errorf("%s is scored with %s, want %s", p.Incomplete.ID, p.Complete.ID, want[p.Incomplete.ID])
		}
		delete(want, p.Incomplete.ID)
	}
	if len(want) > 0 {
		t.Errorf("without a complete instance: %v", want)
	}
	var ids []string
	for _, in := range alone {
		ids = append(ids, in.ID)
	}
	if !slices.Equal(ids, []string{"2/silent", "3/bare"}) {
		t.Errorf("alone are %v", ids)
	}
}

func TestLacking(t *testing.T) {
	task := &universe.Task{
		ID: "1", Style: universe.StyleFunc, Database: "a",
		Messages: []universe.Message{{Role: "user", Content: "How many beds of roses are there in Rose Lane, and who has 12?"}},
		Literals: []universe.Literal{
			{Value: "Rose Lane", Argument: "street"}, {Value: int64(12), Argument: "count"}, {Value: "red", Argument: "colour"},
			{Value: "rose", Argument: "flower", Start: 17, End: 22},
		},
		Plans: []universe.Plan{
			{Calls: []universe.Call{{Tool: "whole"}}}, {Calls: []universe.Call{{Tool: "part"}, {Tool: "whole"}, {Tool: "rest"}}},
		},
	}
	s := &Suite{Tasks: []*universe.Task{task}, Tools: map[string][]*universe.Tool{universe.StyleFunc: nil}}
	for _, name := range []string{"other", "part", "rest", "whole"} {
		s.Tools[universe.StyleFunc] = append(s.Tools[universe.StyleFunc], &universe.Tool{Name: name, Database: "a"})
	}
	for _, test := range []struct {
		kit     []string
		request string
		tools   string
		details string
	}{
		{nil, task.Question(), "", ""},
		{[]string{"other", "rest"}, task.Question(), "whole part", ""},
		{nil, "How many beds of roses are there in a certain street, and who has 12?", "", "street"},
		{nil, "How many beds of roses are there in Rose Lane, and who has 120?", "", "count"},
		{[]string{"part", "rest"}, "How many beds are there in ROSE LANE, and who has 12?", "whole", "flower"},
	} {
		shown := *task
		shown.Messages = []universe.Message{{Role: "user", Content: test.request}}
		tools, details, err := s.Lacking(&Instance{Task: "1", Toolkit: test.kit}, &shown)
		if err != nil {
			t.Fatal(err)
		}
		var names, arguments []string
		for _, tool := range tools {
			names = append(names, tool.Name)
		}
		for _, l := range details {
			arguments = append(arguments, l.Argument)
		}
		if got := strings.Join(names, " "); got != test.tools {
			t.Errorf("%v, %q: lacks the tools %q, want %q", test.kit, test.request, got, test.tools)
		}
		if got := strings.Join(arguments, " "); got != test.details {
			t.Errorf("%v, %q: lacks the details %q, want %q", test.kit, test.request, got, test.details)
		}
	}
	if _, _, err := s.Lacking(&Instance{Task: "2"}, task); err == nil {
		t.Error("an unknown task lacks nothing")
	}
}
