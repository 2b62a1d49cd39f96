package witness

import (
	"math"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/sqlast"
	"github.com/seatrial/seatrial/internal/universe"
	"github.com/sqlc-dev/meyer/ast"
)

// literalValue gives the value of a text or number as it is written, with its sign. q, which may be nil, tells
// double-quoted strings from names.
func literalValue(q *sqlast.Query, e ast.Expr) (universe.Value, bool) {
	switch e := sqlast.Unparen(e).(type) {
	case *ast.Ident:
		if q != nil && q.IsText(e) {
			return e.Name, true
		}
	case *ast.Literal:
		switch e.Kind {
		case ast.LitString:
			return e.Value, true
		case ast.LitInteger, ast.LitFloat:
			return parseNumber(e.Value)
		}
	case *ast.UnaryExpr:
		if e.Op != ast.OpMinus && e.Op != ast.OpPlus {
			return nil, false
		}
		v, ok := literalValue(q, e.X)
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

// parseNumber reads a number as SQLite does: hexadecimal, with underscores, or a real where an integer overflows.
func parseNumber(text string) (universe.Value, bool) {
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
