package relation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/universe"
)

// renderer writes a relation as a statement.
type renderer struct {
	text    strings.Builder
	values  []universe.Value
	aliases int
}

// Statement gives the SELECT that the handle stands for; the i-th value is bound to ?i.
func (h *Handle) Statement() (statement string, values []universe.Value) {
	var r renderer
	r.rows(h.node, h.node.visible(), true)
	return r.text.String(), r.values
}

// HeadStatement gives the SELECT of the first n rows.
func (h *Handle) HeadStatement(n int) (statement string, values []universe.Value) {
	head := h.node
	if head.limit != nil || head.offset != nil {
		head = head.wrap()
	} else {
		head = head.clone()
	}
	most := int64(n)
	head.limit = &most
	var r renderer
	r.rows(head, head.visible(), true)
	return r.text.String(), r.values
}

// CountStatement gives a SELECT of the number of rows. Operations that do not change that number (sorting, transforming)
// do not change the statement either.
func (h *Handle) CountStatement() (statement string, values []universe.Value) {
	n := h.node
	for n.input != nil && !n.grouped && !n.bounded() && len(n.where) == 0 {
		n = n.input
	}
	var r renderer
	if !n.grouped && !n.bounded() {
		count := &node{table: n.table, input: n.input, set: n.set, join: n.join, where: n.where}
		count.keys = []key{{visible: true, value: sql("COUNT(*)")}}
		r.rows(count, []int{0}, false)
		return r.text.String(), r.values
	}
	r.text.WriteString("SELECT COUNT(*) FROM (")
	r.rows(n, n.visible(), n.limit != nil || n.offset != nil)
	r.text.WriteString(")")
	return r.text.String(), r.values
}

// ID is the identity of a handle: what it stands for, the values bound in it and the names of its keys.
func (h *Handle) ID() string {
	statement, values := h.Statement()
	text := make([]byte, 0, 16*len(values))
	for _, v := range values {
		text = universe.AppendValue(text, v)
		text = append(text, ',')
	}
	return universe.Hash(0, "handle", statement, string(text))
}

// rows writes the SELECT of the keys at the given positions. The order is left out where nobody can tell.
func (r *renderer) rows(n *node, out []int, ordered bool) {
	name := r.names(n)
	used := map[int]bool{}
	mark := func(e *expression) { e.columns(used) }
	r.text.WriteString("SELECT ")
	if n.distinct {
		r.text.WriteString("DISTINCT ")
	}
	for i, at := range out {
		if i > 0 {
			r.text.WriteString(", ")
		}
		value := n.keys[at].value
		if i == 0 && n.folds(out) {
			value = sql("(CASE WHEN COUNT(*) >= 0 THEN ", value, " END)")
		}
		mark(value)
		r.expression(value, name)
		fmt.Fprintf(&r.text, " AS c%d", at)
	}
	switch {
	case len(out) > 0:
	case n.folds(out):
		r.text.WriteString("COUNT(*)")
	default:
		r.text.WriteString("1")
	}
	for _, list := range [][]*expression{n.where, n.group, n.having} {
		for _, e := range list {
			mark(e)
		}
	}
	ordered = ordered || n.limit != nil || n.offset != nil
	if ordered {
		for _, t := range n.order {
			mark(t.value)
		}
	}
	r.text.WriteString(" FROM ")
	r.source(n, used, name)
	r.list(" WHERE ", " AND ", n.where, name)
	if n.grouped {
		r.list(" GROUP BY ", ", ", n.group, name)
		r.list(" HAVING ", " AND ", n.having, name)
	}
	if ordered {
		r.orderBy(n.order, name)
	}
	switch {
	case n.limit != nil:
		r.text.WriteString(" LIMIT " + strconv.FormatInt(*n.limit, 10))
	case n.offset != nil:
		r.text.WriteString(" LIMIT -1")
	}
	if n.offset != nil {
		r.text.WriteString(" OFFSET " + strconv.FormatInt(*n.offset, 10))
	}
}

// folds says whether the rows are one group that none of the columns at these positions shows: SQL then wants an aggregate
// among the columns, or else it returns every row.
func (n *node) folds(out []int) bool {
	return n.grouped && len(n.group) == 0 &&
		!slices.ContainsFunc(out, func(at int) bool { return n.keys[at].value.level != levelRow })
}

