package database

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/seatrial/seatrial/internal/universe"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// connection is one SQLite connection. It is used by one goroutine at a time. SQLite's own interface is used rather than
// database/sql: the driver turns text in columns that are declared DATE into times, from which the text cannot be had
// back, and it starts a goroutine for every statement that can be cancelled.
type connection struct {
	tls        *libc.TLS
	db         uintptr
	id         uintptr // under which the callbacks find it
	statements map[string]*list.Element
	recent     *list.List // of *statement, the most recent in front
	buffer     uintptr    // C memory for text to bind
	capacity   int

	// What the progress handler looks at while a statement runs.
	ctx      context.Context
	deadline time.Time
	stopped  string
}

type statement struct {
	text    string
	handle  uintptr
	columns []string
}

// maxStatements bounds the prepared statements kept by a connection.
const maxStatements = 4096

// progressOps is how many instructions of SQLite's machine run between two looks at the clock: some 100 µs.
const progressOps = 20_000

var (
	connections   sync.Map // *connection by id
	connectionIDs atomic.Uintptr
)

// openConnection opens a file (or ":memory:") with the given flags of sqlite3_open_v2.
func openConnection(name string, flags int32) (*connection, error) {
	c := &connection{tls: libc.NewTLS(), statements: map[string]*list.Element{}, recent: list.New()}
	c.id = connectionIDs.Add(1)
	text, err := libc.CString(name)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, text)
	at := c.tls.Alloc(8)
	defer c.tls.Free(8)
	rc := sqlite3.Xsqlite3_open_v2(c.tls, text, at, flags|sqlite3.SQLITE_OPEN_NOMUTEX, 0)
	c.db = *(*uintptr)(unsafe.Pointer(at))
	if rc != sqlite3.SQLITE_OK {
		err := c.failure(rc)
		c.close()
		return nil, err
	}
	connections.Store(c.id, c)
	sqlite3.Xsqlite3_progress_handler(c.tls, c.db, progressOps, function(onProgress), c.id)
	return c, nil
}

// function gives a Go function as the C function pointer that the translated library calls. F must be a func type.
func function[F any](f F) uintptr {
	holder := struct{ f F }{f}
	return *(*uintptr)(unsafe.Pointer(&holder))
}

// onProgress stops a statement whose context has ended or whose time is over.
func onProgress(_ *libc.TLS, id uintptr) int32 {
	v, ok := connections.Load(id)
	if !ok {
		return 1
	}
	c := v.(*connection)
	switch {
	case c.ctx != nil && c.ctx.Err() != nil:
		c.stopped = "context"
	case !c.deadline.IsZero() && time.Now().After(c.deadline):
		c.stopped = LimitTime
	default:
		return 0
	}
	return 1
}

// deniedFunctions reach outside the database, or load code.
var deniedFunctions = map[string]bool{
	"load_extension": true, "readfile": true, "writefile": true, "edit": true, "fts3_tokenizer": true, "randomblob": true,
	"random": true, "sqlite_compileoption_get": true, "sqlite_compileoption_used": true, "changes": true, "total_changes": true,
	"last_insert_rowid": true,
}

// onAuthorize allows reading and nothing else. SQLite asks when it prepares a statement.
func onAuthorize(_ *libc.TLS, _ uintptr, action int32, _, second, _, _ uintptr) int32 {
	switch action {
	case sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE:
		return sqlite3.SQLITE_OK
	case sqlite3.SQLITE_FUNCTION:
		if second != 0 && deniedFunctions[lower(libc.GoString(second))] {
			return sqlite3.SQLITE_DENY
		}
		return sqlite3.SQLITE_OK
	default:
		return sqlite3.SQLITE_DENY
	}
}

func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// restrict makes the connection read-only by an allow-list, for good.
func (c *connection) restrict() error {
	if err := c.exec("PRAGMA query_only=1; PRAGMA trusted_schema=0"); err != nil {
		return err
	}
	if rc := sqlite3.Xsqlite3_set_authorizer(c.tls, c.db, function(onAuthorize), 0); rc != sqlite3.SQLITE_OK {
		return c.failure(rc)
	}
	return nil
}

