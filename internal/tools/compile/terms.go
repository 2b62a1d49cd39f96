package compile

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/sqlc-dev/meyer/ast"
)

// term is an expression in a few words.
type term struct {
	words []string
	table *schema.Table // whose property it is, nil where it is no table's
	role  []string      // what its table is to the others, where it is joined in one of several roles: eye, colour
	date  bool          // a point in time
	named bool          // a name: its order is that of the alphabet
	count bool          // a number of things: words names the things, many of them
}

// terms finds words for the parts of a query.
type terms struct {
	q     *sqlast.Query
	nouns map[*schema.Table]noun
	roles map[*sqlast.Source][]string
	depth int
	terse bool // leave out the names of tables where a column says enough
}

// newTerms finds words for the parts of q.
func newTerms(q *sqlast.Query) *terms {
	p := &terms{q: q, nouns: map[*schema.Table]noun{}}
	p.findRoles()
	return p
}

func (p *terms) noun(t *schema.Table) noun {
	n, ok := p.nouns[t]
	if !ok {
		n = nounOf(t)
		p.nouns[t] = n
	}
	return n
}

// of puts the name of its table before a term that does not name it already.
func (p *terms) of(t term) []string {
	switch {
	case len(t.words) == 0 || t.table == nil:
		return t.words
	case t.role != nil:
		return inRole(t.words, t.role)
	}
	one := p.noun(t.table).one
	if mentions(t.words, one) || p.terse && !isGeneric(t.words) {
		return t.words
	}
	return append(slices.Clone(one), t.words...)
}

// inRole puts a role before the words of a column that it does not hold already.
func inRole(words, role []string) []string {
	out := slices.Clone(role)
	for _, w := range words {
		if !slices.Contains(role, w) {
			out = append(out, w)
		}
	}
	return out
}

// beside names a term beside those of another table: alone it says too little, it names its table too.
func (p *terms) beside(t term, subject *schema.Table) []string {
	id := len(t.words) == 1 && t.words[0] == "id"
	if id || t.role != nil || t.table != subject && isGeneric(t.words) {
		return p.of(t)
	}
	return t.words
}

// findRoles finds the sources that are joined in one of several roles: by a column that names the table, of a table in
// which other columns name it too (eye_colour_id and hair_colour_id name a colour).
func (p *terms) findRoles() {
	p.roles = map[*sqlast.Source][]string{}
	ast.Walk(p.q.Stmt, func(n ast.Node) bool {
		b, ok := n.(*ast.BinaryExpr)
		if !ok || b.Op != ast.OpEq {
			return true
		}
		x, y := p.q.Ref(sqlast.Unparen(b.X)), p.q.Ref(sqlast.Unparen(b.Y))
		for range 2 {
			if role := p.roleOf(x, y); role != nil {
				p.roles[y.Source] = role
			}
			x, y = y, x
		}
		return true
	})
}

// roleOf gives the role in which to's source is joined by the column that from names, or nil.
func (p *terms) roleOf(from, to *sqlast.Ref) []string {
	if from == nil || to == nil || from.Source == to.Source || from.Column < 0 || to.Column < 0 ||
		from.Source.Table == nil || to.Source.Table == nil || from.Source.Table == to.Source.Table {
		return nil
	}
	one := p.noun(to.Source.Table).one
	thing := one[len(one)-1]
	names := func(c *schema.Column) []string {
		words := tokensOf(c.Name)
		for len(words) > 1 && (isID(words) || ends(words, "code") || ends(words, "key")) {
			words = words[:len(words)-1]
		}
		if words[len(words)-1] != thing || len(words) < 2 {
			return nil
		}
		return words
	}
	role := names(&from.Source.Table.Columns[from.Column])
	if role == nil || joined(role) == joined(one) {
		return nil
	}
	count := 0
	for i := range from.Source.Table.Columns {
		if names(&from.Source.Table.Columns[i]) != nil {
			count++
		}
	}
	if count < 2 {
		return nil
	}
	return role
}

// maxDepth bounds the words found for nested expressions.
const maxDepth = 12

