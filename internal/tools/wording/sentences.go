package wording

import (
	"fmt"
	"strings"

	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
	"github.com/seatrial/seatrial/internal/tools/parameter"
	"github.com/sqlc-dev/meyer/ast"
)

// Unit is a piece of the query that becomes one function: a whole statement, or one core of a compound.
type Unit struct {
	Statement *ast.SelectStmt
	Core      *ast.SelectQuery // nil for the whole statement
	LimitOne  bool             // a scalar sub-SELECT: only its first row counts
}

// Node returns the piece of the tree.
func (u Unit) Node() ast.Node {
	if u.Core != nil {
		return u.Core
	}
	return u.Statement
}

// Description is the documentation of a function before its arguments have names; marks stand for them.
type Description struct {
	Summary   string   // one sentence or more
	Arguments []string // by binding
	Noun      string   // what is returned, for readable names: `singer_name`
}

// Describe derives the documentation of a unit from its tree and the schema. Nothing in it comes from the literals.
func Describe(q *sqlast.Query, parameters map[ast.Node]*parameter.Parameter, u Unit, order []parameter.Hole) Description {
	w := NewSentences(q, parameters, u.Node(), order)
	out := Description{Arguments: make([]string, len(order))}
	switch {
	case u.Core != nil:
		out.Summary = english.Sentence("Get " + w.core(u.Core))
	case len(u.Statement.Cores) > 1 && len(order) > 0 && order[0].Node == nil:
		out.Summary = w.combination(u.Statement, order)
	default:
		out.Summary = english.Sentence("Get " + w.Statement(u.Statement))
	}
	if u.LimitOne {
		out.Summary += " Only the first row is returned."
	}
	for i, h := range order {
		out.Arguments[i] = w.argument(h)
	}
	out.Noun = w.noun(u)
	return out
}

// Sentences describes the parts of a query exactly, with marks in place of arguments.
type Sentences struct {
	q          *sqlast.Query
	holes      map[ast.Node]int
	parameters map[ast.Node]*parameter.Parameter
	labels     map[*sqlast.Source]string
	several    bool // more than one source: columns name their table
}

// NewSentences describes the piece of a query at root. The i-th of order is the i-th argument.
func NewSentences(q *sqlast.Query, parameters map[ast.Node]*parameter.Parameter, root ast.Node, order []parameter.Hole) *Sentences {
	w := &Sentences{q: q, holes: map[ast.Node]int{}, parameters: parameters, labels: map[*sqlast.Source]string{}}
	for i, h := range order {
		if h.Node != nil {
			w.holes[h.Node] = i + 1
		}
	}
	w.labelSources(root)
	return w
}

// labelSources names the sources as they are spoken of: a table by its title; a table that occurs more than once gets a
// number.
func (w *Sentences) labelSources(n ast.Node) {
	count := map[string]int{}
	var sources []*sqlast.Source
	ast.Walk(n, func(m ast.Node) bool {
		if _, replaced := m.(*ast.TableRef); w.holes[m] > 0 && !replaced {
			return false // another function's
		}
		if t, ok := m.(*ast.TableRef); ok {
			if src := w.q.SourceOf(t); src != nil {
				sources = append(sources, src)
				count[w.sourceTitle(src)]++
			}
			return w.holes[m] == 0
		}
		return true
	})
	w.several = len(sources) > 1
	seen := map[string]int{}
	for _, src := range sources {
		title := w.sourceTitle(src)
		if count[title] > 1 {
			seen[title]++
			title = fmt.Sprintf("%s #%d", title, seen[title])
		}
		w.labels[src] = title
	}
}

func (w *Sentences) sourceTitle(src *sqlast.Source) string {
	switch {
	case src.Table != nil:
		return english.Title(src.Table.Name)
	case src.CTE != nil:
		return english.Title(src.CTE.Name.Name)
	default:
		return "the inner query"
	}
}

// Statement describes a statement without a verb: "the name from singer where …".
func (w *Sentences) Statement(s *ast.SelectStmt) string {
	if len(s.Cores) == 1 {
		sel := s.Cores[0].(*ast.SelectQuery)
		return w.core(sel) + w.tail(s)
	}
	parts := make([]string, len(s.Cores))
	for i, core := range s.Cores {
		parts[i] = "(" + w.core(core.(*ast.SelectQuery)) + ")"
		if i > 0 {
			parts[i] = setWord(s.Ops[i-1]) + " " + parts[i]
		}
	}
	return strings.Join(parts, " ") + w.tail(s)
}

