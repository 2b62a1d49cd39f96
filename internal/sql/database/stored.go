package database

import (
	"math"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/task"
)

// stored returns what SQLite stores for a value in a column, by the column's affinity
// (https://sqlite.org/datatype3.html §3); ok is false where it stores nothing, because a rowid must be an integer.
// Values that are compared for a key are brought into this form first.
func stored(t *schema.Table, j int, v task.Value) (_ task.Value, ok bool) {
	if isRowid(t) && t.PrimaryKey[0] == j {
		i, isInteger := withNumericAffinity(v).(int64)
		return i, isInteger
	}
	switch affinity := t.Columns[j].Affinity; {
	case affinity == schema.Text:
		return withTextAffinity(v), true
	case affinity == schema.Real:
		v = withNumericAffinity(v)
		if i, isInteger := v.(int64); isInteger {
			return float64(i), true
		}
		return v, true
	case affinity.IsNumeric():
		return withNumericAffinity(v), true
	}
	if f, isReal := v.(float64); isReal && math.IsNaN(f) {
		return nil, true
	}
	return v, true
}

// withTextAffinity writes numbers as text.
func withTextAffinity(v task.Value) task.Value {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		if math.IsNaN(v) {
			return nil
		}
		return realText(v)
	default:
		return v
	}
}

// realText writes a real as SQLite writes those of up to 15 digits; of others SQLite may choose another last digit.
func realText(f float64) string {
	format := byte('e')
	if magnitude := math.Abs(f); magnitude == 0 || magnitude >= 1e-4 && magnitude < 1e17 {
		format = 'f'
	}
	text := strconv.FormatFloat(f+0, format, -1, 64) // + 0 turns -0 into 0
	if mantissa, _, _ := strings.Cut(text, "e"); !strings.ContainsAny(mantissa, ".I") {
		text = mantissa + ".0" + text[len(mantissa):]
	}
	return text
}

// withNumericAffinity makes a number of text that is one, and an integer of a real that is whole.
func withNumericAffinity(v task.Value) task.Value {
	if text, isText := v.(string); isText {
		number := strings.Trim(text, " \t\n\v\f\r")
		if i, err := strconv.ParseInt(number, 10, 64); err == nil {
			return i
		}
		if number == "" || strings.Trim(number, "0123456789.eE+-") != "" {
			return v // ParseFloat would read more than SQLite does
		}
		f, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return v
		}
		v = f
	}
	f, isReal := v.(float64)
	switch {
	case !isReal:
		return v
	case math.IsNaN(f):
		return nil
	case f == math.Trunc(f) && f > math.MinInt64 && f < math.MaxInt64:
		return int64(f)
	}
	return f
}

// appendKey appends the form in which a stored value is compared under a collation: equal values have equal forms.
func appendKey(dst []byte, v task.Value, collation string) []byte {
	switch typed := v.(type) {
	case string:
		switch collation {
		case "NOCASE":
			typed = lower(typed)
		case "RTRIM":
			typed = strings.TrimRight(typed, " ")
		}
		// Not as JSON, in which different texts that are no valid UTF-8 are equal.
		dst = strconv.AppendInt(append(dst, 't'), int64(len(typed)), 10)
		return append(append(dst, ':'), typed...)
	case float64:
		if typed == math.Trunc(typed) && typed > math.MinInt64 && typed < math.MaxInt64 {
			v = int64(typed)
		}
	}
	return append(task.AppendValue(dst, v), ',')
}

// lower folds the case of ASCII letters, as SQLite's NOCASE does, and leaves all other bytes alone.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