func (c *connection) close() {
	for e := c.recent.Front(); e != nil; e = e.Next() {
		sqlite3.Xsqlite3_finalize(c.tls, e.Value.(*statement).handle)
	}
	if c.db != 0 {
		sqlite3.Xsqlite3_close_v2(c.tls, c.db)
	}
	if c.buffer != 0 {
		libc.Xfree(c.tls, c.buffer)
	}
	connections.Delete(c.id)
	c.tls.Close()
}

func (c *connection) failure(rc int32) error {
	return &QueryError{Code: int(rc), Message: libc.GoString(sqlite3.Xsqlite3_errmsg(c.tls, c.db))}
}

// exec runs a script of statements without parameters and without rows.
func (c *connection) exec(script string) error {
	text, err := libc.CString(script)
	if err != nil {
		return err
	}
	defer libc.Xfree(c.tls, text)
	if rc := sqlite3.Xsqlite3_exec(c.tls, c.db, text, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return c.failure(rc)
	}
	return nil
}

// prepare gives the prepared statement of a text, from the cache where it is there.
func (c *connection) prepare(text string) (*statement, error) {
	if e, ok := c.statements[text]; ok {
		c.recent.MoveToFront(e)
		return e.Value.(*statement), nil
	}
	s, err := c.compile(text)
	if err != nil {
		return nil, err
	}
	c.statements[text] = c.recent.PushFront(s)
	if c.recent.Len() > maxStatements {
		last := c.recent.Back()
		old := c.recent.Remove(last).(*statement)
		delete(c.statements, old.text)
		sqlite3.Xsqlite3_finalize(c.tls, old.handle)
	}
	return s, nil
}

func (c *connection) compile(text string) (*statement, error) {
	source, err := libc.CString(text)
	if err != nil {
		return nil, err
	}
	defer libc.Xfree(c.tls, source)
	at := c.tls.Alloc(16)
	defer c.tls.Free(16)
	rc := sqlite3.Xsqlite3_prepare_v3(c.tls, c.db, source, int32(len(text)+1), 0, at, at+8)
	if rc != sqlite3.SQLITE_OK {
		return nil, c.failure(rc)
	}
	s := &statement{text: text, handle: *(*uintptr)(unsafe.Pointer(at))}
	if s.handle == 0 {
		return nil, &QueryError{Message: "there is no statement"}
	}
	if tail := libc.GoString(*(*uintptr)(unsafe.Pointer(at + 8))); !blank(tail) {
		sqlite3.Xsqlite3_finalize(c.tls, s.handle)
		return nil, &QueryError{Message: "there is more than one statement"}
	}
	n := int(sqlite3.Xsqlite3_column_count(c.tls, s.handle))
	names := make([]string, n)
	for i := range names {
		names[i] = libc.GoString(sqlite3.Xsqlite3_column_name(c.tls, s.handle, int32(i)))
	}
	s.columns = universe.UniqueNames(names)
	return s, nil
}

// blank says whether nothing but white space, semicolons and comments is left.
func blank(tail string) bool {
	for i := 0; i < len(tail); i++ {
		switch tail[i] {
		case ' ', '\t', '\n', '\r', '\f', ';':
		case '-':
			if i+1 >= len(tail) || tail[i+1] != '-' {
				return false
			}
			for i < len(tail) && tail[i] != '\n' {
				i++
			}
		default:
			return false
		}
	}
	return true
}