func setWord(op ast.CompoundOp) string {
	switch strings.ToUpper(op.Op) {
	case "UNION":
		if op.All {
			return "together with all rows of"
		}
		return "together with, without repeats,"
	case "INTERSECT":
		return "but only those that are also in"
	default:
		return "but without those that are in"
	}
}

// combination describes the function that combines given results.
func (w *Sentences) combination(s *ast.SelectStmt, order []parameter.Hole) string {
	given := 0
	for _, h := range order {
		if h.Node == nil {
			given++
		}
	}
	text := "Take the rows of " + parameter.Mark(1)
	for i := 1; i < given; i++ {
		text += " " + setWord(s.Ops[i-1]) + " " + parameter.Mark(i+1)
	}
	columns := w.q.Output(s)
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = w.outputColumn(c)
	}
	text += "; each row holds " + english.List(list)
	return english.Sentence(text + w.tail(s))
}

// outputColumn names a column of a result by where it comes from.
func (w *Sentences) outputColumn(c sqlast.Column) string {
	if c.Table != "" {
		return english.Title(c.Column) + " (" + english.Title(c.Table) + ")"
	}
	return english.Title(c.Name)
}

func (w *Sentences) tail(s *ast.SelectStmt) string {
	last := sqlast.Last(s)
	text := ""
	if len(last.OrderBy) > 0 {
		terms := make([]string, len(last.OrderBy))
		for i, t := range last.OrderBy {
			terms[i] = w.orderTerm(s, last, t)
		}
		text += ", ordered by " + strings.Join(terms, ", then by ")
	}
	if last.Limit != nil {
		text += ", only the first " + w.count(last.Limit.Count)
		if last.Limit.Offset != nil {
			text += " after leaving out " + w.count(last.Limit.Offset)
		}
	}
	return text
}

func (w *Sentences) count(e ast.Expr) string {
	text := w.expr(e)
	if text == "1" {
		return "row"
	}
	return text + " rows"
}

func (w *Sentences) orderTerm(s *ast.SelectStmt, last *ast.SelectQuery, t *ast.OrderingTerm) string {
	var text string
	if len(s.Cores) > 1 {
		e := t.Expr
		if c, ok := e.(*ast.CollateExpr); ok {
			e = c.X
		}
		if i := w.q.OutputIndex(s, e); i >= 0 {
			text = fmt.Sprintf("column %d (%s)", i+1, english.Title(w.q.Output(s)[i].Name))
		}
	} else {
		text = w.ordinal(last, t.Expr)
	}
	if t.Order == ast.SortDesc {
		text += " from high to low"
	} else {
		text += " from low to high"
	}
	switch t.Nulls {
	case ast.NullsFirst:
		text += " with missing values first"
	case ast.NullsLast:
		text += " with missing values last"
	}
	return text
}

func (w *Sentences) ordinal(s *ast.SelectQuery, e ast.Expr) string {
	if i := w.q.Ordinal(s, e); i >= 0 {
		return w.Item(w.q.Expand(s)[i])
	}
	return w.expr(e)
}

// Item describes a column of a result.
func (w *Sentences) Item(it sqlast.Item) string {
	if it.Ref != nil {
		return w.ref(it.Ref)
	}
	return w.expr(it.Expr)
}

func (w *Sentences) core(s *ast.SelectQuery) string {
	var b strings.Builder
	if s.Distinct == ast.DistinctDistinct {
		b.WriteString("the different combinations of ")
		if len(w.q.Expand(s)) == 1 {
			b.Reset()
			b.WriteString("the different values of ")
		}
	}
	items := w.q.Expand(s)
	list := make([]string, len(items))
	for i, it := range items {
		list[i] = w.Item(it)
	}
	b.WriteString(english.List(list))
	b.WriteString(w.from(s))
	if s.Where != nil {
		b.WriteString(" where " + w.condition(s.Where))
	}
	if len(s.GroupBy) > 0 {
		terms := make([]string, len(s.GroupBy))
		for i, e := range s.GroupBy {
			terms[i] = w.ordinal(s, e)
		}
		b.WriteString(", for each " + strings.Join(terms, " and "))
	}
	if s.Having != nil {
		b.WriteString(", keeping groups where " + w.condition(s.Having))
	}
	return b.String()
}

