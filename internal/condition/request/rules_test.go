package request_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/condition/request"
	"github.com/seatrial/seatrial/internal/task"
)

// TestRules applies every rule that leaves a value out to its example. No earlier rule takes the example from it.
func TestRules(t *testing.T) {
	for _, example := range request.Rules() {
		column, before, after := example[0], example[1], example[2]
		head, rest, _ := strings.Cut(before, "[")
		value, tail, bracketed := strings.Cut(rest, "]")
		if !bracketed {
			t.Errorf("%q has no value in brackets", before)
			continue
		}
		question := head + value + tail
		var asked *request.Task
		if argument, ofTool := strings.CutSuffix(strings.ReplaceAll(column, "-", "_"), "_"); ofTool || argument != column {
			asked = request.Spoken("t", []task.Message{{Role: "user", Content: question}},
				[]request.Said{{Argument: argument, Value: literal(value)}}, nil)
		} else {
			sql := "SELECT name FROM ship JOIN captain USING (captain_id) LIMIT " + value
			if column != "" {
				sql = fmt.Sprintf("SELECT name FROM ship JOIN captain USING (captain_id) WHERE %s = %s", column, quoted(value))
			}
			asked = ask(t, question, "", sql)
		}
		left, by := request.Values(asked)[0].Decided()
		if left != after || by != before {
			t.Errorf("%q leaves %q by the rule of %q, want %q", before, left, by, after)
		}
	}
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

func literal(s string) task.Value {
	if isNumber(s) {
		var n int64
		fmt.Sscan(s, &n)
		return n
	}
	return s
}

func quoted(s string) string {
	if isNumber(s) {
		return s
	}
	return "'" + s + "'"
}
