package conflict

import (
	"testing"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// onePlan is a placement of a task whose only call lists records.
func onePlan(columns []task.Column, row task.Row, arguments map[string]any, bindings ...task.Binding) *fault.Placement {
	tool := &task.Tool{Name: "list", Body: &task.Body{Engine: task.EngineSQLite, Columns: columns, Bindings: bindings}}
	plan := &task.Plan{Kind: "direct", Answer: "call_1", Calls: []task.Call{
		{Label: "call_1", Tool: "list", Arguments: arguments},
	}}
	return &fault.Placement{
		PlaceInput: fault.PlaceInput{Task: &task.Task{ID: "t", Plans: []task.Plan{*plan}}, Plan: plan, Tools: []*task.Tool{tool}},
		Taken:      map[string]bool{}, Gold: &task.Gold{Columns: columns, Rows: []task.Row{row, row}},
	}
}

// TestPastStays: a source of 2025 knows who was hired in 2016, and what happened in 2014.
func TestPastStays(t *testing.T) {
	name := []task.Column{{Name: "name", Type: task.TypeText}}
	hired := append(name[:1:1], task.Column{Name: "hired_on", Type: task.TypeText})
	counted := []task.Column{{Name: "count", Type: task.TypeInteger}}
	year := task.Binding{Argument: "a", Column: "year", Role: task.RoleEqual}
	for _, test := range []struct {
		what      string
		columns   []task.Column
		row       task.Row
		arguments map[string]any
		binding   task.Binding
		want      string
	}{
		{"names", name, task.Row{task.Text("Ada")}, map[string]any{"a": "Oslo"}, task.Binding{Argument: "a"}, ""},
		{"dates of records", hired, task.Row{task.Text("Ada"), task.Text("2016-03-21")}, nil, task.Binding{}, fault.ReasonNoColumn},
		{"months of records", hired, task.Row{task.Text("Ada"), task.Text("2014-03")}, nil, task.Binding{}, fault.ReasonNoColumn},
		{"a number with a dash", hired, task.Row{task.Text("Ada"), task.Text("2014-33")}, nil, task.Binding{}, ""},
		{"a bound", name, task.Row{task.Text("Ada")}, map[string]any{"a": "1930-01-01"}, task.Binding{Argument: "a"},
			fault.ReasonNoColumn},
		{"a year", counted, task.Row{task.Integer(29)}, map[string]any{"a": int64(1980)}, year, fault.ReasonNoColumn},
		{"a weight", counted, task.Row{task.Integer(29)}, map[string]any{"a": int64(1980)},
			task.Binding{Argument: "a", Column: "weight", Role: task.RoleEqual}, ""},
	} {
		f := &stale{}
		if got := f.Place(onePlan(test.columns, test.row, test.arguments, test.binding)); got != test.want {
			t.Errorf("%s: %q, want %q", test.what, got, test.want)
		}
	}
}

// TestAgesGrowTogether: of one state, the average and the highest age are both a year less.
func TestAgesGrowTogether(t *testing.T) {
	columns := []task.Column{
		{Name: "avg(age)", Type: task.TypeNumber}, {Name: "max(age)", Type: task.TypeInteger},
		{Name: "count(*)", Type: task.TypeInteger},
	}
	f := &stale{conflict: conflict{Change: change{Column: 1, Less: 5}}}
	got, changed := f.older(fault.Payload{
		Columns: columns, Result: &task.Result{
			Columns: []string{"avg(age)", "max(age)", "count(*)"}, Rows: []task.Row{{task.Real(34.5), task.Integer(43), task.Integer(4)}},
		},
	})
	row := got.Result.Rows[0]
	if changed != 2 || row[0] != task.Real(33.5) || row[1] != task.Integer(42) || row[2] != task.Integer(4) {
		t.Errorf("%d changed: %v", changed, row)
	}
}

// TestNoContradiction: an older state has no average that its sum and count refute, and no age below the bound on ages.
func TestNoContradiction(t *testing.T) {
	computed := func(names ...string) (list []task.Column) {
		for _, name := range names {
			list = append(list, task.Column{Name: name, Type: task.TypeNumber, Computed: true})
		}
		return list
	}
	for _, test := range []struct {
		what      string
		columns   []task.Column
		arguments map[string]any
		binding   task.Binding
		changes   bool
	}{
		{"averages alone", computed("avg(age)", "count(*)"), nil, task.Binding{}, true},
		{"an average, a sum and a count", computed("avg(age)", "sum(age)", "count(*)"), nil, task.Binding{}, false},
		{"words for them", computed("average_price", "total_price"), nil, task.Binding{}, false},
		{"a bound on the ages of an average", computed("avg(age)"), map[string]any{"a": int64(20)},
			task.Binding{Argument: "a", Table: "t", Column: "age", Role: task.RoleCompare}, false},
		{"a bound of another tool", computed("min(age)"), map[string]any{"key_name": "age", "value": int64(20)},
			task.Binding{}, false},
		{"a bound on something else", computed("avg(age)"), map[string]any{"a": int64(20)},
			task.Binding{Argument: "a", Table: "t", Column: "weight", Role: task.RoleCompare}, true},
	} {
		row := make(task.Row, len(test.columns))
		for i := range row {
			row[i] = task.Real(30.5)
		}
		f := &stale{}
		if reason := f.Place(onePlan(test.columns, row, test.arguments, test.binding)); reason == "" && f.Change.Column >= 0 !=
			test.changes {
			t.Errorf("%s: column %d changes, want %v", test.what, f.Change.Column, test.changes)
		} else if reason != "" && test.changes {
			t.Errorf("%s: %s", test.what, reason)
		}
	}
}
