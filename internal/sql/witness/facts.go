package witness

import (
	"strings"

	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/sqlc-dev/meyer/ast"
)

// facts answers what follows from a schema's keys and a query's equalities alone.
type facts struct {
	q *sqlast.Query
	// keysHold says that the databases in question are generated: no column of a primary key is NULL and every foreign
	// key has its target. SQLite itself allows NULL in a primary key that is not INTEGER, and enforces no foreign key
	// unless asked.
	keysHold bool
}

// known is a set of columns whose values are settled within the rows in question. The value says that it is not NULL.
type known map[sqlast.Ref]bool

func (k known) has(r *sqlast.Ref) bool {
	_, ok := k[*r]
	return ok
}

// add says whether that is news.
func (k known) add(r sqlast.Ref, notNull bool) bool {
	before, ok := k[r]
	k[r] = before || notNull
	return !ok || notNull && !before
}

// closure gives the columns of one SELECT's sources that are settled once the given ones are: by an equality with a
// constant or with a settled column, or by a key whose columns are all settled (Armstrong's axioms over the keys).
// A constant is whatever does not name the SELECT's own sources; columns of an outer row are constants.
func (f *facts) closure(core *ast.SelectQuery, given ...*sqlast.Ref) known {
	return f.closureOf(core, nil, given...)
}

// closureOf is closure within the rows where one more column is settled and not NULL. If its source is the right side
// of a left join, the condition of that join holds there.
func (f *facts) closureOf(core *ast.SelectQuery, present *sqlast.Ref, given ...*sqlast.Ref) known {
	k := known{}
	for _, r := range given {
		k.add(*r, false)
	}
	sources := f.q.Sources(core)
	constants, pairs := f.equalities(core)
	if present != nil {
		k.add(*present, true)
		if on := present.Source.Ref.On; present.Source.Nullable && on != nil &&
			present.Source.Ref.Join.Type&ast.JoinRight == 0 {
			c, p := f.equalitiesOf(core, sqlast.Conjuncts(on))
			constants, pairs = append(constants, c...), append(pairs, p...)
		}
	}
	for _, r := range constants {
		k.add(r, true)
	}
	for news := true; news; {
		news = false
		for _, p := range pairs {
			if _, ok := k[p[0]]; ok && k.add(p[1], true) {
				news = true
			}
			if _, ok := k[p[1]]; ok && k.add(p[0], true) {
				news = true
			}
		}
		for _, src := range sources {
			if !k.has(&sqlast.Ref{Source: src, Column: -1}) && f.keyed(src, k) {
				news = true
				for i := -1; i < len(src.Columns); i++ {
					k.add(sqlast.Ref{Source: src, Column: i}, false)
				}
			}
		}
	}
	return k
}

// keyed says whether some key of a source is settled, so that at most one of its rows remains.
func (f *facts) keyed(src *sqlast.Source, k known) bool {
	if _, ok := k[sqlast.Ref{Source: src, Column: -1}]; ok {
		return true
	}
	for _, key := range f.keys(src) {
		settled := true
		for _, c := range key.columns {
			notNull, ok := k[sqlast.Ref{Source: src, Column: c}]
			if !ok || !notNull && !key.nulls && !f.notNull(src.Table, c) {
				settled = false
			}
		}
		if settled {
			return true
		}
	}
	return false
}

// key is a set of columns that no two rows share; nulls says that this holds for NULLs too.
type key struct {
	columns []int
	nulls   bool
}

func (f *facts) keys(src *sqlast.Source) []key {
	var keys []key
	if src.Table != nil {
		if src.Table.View {
			return nil
		}
		if len(src.Table.PrimaryKey) > 0 {
			keys = append(keys, key{columns: src.Table.PrimaryKey})
		}
		for _, u := range src.Table.Unique {
			keys = append(keys, key{columns: u})
		}
		return keys
	}
	if len(src.Select.Cores) != 1 {
		return nil
	}
	core := sqlast.Last(src.Select)
	if sqlast.SingleRow(src.Select) {
		return []key{{nulls: true}}
	}
	all := make([]int, len(src.Columns))
	for i, c := range src.Columns {
		all[i] = i
		if c.Collation != "BINARY" {
			return nil
		}
	}
	if core.Distinct == ast.DistinctDistinct {
		keys = append(keys, key{columns: all, nulls: true})
	}
	if len(core.GroupBy) > 0 {
		items := f.q.Expand(core)
		var columns []int
		for _, term := range core.GroupBy {
			at := -1
			for i, it := range items {
				if f.same(core, term, it) {
					at = i
				}
			}
			if at < 0 {
				return keys
			}
			columns = append(columns, at)
		}
		keys = append(keys, key{columns: columns, nulls: true})
	}
	return keys
}

