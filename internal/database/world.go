// Package database runs statements on databases, read-only and within limits, and makes databases: copies with shuffled
// rows, and neighbours that share a schema but no rows. It must never know what a statement is for.
package database

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/seatrial/seatrial/internal/universe"
	sqlite3 "modernc.org/sqlite/lib"
)

// Kinds of limits.
const (
	LimitRows = "rows"
	LimitTime = "time"
)

// LimitError says that a statement ran into a limit. A time limit says nothing about the statement's meaning.
type LimitError struct {
	Kind  string // LimitRows or LimitTime
	Limit string // in words
}

func (e *LimitError) Error() string {
	if e.Kind == LimitRows {
		return "the result has more than " + e.Limit
	}
	return "the statement ran into its time limit of " + e.Limit
}

// QueryError is SQLite's refusal of a statement.
type QueryError struct {
	Code    int // SQLite's result code, 0 where the refusal is this package's
	Message string
}

func (e *QueryError) Error() string { return e.Message }

// Options limit a world.
type Options struct {
	Conns   int           // connections at the most; 0 means the number of processors
	Timeout time.Duration // of one statement; 0 means no limit
	Rows    int           // of one result; 0 means no limit
}

// World is a database at work. It is safe for concurrent use.
type World struct {
	options Options
	file    string // "" in memory
	uri     string // of the file
	pool    chan *connection
	open    func() (*connection, error)

	mu     sync.Mutex
	opened int
	closed bool
	values map[string][]string
}

// Open opens a file read-only, as a database that nobody changes while it is open. A file that is no SQLite database is a
// [*QueryError]; one that is not there an error of package fs.
func Open(path string, options Options) (*World, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	name := (&url.URL{Scheme: "file", Path: filepath.ToSlash(absolute), RawQuery: "mode=ro&immutable=1"}).String()
	w := newWorld(options)
	w.file, w.uri = path, name
	w.open = func() (*connection, error) {
		c, err := openConnection(name, sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_URI)
		if err != nil {
			return nil, err
		}
		// Without all three the pager slows down under concurrency.
		err = c.exec("PRAGMA mmap_size=268435456; PRAGMA cache_size=-64000; PRAGMA temp_store=2")
		if err == nil {
			err = c.exec("SELECT count(*) FROM sqlite_schema")
		}
		if err == nil {
			err = c.restrict()
		}
		if err != nil {
			c.close()
			return nil, err
		}
		return c, nil
	}
	c, err := w.take(context.Background())
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	w.give(c)
	return w, nil
}

func newWorld(options Options) *World {
	if options.Conns == 0 {
		options.Conns = runtime.GOMAXPROCS(0)
	}
	return &World{options: options, pool: make(chan *connection, options.Conns), values: map[string][]string{}}
}

// take gives a connection to one goroutine, and waits for one where all are in use.
func (w *World) take(ctx context.Context) (*connection, error) {
	select {
	case c := <-w.pool:
		return c, nil
	default:
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil, fmt.Errorf("the database is closed")
	}
	if w.open != nil && w.opened < w.options.Conns {
		w.opened++
		w.mu.Unlock()
		c, err := w.open()
		if err != nil {
			w.mu.Lock()
			w.opened--
			w.mu.Unlock()
		}
		return c, err
	}
	w.mu.Unlock()
	select {
	case c := <-w.pool:
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *World) give(c *connection) {
	w.mu.Lock()
	closed := w.closed
	if !closed {
		w.pool <- c // has room for every connection
	}
	w.mu.Unlock()
	if closed {
		c.close()
	}
}

// Close closes the connections that are not in use, and the others when they come back.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	for {
		select {
		case c := <-w.pool:
			c.close()
		default:
			return nil
		}
	}
}

// Query runs one statement; the i-th argument is bound to ?i. Columns are named as SQLite names them, made unique. Errors
// are [*LimitError], [*QueryError], the context's, or Seatrial's own.
func (w *World) Query(ctx context.Context, statement string, args []universe.Value) (*universe.Result, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := w.take(ctx)
	if err != nil {
		return nil, err
	}
	defer w.give(c)
	return c.query(ctx, statement, args, w.options.Rows, w.options.Timeout)
}

// TextValues lists the different texts of a column, sorted. A column that does not exist has none.
func (w *World) TextValues(ctx context.Context, table, column string) ([]string, error) {
	key := table + "\x00" + column
	w.mu.Lock()
	list, known := w.values[key]
	w.mu.Unlock()
	if known {
		return list, nil
	}
	values, err := w.Values(ctx, table, column, 0)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	sort.Strings(list)
	w.mu.Lock()
	w.values[key] = list
	w.mu.Unlock()
	return list, nil
}

// Values lists different values of a column that are not NULL, in SQLite's order, at most limit of them (0: all).
func (w *World) Values(ctx context.Context, table, column string, limit int) ([]universe.Value, error) {
	statement := fmt.Sprintf("SELECT DISTINCT %s FROM %s WHERE %[1]s IS NOT NULL ORDER BY 1", quote(column), quote(table))
	if limit > 0 {
		statement += fmt.Sprintf(" LIMIT %d", limit)
	}
	r, err := w.Query(ctx, statement, nil)
	if err != nil {
		return nil, fmt.Errorf("values of %s.%s: %w", table, column, err)
	}
	values := make([]universe.Value, len(r.Rows))
	for i, row := range r.Rows {
		values[i] = row[0]
	}
	return values, nil
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