func (p *terms) term(e ast.Expr) term {
	if e == nil || p.depth > maxDepth {
		return term{}
	}
	p.depth++
	defer func() { p.depth-- }()
	switch e := e.(type) {
	case *ast.Ident, *ast.QualifiedRef:
		return p.name(e)
	case *ast.ParenExpr:
		return p.term(e.X)
	case *ast.CastExpr:
		return p.term(e.X)
	case *ast.CollateExpr:
		return p.term(e.X)
	case *ast.UnaryExpr:
		return p.term(e.X)
	case *ast.FuncCall:
		return p.call(e)
	case *ast.BinaryExpr:
		return p.binary(e)
	case *ast.CaseExpr:
		return p.caseTerm(e)
	case *ast.SubqueryExpr:
		return p.subquery(e.Select)
	case *ast.LikeExpr, *ast.IsExpr, *ast.NullCheckExpr, *ast.BetweenExpr, *ast.InExpr, *ast.ExistsExpr:
		t := p.refsIn(e)
		t.words = append(t.words, "check")
		return t
	case *ast.VectorExpr:
		return p.list(e.List, "and")
	default:
		return term{}
	}
}

func (p *terms) name(e ast.Expr) term {
	if ref := p.q.Ref(e); ref != nil {
		return p.ref(ref)
	}
	if c := p.q.Alias(e); c != nil {
		return p.result(c)
	}
	return term{}
}

// result names a result column: by its expression, or by its alias where that says more.
func (p *terms) result(c *ast.ResultColumn) term {
	t := p.term(c.Expr)
	if _, star := c.Expr.(*ast.Star); star || c.Alias == nil {
		return t
	}
	alias := tokensOf(c.Alias.Name)
	_, plain := sqlast.Unparen(c.Expr).(*ast.QualifiedRef)
	_, ident := sqlast.Unparen(c.Expr).(*ast.Ident)
	if plain || ident || len(joined(alias)) < 4 || len(t.words) > 0 && len(t.words) <= 4 {
		return t
	}
	t.words, t.count = alias, false
	return t
}

func (p *terms) ref(r *sqlast.Ref) term {
	switch {
	case r.Column < 0:
		return term{words: []string{"row", "id"}, table: r.Source.Table}
	case r.Source.Table != nil:
		c := &r.Source.Table.Columns[r.Column]
		words := columnTokens(c)
		return term{words: words, table: r.Source.Table, role: p.roles[r.Source], date: isDate(words, c.Declared),
			named: isName(words)}
	case r.Source.Select != nil:
		if core, ok := r.Source.Select.Cores[0].(*ast.SelectQuery); ok {
			if items := p.q.Expand(core); r.Column < len(items) {
				if t := p.item(items[r.Column]); len(t.words) > 0 {
					return p.counted(t)
				}
			}
		}
	}
	return term{words: tokensOf(r.Col().Name)}
}

func (p *terms) item(it sqlast.Item) term {
	if it.Ref != nil {
		return p.ref(it.Ref)
	}
	return p.result(it.Column)
}

// counted turns a number of things into a word for the number.
func (p *terms) counted(t term) term {
	if t.count {
		return term{words: append(singular(t.words), "count")}
	}
	return t
}

func (p *terms) list(list []ast.Expr, word string) term {
	var out term
	for _, e := range list {
		t := p.counted(p.term(e))
		if len(t.words) == 0 {
			continue
		}
		if len(out.words) > 0 {
			out.words = append(slices.Clone(out.words), word)
		} else {
			out.table, out.date = t.table, t.date
		}
		out.words = append(slices.Clone(out.words), t.words...)
	}
	return out
}

// refsIn names the different columns that an expression speaks of.
func (p *terms) refsIn(n ast.Node) term {
	var out term
	seen := map[string]bool{}
	ast.Walk(n, func(m ast.Node) bool {
		e, ok := m.(ast.Expr)
		if !ok {
			return true
		}
		switch m.(type) {
		case *ast.SubqueryExpr, *ast.ExistsExpr:
			return false
		case *ast.Ident, *ast.QualifiedRef:
			t := p.name(e)
			if len(t.words) > 0 && !seen[joined(t.words)] {
				seen[joined(t.words)] = true
				if len(out.words) > 0 {
					out.words = append(out.words, "and")
				} else {
					out.table = t.table
				}
				out.words = append(out.words, t.words...)
			}
			return false
		}
		return true
	})
	return out
}

var scalarWords = map[string]string{
	"length": "length", "julianday": "", "round": "", "abs": "", "lower": "", "upper": "", "trim": "", "ltrim": "",
	"rtrim": "", "ifnull": "", "coalesce": "", "nullif": "", "date": "", "datetime": "", "time": "", "replace": "",
	"printf": "", "format": "", "substring": "", "substr": "", "instr": "position", "hex": "", "typeof": "type",
}

