package out

import (
	"testing"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// TestSentinelsArePlausible: a missing number is not written as a value that the field could have.
func TestSentinelsArePlausible(t *testing.T) {
	for _, c := range []struct {
		field  string
		values []task.Value
		want   task.Value
	}{
		{"crew", []task.Value{task.Integer(4), nil}, task.Integer(-1)},
		{"min_temp_c", []task.Value{task.Real(16.0), nil}, task.Integer(-9999)},
		{"profit", []task.Value{task.Real(-3.5), nil}, task.Integer(-9999)},
		{"profit", []task.Value{task.Integer(-9999), nil}, task.Integer(-99999)},
		{"town", []task.Value{task.Text("Bergen"), nil}, task.Text("N/A")},
	} {
		f := &nullSentinel{Text: "N/A"}
		f.Field = c.field
		p := fault.Payload{Result: &task.Result{Columns: []string{c.field}}, Columns: []task.Column{{Name: c.field}}}
		for _, v := range c.values {
			p.Result.Rows = append(p.Result.Rows, task.Row{v})
		}
		if got := f.sentinel(p); got != c.want {
			t.Errorf("%s %v: a missing value is written as %v, want %v", c.field, c.values, got, c.want)
		}
	}
}