// names gives what the columns of a node's source are called within its SELECT.
func (r *renderer) names(n *node) func(int) string {
	first := r.aliases
	switch {
	case n.table != nil:
		return func(i int) string { return n.table.Keys[i].Expression }
	case n.join != nil:
		r.aliases += 2
		left := len(n.join.left.keys)
		return func(i int) string {
			if i < left {
				return fmt.Sprintf("s%d.c%d", first, i)
			}
			return fmt.Sprintf("s%d.c%d", first+1, i-left)
		}
	default:
		r.aliases++
		return func(i int) string { return fmt.Sprintf("s%d.c%d", first, i) }
	}
}

// alias gives the name of the relation in which the i-th column stands.
func alias(name func(int) string, i int) string {
	before, _, _ := strings.Cut(name(i), ".")
	return before
}

func (r *renderer) source(n *node, used map[int]bool, name func(int) string) {
	pick := func(of *node, from int) []int {
		var list []int
		for i := range of.keys {
			if used[from+i] {
				list = append(list, i)
			}
		}
		return list
	}
	nested := func(of *node, out []int, as string) {
		r.text.WriteString("(")
		r.rows(of, out, false)
		r.text.WriteString(") AS " + as)
	}
	switch {
	case n.table != nil:
		r.text.WriteString(n.table.From)
	case n.input != nil:
		nested(n.input, needed(n.input, pick(n.input, 0)), alias(name, 0))
	case n.set != nil:
		r.text.WriteString("(")
		r.branch(n.set.left)
		r.text.WriteString(" " + n.set.operator + " ")
		r.branch(n.set.right)
		r.text.WriteString(") AS " + alias(name, 0))
	case n.join != nil:
		left := len(n.join.left.keys)
		for _, pair := range n.join.on {
			used[pair[0]], used[left+pair[1]] = true, true
		}
		nested(n.join.left, needed(n.join.left, pick(n.join.left, 0)), alias(name, 0))
		r.text.WriteString(" " + n.join.kind + " ")
		nested(n.join.right, needed(n.join.right, pick(n.join.right, left)), alias(name, left))
		for i, pair := range n.join.on {
			word := " AND "
			if i == 0 {
				word = " ON "
			}
			r.text.WriteString(word + name(pair[0]) + " = " + name(left+pair[1]))
		}
	}
}

// needed adds to the columns that are read those that decide what the rows are: which rows are distinct depends on all
// columns, and which row a bare column is taken from depends on the aggregates beside it.
func needed(n *node, read []int) []int {
	if !n.distinct && !n.grouped {
		return read
	}
	list := n.visible()
	for _, i := range read {
		if !slices.Contains(list, i) {
			list = append(list, i)
		}
	}
	return list
}

// branch writes one side of a set operation: a SELECT with an order or limit of its own must be wrapped there.
func (r *renderer) branch(n *node) {
	out := n.visible()
	if n.limit == nil && n.offset == nil {
		// Names come from the left side, by position.
		plain := n.clone()
		plain.keys = nil
		for _, at := range out {
			plain.keys = append(plain.keys, n.keys[at])
		}
		plain.order = nil
		r.rows(plain, plain.visible(), false)
		return
	}
	wrapped := n.wrap()
	wrapped.order = nil
	r.rows(wrapped, wrapped.visible(), false)
}

func (r *renderer) list(before, between string, list []*expression, name func(int) string) {
	for i, e := range list {
		if i == 0 {
			r.text.WriteString(before)
		} else {
			r.text.WriteString(between)
		}
		r.expression(e, name)
	}
}

func (r *renderer) orderBy(order []orderTerm, name func(int) string) {
	for i, t := range order {
		if i == 0 {
			r.text.WriteString(" ORDER BY ")
		} else {
			r.text.WriteString(", ")
		}
		r.expression(t.value, name)
		if t.descending {
			r.text.WriteString(" DESC")
		}
		if t.nulls != "" {
			r.text.WriteString(" NULLS " + strings.ToUpper(t.nulls))
		}
	}
}

func (r *renderer) expression(e *expression, name func(int) string) {
	for i := range e.parts {
		switch p := &e.parts[i]; {
		case p.bound:
			r.values = append(r.values, p.value)
			fmt.Fprintf(&r.text, "?%d", len(r.values))
		case p.column > 0:
			r.text.WriteString(name(p.column - 1))
		case p.inner != nil:
			r.expression(p.inner, name)
		case p.rows != nil:
			r.text.WriteString("(")
			r.rows(p.rows, p.rows.visible(), true)
			r.text.WriteString(")")
		default:
			r.text.WriteString(p.text)
		}
	}
}
