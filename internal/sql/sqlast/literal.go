package sqlast

import (
	"math"
	"strconv"
	"strings"

	"github.com/sqlc-dev/meyer/ast"
)

// Literal returns the value of a text or number as it is written, with its sign, as a string, int64 or float64.
// Double-quoted strings count; q may be nil, and they are then taken for names.
func (q *Query) Literal(e ast.Expr) (any, bool) {
	switch e := unparen(e).(type) {
	case *ast.Ident:
		if q != nil && q.IsText(e) {
			return e.Name, true
		}
	case *ast.Literal:
		switch e.Kind {
		case ast.LitString:
			return e.Value, true
		case ast.LitInteger, ast.LitFloat:
			return ParseNumber(e.Value)
		}
	case *ast.UnaryExpr:
		if e.Op != ast.OpMinus && e.Op != ast.OpPlus {
			return nil, false
		}
		v, ok := q.Literal(e.X)
		if !ok || e.Op == ast.OpPlus {
			return v, ok
		}
		switch v := v.(type) {
		case int64:
			return -v, true
		case float64:
			return -v, true
		}
	}
	return nil, false
}

// ParseNumber reads a number as SQLite's grammar does, as an int64 or float64: hexadecimal, with underscores, or a real
// where an integer overflows. What is out of the range of reals is no number.
func ParseNumber(text string) (any, bool) {
	text = strings.ReplaceAll(text, "_", "")
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		u, err := strconv.ParseUint(hex, 16, 64)
		return int64(u), err == nil
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, true
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}