// same says whether a term of GROUP BY or ORDER BY is a column of the SELECT list.
func (f *facts) same(core *ast.SelectQuery, term ast.Expr, it sqlast.Item) bool {
	if i := f.q.Ordinal(core, term); i >= 0 {
		at := f.q.Expand(core)[i]
		if at.Ref != nil {
			return it.Ref != nil && *at.Ref == *it.Ref
		}
		return it.Expr == at.Expr
	}
	ref := f.q.Ref(sqlast.Unparen(term))
	if it.Ref != nil {
		return ref != nil && *ref == *it.Ref
	}
	if c := f.q.Alias(sqlast.Unparen(term)); c != nil {
		return c == it.Column
	}
	if other := f.q.Ref(sqlast.Unparen(it.Expr)); ref != nil || other != nil {
		return ref != nil && other != nil && *ref == *other
	}
	return sameText(f.q.Text(term), f.q.Text(it.Expr))
}

func sameText(a, b string) bool {
	return strings.Join(strings.Fields(a), "") == strings.Join(strings.Fields(b), "")
}

// notNull says whether a column of a table can hold no NULL.
func (f *facts) notNull(t *schema.Table, column int) bool {
	switch {
	case t == nil:
		return false
	case column < 0 || t.Columns[column].NotNull:
		return true
	case f.rowid(t, column):
		return true
	}
	if f.keysHold {
		for _, c := range t.PrimaryKey {
			if c == column {
				return true
			}
		}
	}
	return false
}

// equalities lists the columns that one SELECT's conditions hold equal to a constant, and those that they hold equal to
// each other. Conditions of joins count where no join is an outer one.
func (f *facts) equalities(core *ast.SelectQuery) (constants []sqlast.Ref, pairs [][2]sqlast.Ref) {
	conjuncts := sqlast.Conjuncts(core.Where)
	if !f.outerJoin(core) {
		f.eachTable(core.From, func(t *ast.TableRef) { conjuncts = append(conjuncts, sqlast.Conjuncts(t.On)...) })
		sources := f.q.Sources(core)
		for i, src := range sources {
			for _, name := range f.q.SharedColumns(core, src) {
				if a, b := columnOf(sources[:i], name), columnOf(sources[i:i+1], name); a != nil && b != nil {
					pairs = append(pairs, [2]sqlast.Ref{*a, *b})
				}
			}
		}
	}
	c, p := f.equalitiesOf(core, conjuncts)
	return append(constants, c...), append(pairs, p...)
}

func (f *facts) equalitiesOf(core *ast.SelectQuery, conjuncts []ast.Expr) (constants []sqlast.Ref,
	pairs [][2]sqlast.Ref) {
	for _, c := range conjuncts {
		var x, y ast.Expr
		switch e := sqlast.Unparen(c).(type) {
		case *ast.BinaryExpr:
			if e.Op != ast.OpEq {
				continue
			}
			x, y = sqlast.Unparen(e.X), sqlast.Unparen(e.Y)
		case *ast.InExpr:
			if e.Not || len(e.List) != 1 {
				continue
			}
			x, y = sqlast.Unparen(e.X), sqlast.Unparen(e.List[0])
		default:
			continue
		}
		rx, ry := f.own(core, x), f.own(core, y)
		switch {
		case rx != nil && ry != nil:
			if settles(rx.Col(), ry.Col()) && settles(ry.Col(), rx.Col()) {
				pairs = append(pairs, [2]sqlast.Ref{*rx, *ry})
			}
		case rx != nil && !f.mentions(core, y) && settles(f.q.Describe(y), rx.Col()):
			constants = append(constants, *rx)
		case ry != nil && !f.mentions(core, x) && settles(f.q.Describe(x), ry.Col()):
			constants = append(constants, *ry)
		}
	}
	return constants, pairs
}

