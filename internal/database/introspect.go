package database

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/seatrial/seatrial/internal/schema"
	"github.com/seatrial/seatrial/internal/universe"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Schema reads the tables and views of a file, with their columns and keys. Foreign keys whose target does not exist are
// left out. It uses a connection of its own, because what describes a schema is forbidden to the others.
func (w *World) Schema(ctx context.Context) (*schema.Database, error) {
	if w.file == "" {
		return nil, fmt.Errorf("only a file's schema can be read")
	}
	c, err := w.openPlain()
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", w.file, err)
	}
	defer c.close()
	d, err := readSchema(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", w.file, err)
	}
	return d, nil
}

// openPlain opens the file again without the authorizer.
func (w *World) openPlain() (*connection, error) {
	return openConnection(w.uri, sqlite3.SQLITE_OPEN_READONLY|sqlite3.SQLITE_OPEN_URI)
}

func readSchema(ctx context.Context, c *connection) (*schema.Database, error) {
	d := &schema.Database{}
	list, err := c.query(ctx, `SELECT name, type, sql FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY rowid`, nil, 0, 0)
	if err != nil {
		return nil, err
	}
	for _, row := range list.Rows {
		t := schema.Table{Name: row[0].(string), View: row[1] == "view"}
		if t.View {
			t.Definition, _ = row[2].(string)
		}
		if err := readTable(ctx, c, &t); err != nil {
			if t.View {
				continue // a view of something that is gone
			}
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		d.Tables = append(d.Tables, t)
	}
	for i := range d.Tables {
		if err := readForeignKeys(ctx, c, d, &d.Tables[i]); err != nil {
			return nil, fmt.Errorf("foreign keys of %s: %w", d.Tables[i].Name, err)
		}
	}
	return d, nil
}

func readTable(ctx context.Context, c *connection, t *schema.Table) error {
	info, err := c.query(ctx, `SELECT name, type, "notnull", pk FROM pragma_table_info(?1) ORDER BY cid`, []universe.Value{t.Name}, 0, 0)
	if err != nil {
		return err
	}
	key := map[int64]int{}
	for i, row := range info.Rows {
		declared, _ := row[1].(string)
		column := schema.Column{
			Name: row[0].(string), Declared: declared, Affinity: schema.AffinityOf(declared), NotNull: row[2] == int64(1),
			Collation: "BINARY",
		}
		if !t.View {
			column.Collation = c.collation(t.Name, column.Name)
		}
		if pk := row[3].(int64); pk > 0 {
			key[pk] = i
		}
		t.Columns = append(t.Columns, column)
	}
	for n := int64(1); n <= int64(len(key)); n++ {
		t.PrimaryKey = append(t.PrimaryKey, key[n])
	}
	return readUnique(ctx, c, t)
}

// collation asks SQLite for a column's collating sequence.
func (c *connection) collation(table, column string) string {
	tab, err := libc.CString(table)
	if err != nil {
		return "BINARY"
	}
	defer libc.Xfree(c.tls, tab)
	col, err := libc.CString(column)
	if err != nil {
		return "BINARY"
	}
	defer libc.Xfree(c.tls, col)
	at := c.tls.Alloc(8)
	defer c.tls.Free(8)
	if rc := sqlite3.Xsqlite3_table_column_metadata(c.tls, c.db, 0, tab, col, 0, at, 0, 0, 0); rc != sqlite3.SQLITE_OK {
		return "BINARY"
	}
	name := libc.GoString(*(*uintptr)(unsafe.Pointer(at)))
	if name == "" {
		return "BINARY"
	}
	return strings.ToUpper(name)
}

func readUnique(ctx context.Context, c *connection, t *schema.Table) error {
	indexes, err := c.query(ctx, `SELECT name, partial, origin FROM pragma_index_list(?1) WHERE "unique" ORDER BY name`, []universe.Value{t.Name}, 0, 0)
	if err != nil {
		return err
	}
	for _, row := range indexes.Rows {
		if row[1] != int64(0) || row[2] == "pk" {
			continue
		}
		columns, err := c.query(ctx, `SELECT cid FROM pragma_index_info(?1) ORDER BY seqno`, []universe.Value{row[0]}, 0, 0)
		if err != nil {
			return err
		}
		var unique []int
		for _, column := range columns.Rows {
			unique = append(unique, int(column[0].(int64)))
		}
		if len(unique) > 0 && !slices.Contains(unique, -2) && !slices.Equal(unique, t.PrimaryKey) {
			t.Unique = append(t.Unique, unique)
		}
	}
	return nil
}

func readForeignKeys(ctx context.Context, c *connection, d *schema.Database, t *schema.Table) error {
	list, err := c.query(ctx, `SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?1) ORDER BY id, seq`, []universe.Value{t.Name}, 0, 0)
	if err != nil {
		return err
	}
	var keys []schema.ForeignKey
	last := int64(-1)
	for _, row := range list.Rows {
		id := row[0].(int64)
		target := d.Table(row[1].(string))
		from := t.Column(row[2].(string))
		if target == nil || from < 0 {
			last = id
			keys = append(keys, schema.ForeignKey{})
			continue
		}
		if id != last {
			keys = append(keys, schema.ForeignKey{Target: target.Name})
			last = id
		}
		k := &keys[len(keys)-1]
		to := -1
		if name, ok := row[3].(string); ok {
			to = target.Column(name)
		} else if n := len(k.Columns); n < len(target.PrimaryKey) {
			to = target.PrimaryKey[n] // no column named: the primary key is meant
		}
		if to < 0 {
			k.Target = ""
		}
		k.Columns, k.TargetColumns = append(k.Columns, from), append(k.TargetColumns, to)
	}
	for _, k := range keys {
		if k.Target != "" && !slices.Contains(k.TargetColumns, -1) {
			t.ForeignKeys = append(t.ForeignKeys, k)
		}
	}
	return nil
}