// query runs a statement under the given limits.
func (c *connection) query(ctx context.Context, text string, args []universe.Value, rows int, limit time.Duration) (*universe.Result, error) {
	s, err := c.prepare(text)
	if err != nil {
		return nil, err
	}
	c.ctx, c.stopped, c.deadline = ctx, "", time.Time{}
	if limit > 0 {
		c.deadline = time.Now().Add(limit)
	}
	defer func() {
		c.ctx = nil
		sqlite3.Xsqlite3_reset(c.tls, s.handle)
		if len(args) > 0 {
			sqlite3.Xsqlite3_clear_bindings(c.tls, s.handle)
		}
	}()
	for i, v := range args {
		if err := c.bind(s.handle, int32(i+1), v); err != nil {
			return nil, err
		}
	}
	r := &universe.Result{Columns: s.columns}
	for {
		switch rc := sqlite3.Xsqlite3_step(c.tls, s.handle); rc {
		case sqlite3.SQLITE_ROW:
			if rows > 0 && len(r.Rows) == rows {
				return nil, &LimitError{Kind: LimitRows, Limit: fmt.Sprintf("%d rows", rows)}
			}
			r.Rows = append(r.Rows, c.row(s))
		case sqlite3.SQLITE_DONE:
			return r, nil
		default:
			switch c.stopped {
			case "context":
				return nil, ctx.Err()
			case LimitTime:
				return nil, &LimitError{Kind: LimitTime, Limit: limit.String()}
			}
			return nil, c.failure(rc)
		}
	}
}

func (c *connection) row(s *statement) universe.Row {
	row := make(universe.Row, len(s.columns))
	for i := range row {
		at := int32(i)
		switch sqlite3.Xsqlite3_column_type(c.tls, s.handle, at) {
		case sqlite3.SQLITE_INTEGER:
			row[i] = int64(sqlite3.Xsqlite3_column_int64(c.tls, s.handle, at))
		case sqlite3.SQLITE_FLOAT:
			row[i] = sqlite3.Xsqlite3_column_double(c.tls, s.handle, at)
		case sqlite3.SQLITE_TEXT:
			p := sqlite3.Xsqlite3_column_text(c.tls, s.handle, at)
			row[i] = string(memory(p, int(sqlite3.Xsqlite3_column_bytes(c.tls, s.handle, at))))
		case sqlite3.SQLITE_BLOB:
			p := sqlite3.Xsqlite3_column_blob(c.tls, s.handle, at)
			row[i] = universe.Blob(append([]byte(nil), memory(p, int(sqlite3.Xsqlite3_column_bytes(c.tls, s.handle, at)))...))
		}
	}
	return row
}

// memory gives n bytes of C memory as a slice that is valid until the next call of SQLite.
func memory(p uintptr, n int) []byte {
	if n == 0 || p == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), n)
}

// transient tells SQLite to copy what is bound.
const transient = ^uintptr(0)

func (c *connection) bind(handle uintptr, at int32, v universe.Value) error {
	var rc int32
	switch v := v.(type) {
	case nil:
		rc = sqlite3.Xsqlite3_bind_null(c.tls, handle, at)
	case int64:
		rc = sqlite3.Xsqlite3_bind_int64(c.tls, handle, at, v)
	case float64:
		rc = sqlite3.Xsqlite3_bind_double(c.tls, handle, at, v)
	case string:
		copy(c.reserve(len(v)), v)
		rc = sqlite3.Xsqlite3_bind_text(c.tls, handle, at, c.buffer, int32(len(v)), transient)
	case universe.Blob:
		copy(c.reserve(len(v)), v)
		rc = sqlite3.Xsqlite3_bind_blob(c.tls, handle, at, c.buffer, int32(len(v)), transient)
	default:
		return fmt.Errorf("argument %d: %T is not a SQLite value", at, v)
	}
	if rc != sqlite3.SQLITE_OK {
		return c.failure(rc)
	}
	return nil
}

// reserve gives C memory of at least n bytes, and at least one: SQLite takes a null pointer for NULL.
func (c *connection) reserve(n int) []byte {
	n = max(n, 1)
	if n > c.capacity {
		if c.buffer != 0 {
			libc.Xfree(c.tls, c.buffer)
		}
		c.capacity = max(2*n, 4096)
		c.buffer = libc.Xmalloc(c.tls, libc.Tsize_t(c.capacity))
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(c.buffer)), n)
}
