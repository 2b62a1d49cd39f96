package notebook

import (
	"encoding/json"
	"testing"

	"github.com/seatrial/seatrial/internal/agent/agenttest"
	"github.com/seatrial/seatrial/internal/agent/python"
	"github.com/seatrial/seatrial/internal/task"
)

// TestTablesByLabel: among texts that look like references, only the label of a table stays a reference.
func TestTablesByLabel(t *testing.T) {
	c := New(agenttest.Echo{}, python.Limits{}, &task.View{Starts: []task.Table{{Label: "starting_table"}}})
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