// settles says whether column = value leaves one value of the column, by SQLite's rules of comparison
// (https://sqlite.org/datatype3.html §4.2): not where a text column is compared as a number ('1' and '01'), not under a
// collation that ignores differences, not where a column can hold both 1 and 1.0.
func settles(value, column sqlast.Column) bool {
	if column.Affinity == schema.Text {
		return column.Collation == "BINARY" && value.Collation == "BINARY" && !value.Affinity.IsNumeric()
	}
	return column.Affinity.IsNumeric()
}

func columnOf(sources []*sqlast.Source, name string) *sqlast.Ref {
	for _, src := range sources {
		for i, c := range src.Columns {
			if strings.EqualFold(c.Name, name) {
				return &sqlast.Ref{Source: src, Column: i}
			}
		}
	}
	return nil
}

func (f *facts) eachTable(list []*ast.TableRef, visit func(*ast.TableRef)) {
	for _, t := range list {
		visit(t)
		f.eachTable(t.List, visit)
	}
}

func (f *facts) outerJoin(core *ast.SelectQuery) bool {
	for _, src := range f.q.Sources(core) {
		if src.Nullable {
			return true
		}
	}
	return false
}

// own gives the column of one of the SELECT's own sources that an expression is, or nil.
func (f *facts) own(core *ast.SelectQuery, e ast.Expr) *sqlast.Ref {
	ref := f.q.Ref(e)
	if ref == nil || !f.owns(core, ref) {
		return nil
	}
	return ref
}

func (f *facts) owns(core *ast.SelectQuery, ref *sqlast.Ref) bool {
	for _, src := range f.q.Sources(core) {
		if src == ref.Source {
			return true
		}
	}
	return false
}

// mentions says whether an expression names a column of the SELECT's own sources, at any depth.
func (f *facts) mentions(core *ast.SelectQuery, n ast.Node) bool {
	found := false
	f.references(core, n, func(*sqlast.Ref) { found = true })
	return found
}

// references visits every column of the SELECT's own sources that an expression names, also through aliases and in
// sub-SELECTs.
func (f *facts) references(core *ast.SelectQuery, n ast.Node, visit func(*sqlast.Ref)) {
	if n == nil {
		return
	}
	ast.Walk(n, func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			return true
		}
		if ref := f.q.Ref(e); ref != nil {
			if f.owns(core, ref) {
				visit(ref)
			}
			return false
		}
		if c := f.q.Alias(e); c != nil {
			f.references(core, c.Expr, visit)
		}
		return true
	})
}

// literalLimit gives the count of a LIMIT that is written as a number, or -1.
func (f *facts) literalLimit(core *ast.SelectQuery) int64 {
	if core.Limit == nil {
		return -1
	}
	if n, ok := literalInt(core.Limit.Count); ok && n >= 0 {
		return n
	}
	return -1
}

// uniqueRows says whether at most one row of a SELECT's sources has the settled values.
func (f *facts) uniqueRows(core *ast.SelectQuery, k known) bool {
	for _, src := range f.q.Sources(core) {
		if !f.keyed(src, k) {
			return false
		}
	}
	return true
}

// neverNull says whether a column of one of the SELECT's sources holds no NULL in its rows.
func (f *facts) neverNull(core *ast.SelectQuery, ref *sqlast.Ref) bool {
	if f.closure(core)[*ref] {
		return true
	}
	_, pairs := f.equalities(core)
	for _, p := range pairs {
		if p[0] == *ref || p[1] == *ref {
			return true // NULL equals nothing
		}
	}
	return !ref.Source.Nullable && ref.Source.Table != nil && !ref.Source.Table.View && f.notNull(ref.Source.Table,
		ref.Column)
}

// countable gives the column that stands in for * in count(*): the first that can be NULL, else the first.
func (f *facts) countable(core *ast.SelectQuery) *sqlast.Ref {
	var first *sqlast.Ref
	for _, src := range f.q.Sources(core) {
		for i := range src.Columns {
			ref := &sqlast.Ref{Source: src, Column: i}
			if first == nil {
				first = ref
			}
			if src.Table != nil && !f.neverNull(core, ref) {
				return ref
			}
		}
	}
	return first
}