var datePartWords = map[string]string{
	"%Y": "year", "%m": "month", "%d": "day", "%H": "hour", "%M": "minute", "%S": "second", "%w": "weekday",
	"%Y-%m": "month", "%Y%m": "month", "%Y-%m-%d": "", "%J": "", "%s": "", "%j": "day of year", "%H:%M": "time",
	"%m-%d": "day of year", "%H:%M:%S": "time",
}

func (p *terms) call(f *ast.FuncCall) term {
	name := strings.ToLower(f.Name.Name)
	if f.Over != nil {
		return p.window(f, name)
	}
	if sqlast.IsAggregate(f) {
		return p.aggregate(f, name)
	}
	switch name {
	case "strftime":
		return p.strftime(f)
	case "substr", "substring":
		return p.substring(f)
	case "iif", "if":
		return p.iif(f)
	}
	if len(f.Args) == 0 {
		return term{words: tokensOf(name)}
	}
	if _, date := dateFunctions[name]; date && p.current(f) {
		return term{words: []string{"current", "date"}, date: true}
	}
	suffix, known := scalarWords[name]
	t := p.counted(p.term(f.Args[0]))
	switch {
	case len(t.words) == 0 && len(f.Args) > 1:
		return p.list(f.Args, "and")
	case known && suffix != "":
		return term{words: append(slices.Clone(t.words), suffix), table: t.table}
	case known:
		return t
	case len(f.Args) > 1:
		out := p.list(f.Args, "and")
		out.words = append(tokensOf(name), out.words...)
		return out
	default:
		return term{words: append(tokensOf(name), t.words...), table: t.table}
	}
}

// strftime names a part of a date: the year of the date of birth is birth_year.
func (p *terms) strftime(f *ast.FuncCall) term {
	if len(f.Args) < 2 {
		return term{words: []string{"today"}}
	}
	format, _ := p.q.Literal(f.Args[0])
	text, _ := format.(string)
	part, known := datePartWords[text]
	if p.current(f) {
		return term{words: []string{"current", "date"}, date: true}
	}
	if _, ok := p.q.Literal(f.Args[1]); ok {
		return term{words: []string{"date"}, date: true}
	}
	t := p.term(f.Args[1])
	if !known {
		part = "part"
	}
	return datePart(t, part)
}

// current says whether a call of a date function is about the present.
func (p *terms) current(f *ast.FuncCall) bool {
	at := dateFunctions[strings.ToLower(f.Name.Name)]
	if at >= len(f.Args) {
		return true
	}
	e := sqlast.Unparen(f.Args[at])
	if inner, ok := e.(*ast.FuncCall); ok {
		_, date := dateFunctions[strings.ToLower(inner.Name.Name)]
		return date && p.current(inner)
	}
	if v, _ := p.q.Literal(e); v != nil {
		s, _ := v.(string)
		return strings.EqualFold(s, "now")
	}
	l, ok := e.(*ast.Literal)
	return ok && (l.Kind == ast.LitCurrentDate || l.Kind == ast.LitCurrentTime || l.Kind == ast.LitCurrentTimestamp)
}

// datePart puts a part of a date in the place of the date's own last word.
func datePart(t term, part string) term {
	words := t.words
	if part == "" {
		return t
	}
	if n := len(words); n > 1 && (words[n-1] == "date" || words[n-1] == "datetime" || words[n-1] == "time" ||
		words[n-1] == part) {
		words = words[:n-1]
	}
	return term{words: append(slices.Clone(words), strings.Fields(part)...), table: t.table}
}

// substring reads the parts of ISO dates where a date is cut, and else says what is cut.
func (p *terms) substring(f *ast.FuncCall) term {
	if len(f.Args) < 2 {
		return p.refsIn(f)
	}
	t := p.term(f.Args[0])
	from, _ := p.q.Literal(f.Args[1])
	var length any
	if len(f.Args) > 2 {
		length, _ = p.q.Literal(f.Args[2])
	}
	if t.date {
		switch {
		case from == int64(1) && length == int64(4):
			return datePart(t, "year")
		case from == int64(1) && (length == int64(7) || length == int64(6)):
			return datePart(t, "month")
		case from == int64(1) && length == int64(10):
			return t
		case (from == int64(6) || from == int64(5)) && length == int64(2):
			return datePart(t, "month")
		}
	}
	if from == int64(1) && length == int64(1) {
		return term{words: append(slices.Clone(t.words), "initial"), table: t.table}
	}
	if from == int64(1) {
		return term{words: append(slices.Clone(t.words), "beginning"), table: t.table}
	}
	return term{words: append(slices.Clone(t.words), "part"), table: t.table}
}

