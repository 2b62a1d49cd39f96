package compile

import (
	"fmt"
	"strconv"

	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/sqlc-dev/meyer/ast"
)

// hole is a place in a statement that an argument fills.
type hole struct {
	binding  task.Binding
	argument argumentOf
	node     ast.Node
}

// argumentOf is the argument of one call: a value, or the result of an earlier call.
type argumentOf struct {
	value  task.Value
	source int // index of the call whose result is the argument; -1 for a value
}

// json returns the argument as a plan writes it.
func (a argumentOf) json() any {
	if a.source >= 0 {
		return task.Reference{Label: label(a.source)}.String()
	}
	if s, ok := a.value.(string); ok {
		return task.EscapeText(s)
	}
	return a.value
}

// label names the i-th call of a plan, counted from 0.
func label(i int) string { return fmt.Sprintf("call_%d", i+1) }

// markOf marks the n-th hole in a text until its argument has a number or a name.
func markOf(n int) string {
	return string(rune(sqlast.MarkOpen)) + strconv.Itoa(n) + string(rune(sqlast.MarkClose))
}
