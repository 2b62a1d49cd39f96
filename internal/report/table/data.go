package table

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/task"
)

// DocumentFormat is the version of a [Values].
const DocumentFormat = "seatrial.table/1"

// CSV writes the unrounded values, one line each, under the names of JSON's fields. The last column names the missing
// values with the reason: `name: reason`, separated by semicolons.
func (t *Table) CSV() (string, error) {
	keys := t.Keys()
	lines := [][]string{append(slices.Clone(keys), Missing)}
	for _, record := range t.Records {
		line := make([]string, 0, len(keys)+1)
		for _, key := range keys {
			line = append(line, csvText(record[key]))
		}
		lines = append(lines, append(line, reasonsText(record)))
	}
	return csvLines(lines)
}

// JoinCSV writes the values of several named tables as one file. The column `table` names the table of a line; the
// other columns are those of all tables, and fields that a line does not have are empty. The last column is that of
// [Table.CSV].
func JoinCSV(tables []*Table) (string, error) {
	header := []string{"table"}
	for _, t := range tables {
		for _, key := range t.Keys() {
			if !slices.Contains(header, key) {
				header = append(header, key)
			}
		}
	}
	lines := [][]string{append(slices.Clone(header), Missing)}
	for _, t := range tables {
		for _, record := range t.Records {
			line := []string{t.Name}
			for _, key := range header[1:] {
				line = append(line, csvText(record[key]))
			}
			lines = append(lines, append(line, reasonsText(record)))
		}
	}
	return csvLines(lines)
}

// reasonsText says which values of a record are missing, and why.
func reasonsText(record map[string]any) string {
	missing, _ := record[Missing].(map[string]string)
	var reasons []string
	for _, key := range slices.Sorted(maps.Keys(missing)) {
		reasons = append(reasons, key+": "+missing[key])
	}
	return strings.Join(reasons, "; ")
}

func csvLines(lines [][]string) (string, error) {
	for _, line := range lines {
		for i := range line {
			line[i] = diag.Cell(line[i])
		}
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(lines); err != nil {
		return "", fmt.Errorf("csv: %w", err)
	}
	return b.String(), nil
}

// csvText writes a value of a record, unrounded.
func csvText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	default:
		return ""
	}
}

// Values is the JSON form of a table.
type Values struct {
	Format  string           `json:"format"`
	Name    string           `json:"name"`
	Title   string           `json:"title"`
	Columns []string         `json:"columns"`
	Rows    []map[string]any `json:"rows"` // values by column; the field `missing` says why some are null
	Notes   []string         `json:"notes,omitempty"`
}

// JSON writes the unrounded values in the encoding of artefacts, with a newline at the end. A missing value is null;
// the field `missing` of its row says why.
func (t *Table) JSON() ([]byte, error) {
	form := Values{DocumentFormat, t.Name, t.Title, t.Keys(), t.Records, t.notes()}
	if form.Rows == nil {
		form.Rows = []map[string]any{}
	}
	text, err := task.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	return append(text, '\n'), nil
}