func (p *terms) iif(f *ast.FuncCall) term {
	if len(f.Args) < 2 {
		return p.refsIn(f)
	}
	return p.choice(f.Args[0], f.Args[1:])
}

func (p *terms) caseTerm(e *ast.CaseExpr) term {
	var results []ast.Expr
	var conditions term
	for i, w := range e.Whens {
		results = append(results, w.Then)
		if i == 0 {
			conditions = p.refsIn(w.When)
		}
	}
	if e.Else != nil {
		results = append(results, e.Else)
	}
	if e.Operand != nil {
		conditions = p.term(e.Operand)
	}
	return p.chosen(conditions, results)
}

func (p *terms) choice(condition ast.Expr, results []ast.Expr) term {
	return p.chosen(p.refsIn(condition), results)
}

// chosen names what a condition decides: by the values that it decides between, or by what it looks at.
func (p *terms) chosen(conditions term, results []ast.Expr) term {
	for _, r := range results {
		if t := p.term(r); len(t.words) > 0 {
			return t
		}
	}
	conditions.words = append(slices.Clone(conditions.words), "category")
	conditions.date = false
	return conditions
}

func (p *terms) window(f *ast.FuncCall, name string) term {
	switch name {
	case "rank", "dense_rank", "row_number", "ntile", "percent_rank", "cume_dist":
		words := []string{"rank"}
		for i, o := range f.Over.OrderBy {
			if t := p.counted(p.term(o.Expr)); i == 0 && len(t.words) > 0 {
				words = append(slices.Clone(t.words), "rank")
			}
		}
		return term{words: words}
	}
	if len(f.Args) == 0 {
		return term{words: []string{"running", "count"}}
	}
	t := p.term(f.Args[0])
	return term{words: append([]string{"windowed"}, t.words...), table: t.table}
}

// aggregate names an aggregate.
func (p *terms) aggregate(f *ast.FuncCall, name string) term {
	if name == "count" {
		return p.count(f)
	}
	if len(f.Args) == 0 {
		return term{words: tokensOf(name)}
	}
	if name == "sum" || name == "total" || name == "avg" {
		if condition, value, ok := p.conditional(f.Args[0]); ok && value == nil {
			things := p.counting(f, condition)
			if name == "avg" {
				return term{words: append([]string{"share", "of"}, things.words...), table: things.table}
			}
			return things
		}
	}
	t := p.counted(p.term(f.Args[0]))
	word := map[string]string{
		"avg": "average", "sum": "total", "total": "total", "max": "highest", "min": "lowest", "group_concat": "list of",
		"string_agg": "list of", "median": "median", "percentile": "percentile",
	}[name]
	switch {
	case word == "":
		word = name
	case t.date && name == "max":
		word = "latest"
	case t.date && name == "min":
		word = "earliest"
	}
	words := append(strings.Fields(word), p.of(t)...)
	return term{words: words, date: t.date}
}

// conditional reads an expression that is 1 where a condition holds and 0 or NULL where it does not, or has value in
// place of 1.
func (p *terms) conditional(e ast.Expr) (condition, value ast.Expr, ok bool) {
	switch e := unwrap(e).(type) {
	case *ast.CaseExpr:
		if len(e.Whens) != 1 || !p.nothing(e.Else) {
			return nil, nil, false
		}
		condition, value = e.Whens[0].When, e.Whens[0].Then
		if e.Operand != nil {
			condition = e.Operand
		}
	case *ast.FuncCall:
		if name := strings.ToLower(e.Name.Name); name != "iif" && name != "if" || len(e.Args) < 2 {
			return nil, nil, false
		}
		if len(e.Args) > 2 && !p.nothing(e.Args[2]) {
			return nil, nil, false
		}
		condition, value = e.Args[0], e.Args[1]
	case *ast.BinaryExpr:
		if e.Op < ast.OpOr || e.Op > ast.OpGe {
			return nil, nil, false
		}
		return e, nil, true
	case *ast.LikeExpr, *ast.IsExpr, *ast.NullCheckExpr, *ast.BetweenExpr, *ast.InExpr:
		return e, nil, true
	default:
		return nil, nil, false
	}
	if v, isLiteral := p.q.Literal(value); isLiteral && (v == int64(1) || v == 1.0) {
		value = nil
	}
	return condition, value, true
}

