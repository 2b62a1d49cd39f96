package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

// actor is what this package's agents are.
type actor interface {
	Next(ctx context.Context, view *task.View, seen []task.Observation) (task.Turn, error)
}

// harbour is a small environment: tools are functions, labels stand for results, references are put in before a tool
// runs.
type harbour struct {
	tools   map[string]func(arguments map[string]any) ([]map[string]any, *task.ToolError)
	results map[string][]map[string]any
	calls   int
	ended   bool

	answer   any  // what the agent answered, references replaced
	dangling bool // the answer refers to no result
	lenient  bool
	declined string
	turns    []task.Turn
}

func newHarbour() *harbour {
	h := &harbour{results: map[string][]map[string]any{}}
	h.tools = map[string]func(map[string]any) ([]map[string]any, *task.ToolError){
		"function_1": func(a map[string]any) ([]map[string]any, *task.ToolError) {
			if a["city"] == "Atlantis" {
				return nil, &task.ToolError{Code: "server_error", Message: "the service is down"}
			}
			return []map[string]any{{"id": int64(1), "city": a["city"]}, {"id": int64(2), "city": a["city"]}}, nil
		},
		"function_2": func(a map[string]any) ([]map[string]any, *task.ToolError) {
			owners, ok := a["owners"].([]any)
			if !ok {
				return nil, &task.ToolError{Code: task.CodeWrongType, Message: "owners must be a list"}
			}
			return []map[string]any{{"count": int64(len(owners))}}, nil
		},
		"query_database": func(a map[string]any) ([]map[string]any, *task.ToolError) {
			if a["sql"] != "SELECT id FROM home" {
				return nil, &task.ToolError{Code: task.CodeBadArguments, Message: "no such table"}
			}
			return []map[string]any{{"id": int64(7)}}, nil
		},
		"get_all": func(map[string]any) ([]map[string]any, *task.ToolError) {
			return []map[string]any{{"id": int64(7)}}, nil
		},
	}
	return h
}

// value puts results in the place of references.
func (h *harbour) value(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		r, ok := task.ParseReference(v)
		if !ok {
			return task.UnescapeText(v), true
		}
		rows, ok := h.results[r.Label]
		if !ok {
			return nil, false
		}
		var list []any
		for _, row := range rows {
			if r.Column == "" {
				list = append(list, row)
				continue
			}
			list = append(list, row[r.Column])
		}
		return list, true
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			given, ok := h.value(e)
			if !ok {
				return nil, false
			}
			out[k] = given
		}
		return out, true
	default:
		return v, true
	}
}

func (h *harbour) step(t testing.TB, actions []task.Action) []task.Observation {
	t.Helper()
	var seen []task.Observation
	for i := range actions {
		a := &actions[i]
		o := task.Observation{Tool: a.Tool, Label: a.Label}
		fail := func(code, format string, args ...any) {
			o.Error = &task.ToolError{Code: code, Message: fmt.Sprintf(format, args...)}
		}
		switch {
		case h.ended:
			fail(task.CodeEnded, "the episode has ended")
		case a.Kind == task.ActionAnswer:
			v, err := task.DecodeValue(a.Answer)
			if err != nil {
				t.Fatalf("answer %s: %v", a.Answer, err)
			}
			var ok bool
			h.answer, ok = h.value(v)
			h.dangling, h.lenient, h.ended, o.Done = !ok, a.Lenient, true, true
		case a.Kind == task.ActionDecline:
			h.declined, h.ended, o.Done = a.Text, true, true
		default:
			h.calls++
			if o.Label == "" {
				o.Label = fmt.Sprintf("call_%d", h.calls)
			}
			arguments, err := task.DecodeValue(a.Arguments)
			if err != nil {
				t.Fatalf("arguments %s: %v", a.Arguments, err)
			}
			given, isObject := arguments.(map[string]any)
			tool := h.tools[a.Tool]
			switch {
			case tool == nil:
				fail(task.CodeUnknownTool, "there is no tool %q", a.Tool)
			case !isObject:
				fail(task.CodeBadArguments, "the arguments must be an object")
			case h.results[o.Label] != nil:
				fail(task.CodeDuplicateLabel, "label %q is taken", o.Label)
			default:
				resolved, ok := h.value(given)
				if !ok {
					fail(task.CodeBadReference, "no such result")
					break
				}
				rows, toolError := tool(resolved.(map[string]any))
				if o.Error = toolError; toolError == nil {
					h.results[o.Label] = rows
					o.Content, _ = json.Marshal(rows)
				}
			}
		}
		seen = append(seen, o)
	}
	return seen
}

// play runs an agent to the end of its episode, at most 50 turns.
func (h *harbour) play(t testing.TB, a actor, view *task.View) error {
	t.Helper()
	var seen []task.Observation
	for range 50 {
		turn, err := a.Next(t.Context(), view, seen)
		if err != nil {
			return err
		}
		if turn.Stop && len(turn.Actions) > 0 {
			t.Errorf("turn %d stops and acts", len(h.turns)+1)
		}
		h.turns = append(h.turns, turn)
		seen = h.step(t, turn.Actions)
		if h.ended || turn.Stop {
			return nil
		}
	}
	t.Fatal("the episode does not end")
	return nil
}

// sizes gives the number of actions of each turn.
func (h *harbour) sizes() []int {
	var sizes []int
	for i := range h.turns {
		sizes = append(sizes, len(h.turns[i].Actions))
	}
	return sizes
}