func (w *Sentences) from(s *ast.SelectQuery) string {
	if len(s.From) == 0 {
		return ""
	}
	text := " from"
	for i, t := range s.From {
		if i > 0 {
			text += joinWord(t)
		}
		text += " " + w.table(s, t)
	}
	return text
}

func joinWord(t *ast.TableRef) string {
	j := t.Join.Type
	switch {
	case j&ast.JoinLeft != 0 && j&ast.JoinRight != 0:
		return " joined, keeping all rows of both sides, with"
	case j&ast.JoinLeft != 0:
		return " joined, keeping rows without a match, with"
	case j&ast.JoinRight != 0:
		return " joined, keeping rows of the right side without a match, with"
	default:
		return " joined with"
	}
}

func (w *Sentences) table(s *ast.SelectQuery, t *ast.TableRef) string {
	text := ""
	src := w.q.SourceOf(t)
	switch {
	case t.List != nil:
		inner := make([]string, len(t.List))
		for i, l := range t.List {
			inner[i] = w.table(s, l)
			if i > 0 {
				inner[i] = strings.TrimSpace(joinWord(l)) + " " + inner[i]
			}
		}
		text = "(" + strings.Join(inner, " ") + ")"
	case w.holes[t] > 0:
		text = "the given rows " + parameter.Mark(w.holes[t])
		w.labels[src] = parameter.Mark(w.holes[t])
	case src.Select != nil:
		text = w.labels[src] + " (" + w.Statement(src.Select) + ")"
	default:
		text = w.labels[src]
	}
	var on []string
	if t.On != nil {
		on = append(on, w.condition(t.On))
	}
	if src != nil {
		for _, c := range w.q.SharedColumns(s, src) {
			on = append(on, "both have the same "+english.Title(c))
		}
	}
	if len(on) > 0 {
		text += " on " + strings.Join(on, " and ")
	}
	return text
}

func (w *Sentences) ref(r *sqlast.Ref) string {
	c := r.Col()
	name := english.Title(c.Name)
	if r.Source.Table != nil && r.Column >= 0 {
		if title := r.Source.Table.Columns[r.Column].Title; title != "" {
			name = title
		}
	}
	if !w.several {
		return name
	}
	label := w.labels[r.Source]
	if label == "" {
		label = r.Source.Name
	}
	return name + " of " + label
}

// condition writes a condition; an alternative inside stands in parentheses.
func (w *Sentences) condition(e ast.Expr) string {
	parts := sqlast.Conjuncts(e)
	texts := make([]string, len(parts))
	for i, c := range parts {
		texts[i] = w.expr(c)
		if b, ok := c.(*ast.BinaryExpr); ok && b.Op == ast.OpOr && len(parts) > 1 {
			texts[i] = "(" + texts[i] + ")"
		}
	}
	return strings.Join(texts, " and ")
}

var comparisons = map[ast.Operator]string{
	ast.OpEq: "is", ast.OpNe: "is not", ast.OpLt: "is less than", ast.OpLe: "is at most", ast.OpGt: "is greater than",
	ast.OpGe: "is at least", ast.OpAnd: "and", ast.OpOr: "or", ast.OpAdd: "plus", ast.OpSub: "minus", ast.OpMul: "times",
	ast.OpDiv: "divided by", ast.OpMod: "modulo", ast.OpConcat: "followed by",
}

