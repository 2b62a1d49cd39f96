package instances

import (
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

// TestToldListsAnyValue: listed values of a corpus may be lists and objects, which no result of a query can be.
func TestToldListsAnyValue(t *testing.T) {
	schema := &task.Schema{Enum: []any{"red", int64(7), nil, []any{"a"}, map[string]any{"b": int64(1)}}}
	tools := []*task.Tool{{Name: "paint", Parameters: &task.Schema{
		Properties: []task.Property{{Name: "colour", Schema: schema}},
	}}}
	if text := told(tools); !strings.Contains(text, `["a"]`) || !strings.Contains(text, `{"b":1}`) {
		t.Errorf("%q lacks a listed value", text)
	}
}