// nothing says whether an expression is missing, NULL or 0.
func (p *terms) nothing(e ast.Expr) bool {
	if e == nil {
		return true
	}
	if l, ok := sqlast.Unparen(e).(*ast.Literal); ok && l.Kind == ast.LitNull {
		return true
	}
	v, ok := p.q.Literal(e)
	return ok && (v == int64(0) || v == 0.0)
}

// counting names the things that are counted under a condition.
func (p *terms) counting(within ast.Node, condition ast.Expr) term {
	t := p.refsIn(condition)
	core := p.coreOf(within)
	things := []string{"rows"}
	var table *schema.Table
	if core != nil {
		if table = p.root(core); table != nil {
			things = p.noun(table).many
		}
	}
	if len(t.words) == 0 {
		return term{words: things, table: table, count: true}
	}
	return term{words: append(append(slices.Clone(things), "with"), t.words...), table: table, count: true}
}

// count names what a count counts.
func (p *terms) count(f *ast.FuncCall) term {
	core := p.coreOf(f)
	if f.Star || len(f.Args) == 0 {
		var table *schema.Table
		if core != nil {
			table = p.root(core)
		}
		if table == nil {
			return term{words: []string{"rows"}, count: true}
		}
		return term{words: p.noun(table).many, table: table, count: true}
	}
	if condition, value, ok := p.conditional(f.Args[0]); ok {
		t := p.counting(f, condition)
		if v := p.term(value); f.Distinct && len(v.words) > 0 {
			t.words = append(plural(p.of(v)), t.words[slices.Index(t.words, "with"):]...)
		}
		return t
	}
	t := p.counted(p.term(f.Args[0]))
	if t.table != nil {
		if owner := p.identified(t.table, f.Args[0]); owner != nil {
			return term{words: p.noun(owner).many, table: owner, count: true}
		}
		if !f.Distinct {
			return term{words: p.noun(t.table).many, table: t.table, count: true}
		}
	}
	if len(t.words) == 0 {
		t.words = []string{"row"}
	}
	words := plural(p.beside(t, nil))
	if f.Distinct {
		words = append([]string{"distinct"}, words...)
	}
	return term{words: words, count: true}
}

// identified gives the table whose rows a column stands for: its own if it is the key, that which it refers to, or that
// which its name names (molecule_id); nil for a column that is no identifier.
func (p *terms) identified(t *schema.Table, e ast.Expr) *schema.Table {
	ref := p.q.Ref(sqlast.Unparen(e))
	if ref == nil || ref.Column < 0 || ref.Source.Table != t {
		return nil
	}
	for i := range t.ForeignKeys {
		if k := &t.ForeignKeys[i]; len(k.Columns) == 1 && k.Columns[0] == ref.Column {
			if target := p.q.Schema.Table(k.Target); target != nil {
				return target
			}
		}
	}
	if len(t.PrimaryKey) == 1 && t.PrimaryKey[0] == ref.Column {
		return t
	}
	words := columnTokens(&t.Columns[ref.Column])
	if !isID(words) {
		return nil
	}
	for i := range p.q.Schema.Tables {
		other := &p.q.Schema.Tables[i]
		if one := p.noun(other).one; joined(one)+"_id" == joined(words) {
			return other
		}
	}
	return t
}