func (w *Sentences) expr(e ast.Expr) string {
	if n := w.holes[e]; n > 0 {
		return parameter.Mark(n)
	}
	switch e := e.(type) {
	case *ast.Ident:
		return w.ident(e)
	case *ast.QualifiedRef:
		return w.ref(w.q.Ref(e))
	case *ast.Literal:
		if e.Kind == ast.LitString {
			return "“" + e.Value + "”"
		}
		return strings.ToLower(e.Raw)
	case *ast.ParenExpr:
		return "(" + w.expr(e.X) + ")"
	case *ast.UnaryExpr:
		if e.Op == ast.OpNot {
			return "it is not so that " + w.expr(e.X)
		}
		return e.Op.String() + w.expr(e.X)
	case *ast.BinaryExpr:
		if word := comparisons[e.Op]; word != "" {
			return w.expr(e.X) + " " + word + " " + w.expr(e.Y)
		}
		return w.expr(e.X) + " " + e.Op.String() + " " + w.expr(e.Y)
	case *ast.LikeExpr:
		return w.like(e)
	case *ast.IsExpr:
		return w.expr(e.X) + english.Either(e.Not != e.Distinct, " is ", " is not ") + w.missing(e.Y)
	case *ast.NullCheckExpr:
		return w.expr(e.X) + english.Either(e.Test != ast.TestIsNull, " is missing", " is known")
	case *ast.BetweenExpr:
		return w.expr(e.X) + english.Either(e.Not, " is between ", " is not between ") + w.expr(e.Lo) + " and " + w.expr(e.Hi) +
			" (inclusive)"
	case *ast.InExpr:
		return w.in(e)
	case *ast.CaseExpr:
		return w.caseExpr(e)
	case *ast.CastExpr:
		return w.expr(e.X) + " (as " + strings.ToLower(e.Type.Raw) + ")"
	case *ast.CollateExpr:
		return w.expr(e.X) + " (compared by " + strings.ToLower(e.Name.Name) + ")"
	case *ast.FuncCall:
		return w.call(e)
	case *ast.ExistsExpr:
		if n := w.holes[e.Select]; n > 0 {
			return parameter.Mark(n) + " holds any row"
		}
		return "there is any row among (" + w.Statement(e.Select) + ")"
	case *ast.SubqueryExpr:
		return "(" + w.Statement(e.Select) + ")"
	case *ast.VectorExpr:
		return "(" + w.list(e.List) + ")"
	default:
		return w.q.Text(e)
	}
}

func (w *Sentences) missing(e ast.Expr) string {
	if l, ok := e.(*ast.Literal); ok && l.Kind == ast.LitNull {
		return "missing"
	}
	return w.expr(e)
}

func (w *Sentences) ident(e *ast.Ident) string {
	if ref := w.q.Ref(e); ref != nil {
		return w.ref(ref)
	}
	if c := w.q.Alias(e); c != nil {
		return w.expr(c.Expr)
	}
	if w.q.IsText(e) {
		return "“" + e.Name + "”"
	}
	return strings.ToLower(e.Name)
}

func (w *Sentences) list(list []ast.Expr) string {
	texts := make([]string, len(list))
	for i, e := range list {
		texts[i] = w.expr(e)
	}
	return strings.Join(texts, ", ")
}

func (w *Sentences) like(e *ast.LikeExpr) string {
	value := w.expr(e.Y)
	p := w.parameters[sqlast.Unparen(e.Y)]
	text := ""
	switch {
	case p == nil || w.holes[p.Node] == 0 || p.Before == "" && p.After == "":
		text = english.Either(e.Not, " matches the ", " does not match the ") + strings.ToUpper(e.Op.Name) + " pattern " + value
	case p.Before != "" && p.After != "":
		text = english.Either(e.Not, " contains ", " does not contain ") + value
	case p.After != "":
		text = english.Either(e.Not, " begins with ", " does not begin with ") + value
	default:
		text = english.Either(e.Not, " ends with ", " does not end with ") + value
	}
	if e.Escape != nil {
		text += " with escape character " + w.expr(e.Escape)
	}
	return w.expr(e.X) + text
}

func (w *Sentences) in(e *ast.InExpr) string {
	word := english.Either(e.Not, " is one of ", " is none of ")
	switch {
	case e.Select == nil:
		return w.expr(e.X) + word + "(" + w.list(e.List) + ")"
	case w.holes[e.Select] > 0:
		return w.expr(e.X) + word + parameter.Mark(w.holes[e.Select])
	default:
		return w.expr(e.X) + word + "(" + w.Statement(e.Select) + ")"
	}
}

func (w *Sentences) caseExpr(e *ast.CaseExpr) string {
	var b strings.Builder
	b.WriteString("(")
	for i, c := range e.Whens {
		if i > 0 {
			b.WriteString("; ")
		}
		when := w.expr(c.When)
		if e.Operand != nil {
			when = w.expr(e.Operand) + " is " + when
		}
		b.WriteString(w.expr(c.Then) + " if " + when)
	}
	if e.Else != nil {
		b.WriteString("; else " + w.expr(e.Else))
	}
	b.WriteString(")")
	return b.String()
}

