// Package instancestest makes what tests of instances start from. It must never be imported outside tests.
package instancestest

import (
	"fmt"
	"testing"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// Suite makes a suite of two databases with ten and four tools, a task for every second tool, and clean instances.
func Suite() *suite.Suite {
	s := &suite.Suite{Tools: map[string][]*task.Tool{}}
	for _, d := range []struct {
		name string
		n    int
	}{{"a", 10}, {"b", 4}} {
		for i := range d.n {
			name := fmt.Sprintf("%s_%d", d.name, i)
			s.Tools[task.StyleRest] = append(s.Tools[task.StyleRest], &task.Tool{
				Name: name, Style: task.StyleRest, Database: d.name,
			})
			if i%2 == 1 {
				continue
			}
			t := &task.Task{
				ID: "task." + name, Corpus: "c", Database: d.name, Style: task.StyleRest,
				Plans: []task.Plan{{Kind: task.PlanDirect, Workflow: task.WorkflowSingle,
					Calls: []task.Call{{Label: "x", Tool: name}}}},
			}
			s.Tasks = append(s.Tasks, t)
			s.Instances = append(s.Instances, &suite.Instance{
				ID: t.ID + "/clean", Task: t.ID, Role: condition.RoleClean, Conditions: []condition.Condition{},
				Primary: task.PlanDirect, Workflow: task.WorkflowSingle, Seed: 7,
			})
		}
	}
	return s
}

// Combinations parses combinations of conditions.
func Combinations(tb testing.TB, texts ...string) [][]condition.Condition {
	tb.Helper()
	list, err := condition.ParseCombinations(texts)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}