// root gives the table whose rows the rows of a join stand for: the one on the many side; where that only links two
// others, the one that nothing else in the query asks about.
func (p *terms) root(core *ast.SelectQuery) *schema.Table {
	var tables []*schema.Table
	for _, s := range p.q.Sources(core) {
		switch {
		case s.Table != nil:
			tables = append(tables, s.Table)
		case s.Select != nil:
			if inner, ok := s.Select.Cores[0].(*ast.SelectQuery); ok && p.depth < maxDepth {
				p.depth++
				t := p.root(inner)
				p.depth--
				if t != nil {
					tables = append(tables, t)
				}
			}
		}
	}
	if len(tables) == 0 {
		return nil
	}
	referred := map[*schema.Table]bool{}
	for _, t := range tables {
		for _, k := range t.ForeignKeys {
			for _, u := range tables {
				if u != t && schema.SameName(u.Name, k.Target) {
					referred[u] = true
				}
			}
		}
	}
	root := tables[0]
	for _, t := range tables {
		if !referred[t] {
			root = t
			break
		}
	}
	if len(root.ForeignKeys) < 2 || len(root.Columns) > len(root.ForeignKeys)+1 {
		return root
	}
	asked := map[*schema.Table]bool{}
	note := func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if r := p.q.Ref(e); r != nil && r.Source.Table != nil {
				asked[r.Source.Table] = true
			}
		}
		return true
	}
	ast.Walk(core.Where, note)
	for _, g := range core.GroupBy {
		ast.Walk(g, note)
	}
	for _, c := range core.Columns {
		if !sqlast.HasAggregate(c.Expr) {
			ast.Walk(c.Expr, note)
		}
	}
	for _, t := range tables {
		if t != root && referred[t] && !asked[t] {
			return t
		}
	}
	return root
}

// coreOf gives the innermost SELECT that a node stands in.
func (p *terms) coreOf(n ast.Node) *ast.SelectQuery {
	var found *ast.SelectQuery
	ast.Walk(p.q.Stmt, func(m ast.Node) bool {
		if m.Pos() > n.Pos() || m.End() < n.End() {
			return false
		}
		if s, ok := m.(*ast.SelectQuery); ok {
			found = s
		}
		return true
	})
	return found
}

func (p *terms) subquery(s *ast.SelectStmt) term {
	core, ok := s.Cores[0].(*ast.SelectQuery)
	if !ok {
		return term{}
	}
	items := p.q.Expand(core)
	if len(items) == 0 {
		return term{}
	}
	t := p.counted(p.item(items[0]))
	if len(core.OrderBy) == 1 && core.Limit != nil {
		if o := p.counted(p.term(core.OrderBy[0].Expr)); joined(o.words) == joined(t.words) && len(t.words) > 0 {
			return term{words: append([]string{extreme(o, core.OrderBy[0].Order == ast.SortDesc)}, p.of(t)...), date: t.date}
		}
	}
	return t
}

// extreme names an end of an order.
func extreme(t term, descending bool) string {
	switch {
	case t.date && descending:
		return "latest"
	case t.date:
		return "earliest"
	case t.named && descending:
		return "last"
	case t.named:
		return "first"
	case descending:
		return "highest"
	default:
		return "lowest"
	}
}

// unwrap takes off parentheses, casts and rounding.
func unwrap(e ast.Expr) ast.Expr {
	for {
		switch x := e.(type) {
		case *ast.ParenExpr:
			e = x.X
		case *ast.CastExpr:
			e = x.X
		case *ast.FuncCall:
			if !strings.EqualFold(x.Name.Name, "round") || len(x.Args) == 0 {
				return e
			}
			e = x.Args[0]
		default:
			return e
		}
	}
}

// factors flattens products and quotients: what is multiplied, what divides, and whether a factor of 100 makes it a
// percentage. Constants are left out.
func (p *terms) factors(e ast.Expr, over, under *[]ast.Expr, percent *bool) {
	e = unwrap(e)
	if v, ok := p.q.Literal(e); ok {
		if v == int64(100) || v == 100.0 {
			*percent = true
		}
		return
	}
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == ast.OpMul {
		p.factors(b.X, over, under, percent)
		p.factors(b.Y, over, under, percent)
		return
	}
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == ast.OpDiv {
		p.factors(b.X, over, under, percent)
		p.factors(b.Y, under, over, percent)
		return
	}
	*over = append(*over, e)
}

func (p *terms) binary(e *ast.BinaryExpr) term {
	switch e.Op {
	case ast.OpMul, ast.OpDiv:
		return p.quotient(e)
	case ast.OpSub:
		return p.difference(e)
	case ast.OpAdd:
		return p.sum(e)
	case ast.OpConcat:
		return p.list([]ast.Expr{e.X, e.Y}, "and")
	case ast.OpMod:
		t := p.counted(p.term(e.X))
		return term{words: append(slices.Clone(t.words), "remainder"), table: t.table}
	default:
		t := p.refsIn(e)
		t.words = append(slices.Clone(t.words), "check")
		return t
	}
}

