package parameter

import (
	"cmp"
	"slices"

	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/sqlc-dev/meyer/ast"
)

// Given is a literal of a query that becomes a parameter: a value that the user has to state.
type Given struct {
	Value  task.Value // as the column that it is compared with takes it; of a pattern without inner wildcards, its core
	Role   string     // one of task.Role…
	Table  string     // of the column that it is compared with, "" where that is not a plain column
	Column string
	Node   ast.Expr // the literal
	Other  ast.Expr // what it is compared with, nil where there is nothing
}

// Givens lists the literals of a query that become parameters, in the order in which they are written. Which do is
// decided by their use.
func Givens(q *sqlast.Query) []Given {
	var list []Given
	for _, p := range Of(q, q.Stmt) {
		list = append(list, Given{
			Value: p.Value, Role: p.Binding.Role, Table: p.Binding.Table, Column: p.Binding.Column, Node: p.Node, Other: p.Other,
		})
	}
	slices.SortFunc(list, func(a, b Given) int { return cmp.Compare(a.Node.Pos(), b.Node.Pos()) })
	return list
}
