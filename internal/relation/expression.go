package relation

import "github.com/seatrial/seatrial/internal/universe"

// Levels of an expression: where in a SELECT it can stand.
const (
	levelRow       = iota // of single rows
	levelAggregate        // of groups
	levelWindow           // of all rows that are left
)

// expression is SQL with holes. Expressions do not change after they are made, so that they can be shared.
type expression struct {
	parts []part
	level int
	size  int // of its text, in parts, with everything in it
}

// part is a piece of an expression: text, a value to be bound, a column of the node's source, another expression, or the
// rows of another relation.
type part struct {
	text   string
	bound  bool
	value  universe.Value
	column int // above 0: the column at column-1
	inner  *expression
	rows   *node
}

// maxSize bounds an expression, in parts: an agent that multiplies a key by itself again and again doubles it each time.
const maxSize = 20_000

func columnOf(i int) *expression { return &expression{parts: []part{{column: i + 1}}, size: 1} }

// columnLike is a column of a wrapped relation.
func columnLike(i int, _ *expression) *expression { return columnOf(i) }

func bind(v universe.Value) *expression {
	return &expression{parts: []part{{bound: true, value: v}}, size: 1}
}

// sql joins texts (string) and expressions into one.
func sql(pieces ...any) *expression {
	e := &expression{}
	for _, p := range pieces {
		switch p := p.(type) {
		case string:
			e.parts = append(e.parts, part{text: p})
			e.size++
		case *expression:
			e.parts = append(e.parts, part{inner: p})
			e.size += p.size
			e.level = max(e.level, p.level)
		case *node:
			e.parts = append(e.parts, part{rows: p})
			e.size += p.size()
		}
	}
	return e
}

// at gives an expression a level.
func (e *expression) at(level int) *expression {
	c := *e
	c.level = level
	return &c
}

// size counts the parts of everything in a node.
func (n *node) size() int {
	total := 1
	add := func(list []*expression) {
		for _, e := range list {
			total += e.size
		}
	}
	add(n.where)
	add(n.group)
	add(n.having)
	for i := range n.keys {
		if n.keys[i].value.size > 1 {
			total += n.keys[i].value.size
		}
	}
	for _, t := range n.order {
		total += t.value.size
	}
	switch {
	case n.input != nil:
		total += n.input.size()
	case n.set != nil:
		total += n.set.left.size() + n.set.right.size()
	case n.join != nil:
		total += n.join.left.size() + n.join.right.size()
	}
	return total
}

// columns marks the columns of the source that an expression reads.
func (e *expression) columns(used map[int]bool) {
	for i := range e.parts {
		switch p := &e.parts[i]; {
		case p.column > 0:
			used[p.column-1] = true
		case p.inner != nil:
			p.inner.columns(used)
		}
	}
}