var aggregateWords = map[string]string{
	"avg": "the average of ", "sum": "the sum of ", "total": "the total of ", "max": "the highest ", "min": "the lowest ",
	"count": "the number of known values of ", "group_concat": "the list of ", "length": "the length of ",
	"lower": "the lower-case form of ", "upper": "the upper-case form of ", "abs": "the absolute value of ",
}

func (w *Sentences) call(e *ast.FuncCall) string {
	name := strings.ToLower(e.Name.Name)
	var text string
	word := aggregateWords[name]
	switch {
	case e.Star:
		text = "the number of rows"
	case e.Distinct && name == "count":
		text = "the number of different values of " + w.list(e.Args)
	case e.Distinct && word != "":
		text = word + "the different values of " + w.list(e.Args)
	case word != "" && len(e.Args) == 1:
		text = word + w.list(e.Args)
	default:
		text = name + "(" + w.list(e.Args) + ")"
		if e.Distinct {
			text = name + "(different " + w.list(e.Args) + ")"
		}
	}
	if e.Filter != nil {
		text += " where " + w.expr(e.Filter)
	}
	if e.Over != nil {
		text += " over a window"
		if len(e.Over.Partition) > 0 {
			text += " for each " + w.list(e.Over.Partition)
		}
		for i, t := range e.Over.OrderBy {
			text += english.Either(i > 0, " ordered by ", ", ") + w.expr(t.Expr) + english.Either(t.Order == ast.SortDesc, "",
				" from high to low")
		}
	}
	return text
}

// argument describes one argument.
func (w *Sentences) argument(h parameter.Hole) string {
	column := ""
	if h.Binding.Column != "" {
		column = w.columnNote(h.Binding.Table, h.Binding.Column)
	} else if p := w.parameters[h.Node]; p != nil && p.Other != nil {
		column = w.expr(p.Other)
	}
	switch h.Binding.Role {
	case task.RoleLimit:
		return "How many rows to return."
	case task.RoleOffset:
		return "How many rows to leave out first."
	case task.RoleSource:
		return w.sourceArgument(h, column)
	case task.RoleLike:
		if p := w.parameters[h.Node]; p != nil && p.Before == "" && p.After == "" {
			return "A pattern for " + orValue(column) + ", in which % stands for any characters and _ for one."
		}
		return "The text to look for in " + orValue(column) +
			"; the case of ASCII letters does not count, % in it stands for any characters and _ for one."
	case task.RoleEqual:
		return "A value of " + orValue(column) + "."
	default:
		return "A value to compare " + orValue(column) + " with."
	}
}

func orValue(column string) string {
	if column == "" {
		return "the expression"
	}
	return column
}

func (w *Sentences) sourceArgument(h parameter.Hole, column string) string {
	of := ""
	if column != "" {
		of = " of " + column
	}
	switch h.Binding.Kind {
	case task.BindValue:
		return "One value" + of + ", as another function returns it; null where that returns no row."
	case task.BindList:
		return "A list of values" + of + ", as another function returns them."
	default:
		return "A list of records with " + english.List(h.Binding.Columns) + ", as another function returns them."
	}
}

// columnNote names a column with what people wrote about it.
func (w *Sentences) columnNote(table, column string) string {
	t := w.q.Schema.Table(table)
	if t == nil {
		return english.Title(column)
	}
	at := t.Column(column)
	if at < 0 {
		return english.Title(column)
	}
	c := t.Columns[at]
	name := c.Title
	if name == "" {
		name = english.Title(c.Name)
	}
	text := name + " of " + english.Title(t.Name)
	if note := Notes(c); note != "" {
		text += " (" + note + ")"
	}
	return text
}

// noun makes the core of a readable name: the main table and the first column.
func (w *Sentences) noun(u Unit) string {
	var columns []sqlast.Column
	var sel *ast.SelectQuery
	if u.Core != nil {
		sel = u.Core
		columns = w.q.CoreOutput(sel)
	} else {
		sel, _ = u.Statement.Cores[0].(*ast.SelectQuery)
		columns = w.q.Output(u.Statement)
	}
	parts := []string{}
	if sources := w.q.Sources(sel); len(sources) > 0 {
		parts = append(parts, w.sourceTitle(sources[0]))
	}
	if len(columns) > 0 {
		parts = append(parts, english.Title(columns[0].Name))
	}
	return english.Identifier(strings.Join(parts, " "))
}
