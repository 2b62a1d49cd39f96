package condition

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// Shapes of a payload.
const (
	ShapeRecords  = ""         // a list of records
	ShapeEnvelope = "envelope" // the list inside an object: {"data":{"items":[…]}}
	ShapeColumns  = "columns"  // an object of columns: {"columns":{"name":[…]}}
)

// Names of fields of payloads that are no list of records.
const (
	fieldRecords = "records"
	fieldData    = "data"
	fieldItems   = "items"
	fieldColumns = "columns"
)

// Payload is a result on its way to the agent.
type Payload struct {
	// Result holds the rows under the names by which they are delivered and referred to; nil where Content stands alone.
	Result *task.Result
	// Columns holds the declared type of each column, by its position in Result. Names are those that the tool declares.
	Columns []task.Column
	// Shape is the form in which rows are delivered. Only a list of records can be referred to by later calls.
	Shape string
	// Beside stands beside the rows, in this order.
	Beside []Field
	// Content, where it is set, is delivered in place of all the above, and cannot be referred to.
	Content json.RawMessage
}

// Field is a named value beside the rows of a payload.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Referable says whether later calls can refer to the rows.
func (p *Payload) Referable() bool { return p.Content == nil && p.Shape == ShapeRecords }

// Fields lists the names of the outermost fields that are delivered, for one that is no plain list of records.
func (p *Payload) Fields() []string {
	names := []string{fieldRecords}
	switch p.Shape {
	case ShapeEnvelope:
		names = []string{fieldData}
	case ShapeColumns:
		names = []string{fieldColumns}
	}
	for i := range p.Beside {
		names = append(names, p.Beside[i].Name)
	}
	return names
}

// AppendContent appends the JSON that the agent sees: a list of records where nothing stands beside it, else an object
// whose first field holds the rows.
func (p *Payload) AppendContent(dst []byte) []byte {
	switch {
	case p.Content != nil:
		return append(dst, p.Content...)
	case p.Shape == ShapeRecords && len(p.Beside) == 0:
		return p.Result.AppendRecords(dst)
	}
	switch p.Shape {
	case ShapeEnvelope:
		dst = append(dst, `{"`+fieldData+`":{"`+fieldItems+`":`...)
		dst = append(p.Result.AppendRecords(dst), '}')
	case ShapeColumns:
		dst = append(dst, `{"`+fieldColumns+`":`...)
		dst = appendColumns(dst, p.Result)
	default:
		dst = append(dst, `{"`+fieldRecords+`":`...)
		dst = p.Result.AppendRecords(dst)
	}
	return append(AppendBeside(dst, p.Beside), '}')
}

// AppendBeside appends fields to a JSON object that is still open and not empty.
func AppendBeside(dst []byte, fields []Field) []byte {
	for i := range fields {
		dst = task.AppendValue(append(dst, ','), fields[i].Name)
		dst = append(append(dst, ':'), fields[i].Value...)
	}
	return dst
}

// appendColumns appends a result as an object of columns.
func appendColumns(dst []byte, r *task.Result) []byte {
	dst = append(dst, '{')
	for i, name := range r.Columns {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(task.AppendValue(dst, name), ':', '[')
		for j, row := range r.Rows {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = task.AppendValue(dst, row[i])
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// with gives the payload with one more field beside its rows.
func (p Payload) with(name string, value json.RawMessage) Payload {
	p.Beside = append(p.Beside[:len(p.Beside):len(p.Beside)], Field{Name: name, Value: value})
	return p
}

// mapColumn gives the payload with the values of one column changed, and how many differ. The rows given stay as they
// are; nothing is copied where nothing differs.
func (p Payload) mapColumn(column int, change func(v task.Value) (task.Value, bool)) (Payload, int) {
	if p.Result == nil || column >= len(p.Result.Columns) {
		return p, 0
	}
	var rows []task.Row
	changed := 0
	for i, row := range p.Result.Rows {
		v, differs := change(row[column])
		if !differs {
			continue
		}
		if rows == nil {
			rows = append([]task.Row(nil), p.Result.Rows...)
		}
		fresh := append(task.Row(nil), row...)
		fresh[column] = v
		rows[i] = fresh
		changed++
	}
	if changed > 0 {
		p.Result = &task.Result{Columns: p.Result.Columns, Rows: rows}
	}
	return p, changed
}

// withRows gives the payload with other rows under the same names.
func (p Payload) withRows(rows []task.Row) Payload {
	p.Result = &task.Result{Columns: p.Result.Columns, Rows: rows}
	return p
}

// jsonText writes a string as JSON.
func jsonText(s string) json.RawMessage { return task.AppendValue(nil, s) }

// jsonList writes strings as a JSON list.
func jsonList(values []string) json.RawMessage {
	dst := []byte{'['}
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = task.AppendValue(dst, v)
	}
	return append(dst, ']')
}

// sortedNames lists the names of arguments in their order.
func sortedNames(arguments map[string]any) []string { return slices.Sorted(maps.Keys(arguments)) }

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
