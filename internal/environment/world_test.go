package environment_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	_ "modernc.org/sqlite" // the driver of the worlds under test

	"github.com/seatrial/seatrial/internal/universe"
)

// memoryWorld is a world in memory, with nothing of the real one but SQLite itself.
type memoryWorld struct {
	db *sql.DB
}

// openWorld makes a world from a script.
func openWorld(tb testing.TB, script string) *memoryWorld {
	tb.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1) // every connection to :memory: is a database of its own
	tb.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec(script); err != nil {
		tb.Fatalf("world: %v", err)
	}
	return &memoryWorld{db: db}
}

func (w *memoryWorld) Query(ctx context.Context, statement string, args []universe.Value) (*universe.Result, error) {
	list := make([]any, len(args))
	for i, a := range args {
		if b, ok := a.(universe.Blob); ok {
			a = []byte(b)
		}
		list[i] = a
	}
	rows, err := w.db.QueryContext(ctx, statement, list...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	r := &universe.Result{Columns: columns}
	for rows.Next() {
		row := make(universe.Row, len(columns))
		into := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for i, v := range row {
			if b, ok := v.([]byte); ok {
				row[i] = universe.Blob(b)
			}
		}
		r.Rows = append(r.Rows, row)
	}
	return r, rows.Err()
}

func (w *memoryWorld) TextValues(ctx context.Context, table, column string) ([]string, error) {
	r, err := w.Query(ctx, fmt.Sprintf(
		`SELECT DISTINCT %[2]q FROM %[1]q WHERE typeof(%[2]q) = 'text' ORDER BY 1`, table, column), nil)
	if err != nil {
		return nil, err
	}
	values := make([]string, len(r.Rows))
	for i, row := range r.Rows {
		values[i] = row[0].(string)
	}
	return values, nil
}
