// Package witness says what a query depends on: rows that make it speak and rows that it must just miss, the statements
// one change away from it, and whether its result depends on the order in which SQLite visits rows. It reads the
// query's tree and the schema's keys, and asks a given database where the tree alone does not decide. It must never
// know why anybody asks, where databases come from, or what is done with a mutant that nothing tells apart.
package witness

import (
	"context"

	"github.com/seatrial/seatrial/internal/task"
)

// Querier runs one read-only statement on one database; the i-th argument is the placeholder ?i. Its errors are passed
// on as they are.
type Querier interface {
	Query(ctx context.Context, statement string, args []task.Value) (*task.Result, error)
}
