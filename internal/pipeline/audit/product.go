package audit

import (
	"context"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/sqlc-dev/meyer/ast"
)

// products finds SELECTs that join tables without a condition, and so combine each row of one with each row of the
// other.
func products(_ context.Context, s *subject) error {
	ast.Walk(s.query.Stmt, func(n ast.Node) bool {
		if core, ok := n.(*ast.SelectQuery); ok {
			s.product(core)
		}
		return true
	})
	return nil
}

func (s *subject) product(core *ast.SelectQuery) {
	sources := s.query.Sources(core)
	if len(sources) < 2 {
		return
	}
	group := make([]int, len(sources)) // sources with the same number are joined
	for i := range group {
		group[i] = i
	}
	join := func(a, b int) {
		from, to := max(group[a], group[b]), min(group[a], group[b])
		for i := range group {
			if group[i] == from {
				group[i] = to
			}
		}
	}
	var conditions []ast.Expr
	for _, e := range []ast.Expr{core.Where, core.Having} {
		conditions = append(conditions, sqlast.Conjuncts(e)...)
	}
	eachTable(core.From, func(t *ast.TableRef) { conditions = append(conditions, sqlast.Conjuncts(t.On)...) })
	for _, e := range conditions {
		first := -1
		for _, at := range s.named(e, sources) {
			if first < 0 {
				first = at
			}
			join(first, at)
		}
	}
	for i, src := range sources {
		if i > 0 && len(s.query.SharedColumns(core, src)) > 0 {
			join(i-1, i)
		}
	}
	for i, src := range sources {
		if group[i] != i || i == 0 || s.oneRow(src, conditions) {
			continue
		}
		if s.oneRow(sources[0], conditions) && !slices.Contains(group[1:], 0) && i == 1 {
			continue // it has at most one row
		}
		place := src.Ref.Pos()
		if src.Ref.Name != nil {
			place = src.Ref.Name.Pos()
		}
		s.addIn(CodeProduct, InSQL, place,
			fmt.Sprintf("nothing joins %s to the tables before it: each row meets every other", src.Name),
			s.joinOn(sources[:i], src))
	}
}

// eachTable visits the items of a FROM clause, those in parentheses too.
func eachTable(list []*ast.TableRef, visit func(*ast.TableRef)) {
	for _, t := range list {
		visit(t)
		eachTable(t.List, visit)
	}
}

// named lists the sources, by index, whose columns an expression reads, sub-SELECTs included.
func (s *subject) named(e ast.Expr, sources []*sqlast.Source) []int {
	var list []int
	ast.Walk(e, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if ref := s.query.Ref(e); ref != nil {
				if at := slices.Index(sources, ref.Source); at >= 0 {
					list = append(list, at)
				}
			}
		}
		return true
	})
	return list
}

// oneRow reports whether a source has at most one row: it aggregates, or its key is compared with a literal.
func (s *subject) oneRow(src *sqlast.Source, conditions []ast.Expr) bool {
	if src.Select != nil {
		if sqlast.SingleRow(src.Select) {
			return true
		}
		limit := sqlast.Last(src.Select)
		if limit == nil || limit.Limit == nil {
			return false
		}
		n, ok := s.query.Literal(limit.Limit.Count)
		return ok && n == task.Integer(1)
	}
	fixed := func(column int) bool {
		return slices.ContainsFunc(conditions, func(e ast.Expr) bool {
			b, ok := sqlast.Unparen(e).(*ast.BinaryExpr)
			if !ok || b.Op != ast.OpEq {
				return false
			}
			x, y := sqlast.Unparen(b.X), sqlast.Unparen(b.Y)
			if _, literal := s.query.Literal(x); literal {
				x, y = y, x
			}
			_, literal := s.query.Literal(y)
			ref := s.query.Ref(x)
			return literal && ref != nil && ref.Source == src && ref.Column == column
		})
	}
	for _, key := range append([][]int{src.Table.PrimaryKey}, src.Table.Unique...) {
		if len(key) > 0 && !slices.ContainsFunc(key, func(c int) bool { return !fixed(c) }) {
			return true
		}
	}
	return false
}

// joinOn suggests a join condition from a foreign key, or from a column that both sides have.
func (s *subject) joinOn(before []*sqlast.Source, src *sqlast.Source) string {
	for _, other := range before {
		if text := foreignKey(src, other); text != "" {
			return "join on " + text
		}
		if text := foreignKey(other, src); text != "" {
			return "join on " + text
		}
	}
	return "join them on the columns that belong together"
}

func foreignKey(from, to *sqlast.Source) string {
	if from.Table == nil || to.Table == nil {
		return ""
	}
	for _, key := range from.Table.ForeignKeys {
		if schema.SameName(key.Target, to.Table.Name) && len(key.Columns) == 1 && len(key.TargetColumns) == 1 {
			return fmt.Sprintf("%s.%s = %s.%s", from.Name, from.Table.Columns[key.Columns[0]].Name, to.Name,
				to.Table.Columns[key.TargetColumns[0]].Name)
		}
	}
	return ""
}