func (p *terms) quotient(e *ast.BinaryExpr) term {
	var over, under []ast.Expr
	percent := false
	p.factors(e, &over, &under, &percent)
	switch {
	case len(over) == 1 && len(under) == 1:
		return p.ratio(over[0], under[0], percent)
	case len(over) == 1 && len(under) == 0:
		return p.counted(p.term(over[0]))
	case len(under) == 0:
		t := p.list(over, "times")
		return term{words: t.words, table: t.table}
	case len(over) == 0:
		t := p.counted(p.term(under[0]))
		return term{words: append([]string{"inverse"}, t.words...)}
	default:
		t, u := p.list(over, "times"), p.list(under, "times")
		return term{words: append(append(slices.Clone(t.words), "per"), u.words...), table: t.table}
	}
}

func (p *terms) ratio(over, under ast.Expr, percent bool) term {
	x, y := p.term(over), p.term(under)
	kind := "ratio"
	if percent {
		kind = "percentage"
	}
	sum, isCall := over.(*ast.FuncCall)
	summed := isCall && (strings.EqualFold(sum.Name.Name, "sum") || strings.EqualFold(sum.Name.Name, "total"))
	switch {
	case x.count && y.count && slices.Contains(x.words, "with"):
		if !percent {
			kind = "share"
		}
		return term{words: append([]string{kind, "of"}, x.words...), table: x.table}
	case summed && y.count && !percent && !x.count && len(x.words) > 1 && x.words[0] == "total":
		return term{words: append([]string{"average"}, x.words[1:]...), date: x.date}
	case summed && y.count && !percent && x.count:
		return term{words: append([]string{"average"}, p.counted(x).words...)}
	}
	x, y = p.counted(x), p.counted(y)
	if f, ok := under.(*ast.FuncCall); ok && f.Distinct && joined(x.words) == joined(y.words) {
		y.words = append([]string{"distinct"}, y.words...)
	}
	if f, ok := over.(*ast.FuncCall); ok && f.Distinct && joined(x.words) == joined(y.words) {
		x.words = append([]string{"distinct"}, x.words...)
	}
	switch {
	case len(y.words) == 0 || joined(x.words) == joined(y.words):
		return term{words: append(slices.Clone(x.words), kind), table: x.table}
	case len(x.words) == 0:
		return term{words: append(slices.Clone(y.words), kind), table: y.table}
	case percent:
		return term{words: append(append(slices.Clone(x.words), kind, "of"), y.words...), table: x.table}
	default:
		return term{words: append(append(append(slices.Clone(x.words), "to"), y.words...), kind), table: x.table}
	}
}

// difference names a difference: of dates the time between them, of the same things their difference.
func (p *terms) difference(e *ast.BinaryExpr) term {
	x, y := p.counted(p.term(e.X)), p.counted(p.term(e.Y))
	today := func(t term) bool { return len(t.words) == 2 && t.words[0] == "current" }
	switch {
	case len(y.words) == 0:
		return x
	case len(x.words) == 0:
		return y
	case today(x):
		return term{words: append([]string{"years", "since"}, sinceWords(y)...), table: y.table}
	case joined(x.words) == joined(y.words):
		return term{words: append(slices.Clone(x.words), "difference"), table: x.table}
	case ends(x.words, "year") && ends(y.words, "year"):
		return term{words: append(append(append([]string{"years", "from"}, sinceWords(y)...), "to"), sinceWords(x)...)}
	case x.date && y.date:
		return term{words: append(append(append([]string{"time", "from"}, y.words...), "to"), x.words...)}
	default:
		return term{words: append(append(slices.Clone(x.words), "minus"), y.words...), table: x.table}
	}
}

func ends(words []string, last string) bool { return len(words) > 1 && words[len(words)-1] == last }

// sinceWords takes the part of a date off again.
func sinceWords(t term) []string {
	if n := len(t.words); n > 1 && t.words[n-1] == "year" {
		return t.words[:n-1]
	}
	return t.words
}

func (p *terms) sum(e *ast.BinaryExpr) term {
	x, y := p.counted(p.term(e.X)), p.counted(p.term(e.Y))
	switch {
	case len(y.words) == 0:
		return x
	case len(x.words) == 0:
		return y
	case joined(x.words) == joined(y.words):
		return x
	default:
		return term{words: append(append(slices.Clone(x.words), "plus"), y.words...), table: x.table}
	}
}
