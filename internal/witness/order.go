package witness

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/sqlast"
	"github.com/seatrial/seatrial/internal/universe"
	"github.com/sqlc-dev/meyer/ast"
)

// KeysError says that the ORDER BY values of a result's rows cannot be had, so that nothing can be said about which rows
// tie.
type KeysError struct{ Message string }

func (e *KeysError) Error() string { return "the ORDER BY values cannot be had: " + e.Message }

// Blocks gives the sizes of the runs of rows in r, a result of q on the database behind w, whose order is free among
// themselves because their ORDER BY values are equal; nil where the outermost SELECT orders nothing. They add up to the
// number of rows. A [KeysError] says that DISTINCT leaves rows without one ORDER BY value, or that r is not a result of q
// on this database.
func Blocks(ctx context.Context, w Querier, q *sqlast.Query, r *universe.Result) ([]int, error) {
	d := newDetector(q)
	if len(sqlast.Last(q.Stmt).OrderBy) == 0 {
		return nil, nil
	}
	o := d.orderOf(site{statement: q.Stmt})
	inResult := true
	for _, k := range o.keys {
		inResult = inResult && k.position >= 0
	}
	keys := make([]string, len(r.Rows))
	if inResult {
		for i, row := range r.Rows {
			for _, k := range o.keys {
				if k.position >= len(row) {
					return nil, &KeysError{"the result has fewer columns than the query"}
				}
				keys[i] += keyText(row[k.position], k.column)
			}
		}
	} else {
		rows, err := d.keyed(ctx, w, o, d.p.Tail(q.Stmt))
		if err != nil {
			return nil, err
		}
		if len(rows) != len(r.Rows) {
			return nil, &KeysError{fmt.Sprintf("with them the query returns %d rows, without them %d", len(rows), len(r.Rows))}
		}
		for i, row := range rows {
			keys[i] = row.key
		}
	}
	blocks := []int{}
	for i := range keys {
		if i > 0 && keys[i] == keys[i-1] {
			blocks[len(blocks)-1]++
		} else {
			blocks = append(blocks, 1)
		}
	}
	return blocks, nil
}

func newDetector(q *sqlast.Query) *detector {
	return &detector{facts: facts{q: q}, p: q.Printer(q.Stmt)}
}

// keyedRow is a row of the outermost statement with its ORDER BY values in one text that is equal where they tie.
type keyedRow struct {
	key string
	row universe.Row
}

// keyed runs the outermost statement, ended by tail, with its ORDER BY values beside its columns.
func (d *detector) keyed(ctx context.Context, w Querier, o order, tail string) ([]keyedRow, error) {
	s := d.q.Stmt
	core := sqlast.Last(s)
	text := d.cores(s, false)
	if len(s.Cores) == 1 {
		text = withColumns(d.p.Core(core, false), core.Distinct == ast.DistinctDistinct, o.columns)
	}
	r, err := w.Query(ctx, d.withOf(s)+text+tail, nil)
	if err != nil {
		return nil, fmt.Errorf("asking for ORDER BY values: %w", err)
	}
	rows := make([]keyedRow, len(r.Rows))
	for i, row := range r.Rows {
		for j, k := range o.keys {
			at := j
			if len(s.Cores) > 1 {
				at = k.position
			}
			rows[i].key += keyText(row[at], k.column)
		}
		rows[i].row = row[len(o.columns):]
	}
	return rows, nil
}

func (d *detector) withOf(s *ast.SelectStmt) string {
	if s.With == nil {
		return ""
	}
	parts := make([]string, len(s.With.CTEs))
	for i, cte := range s.With.CTEs {
		parts[i] = sqlast.Quote(cte.Name.Name) + " AS (" + d.rows(cte.Select) + ")"
	}
	return "WITH " + strings.Join(parts, ", ") + " "
}

// keyText writes an ORDER BY value so that texts are equal where the values tie: as numbers, or under the collation. Of
// a computed real 12 digits count.
func keyText(v universe.Value, c sqlast.Column) string {
	switch x := v.(type) {
	case string:
		switch c.Collation {
		case "NOCASE":
			v = asciiLower(x)
		case "RTRIM":
			v = strings.TrimRight(x, " ")
		}
	case float64:
		if c.Computed {
			x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
			v = x
		}
		if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			v = int64(x)
		}
	}
	return string(universe.AppendValue(nil, v)) + "\x1f"
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// RightSet is the results of a query on one database that some order of the visit gives: rows strictly within the cuts of
// its outermost statement are in all of them, the rest is drawn from the runs of tied rows that the cuts part, each row as
// often as it is there. Computed reals count to 12 digits.
type RightSet struct {
	segments []segment
	output   []sqlast.Column
}

// segment is the part of a run of tied rows that lies within the cuts: so many of the rows, whichever.
type segment struct {
	rows   []universe.Row // the whole run, in the order in which SQLite gives it without the cuts
	texts  []string       // equal where rows count as equal
	counts map[string]int // by text
	taken  int
}

// RightResults gives the right results of q on the database behind w, where the only construct that depends on the order
// of the visit is a tie across a cut of the outermost statement, or where none does; nil where they cannot be given so.
// Errors are those of w.
func RightResults(ctx context.Context, w Querier, q *sqlast.Query) (*RightSet, error) {
	d := newDetector(q)
	d.statement(site{statement: q.Stmt, use: useAnswer})
	var others []*check
	for _, c := range d.checks {
		if !c.cut {
			others = append(others, c)
		}
	}
	if found, err := firstFinding(ctx, w, q, others); found != nil || err != nil {
		return nil, err
	}
	o := d.orderOf(site{statement: q.Stmt})
	start, count := 0, -1
	if limit := sqlast.Last(q.Stmt).Limit; limit != nil {
		n, okCount := literalInt(limit.Count)
		from, okStart := int64(0), true
		if limit.Offset != nil {
			from, okStart = literalInt(limit.Offset)
		}
		if !okCount || !okStart || n > math.MaxInt32 || from > math.MaxInt32 {
			return nil, nil
		}
		start, count = int(max(from, 0)), int(max(n, -1))
	}
	rows, err := d.keyed(ctx, w, o, d.orderTail(q.Stmt))
	if err != nil {
		return nil, err
	}
	return rightSet(rows, start, count, d.q.Output(q.Stmt)), nil
}

// orderTail prints the ORDER BY of a statement without its LIMIT, with a blank in front.
func (d *detector) orderTail(s *ast.SelectStmt) string {
	text := d.p.Tail(s)
	if limit := sqlast.Last(s).Limit; limit != nil {
		end := " LIMIT " + d.p.Expr(limit.Count)
		if limit.Offset != nil {
			end += " OFFSET " + d.p.Expr(limit.Offset)
		}
		text = strings.TrimSuffix(text, end)
	}
	return text
}

func rightSet(rows []keyedRow, start, count int, output []sqlast.Column) *RightSet {
	end := len(rows)
	if count >= 0 {
		end = min(end, start+count)
	}
	set := &RightSet{output: output}
	for i := 0; i < len(rows); {
		j := i
		for j < len(rows) && rows[j].key == rows[i].key {
			j++
		}
		if taken := min(j, end) - max(i, start); taken > 0 {
			g := segment{counts: map[string]int{}, taken: taken}
			for _, r := range rows[i:j] {
				text := rowText(r.row, output)
				g.rows, g.texts = append(g.rows, r.row), append(g.texts, text)
				g.counts[text]++
			}
			set.segments = append(set.segments, g)
		}
		i = j
	}
	return set
}

// Accepts says whether a result is one of the right ones: as a list of tie blocks where the outermost SELECT orders its
// rows, else as a bag.
func (s *RightSet) Accepts(r *universe.Result) bool {
	rest := r.Rows
	for _, g := range s.segments {
		if len(rest) < g.taken {
			return false
		}
		seen := map[string]int{}
		for _, row := range rest[:g.taken] {
			text := rowText(row, s.output)
			if seen[text]++; seen[text] > g.counts[text] {
				return false
			}
		}
		rest = rest[g.taken:]
	}
	return len(rest) == 0
}

// List gives the rows of every right result, no two of which are equal up to the order of rows that tie, in an order that
// does not depend on the visit. complete is false, and nothing is listed, where there are more than most. The sizes of tie
// blocks are the same in all of them: those that [Blocks] gives of any.
func (s *RightSet) List(most int) (results [][]universe.Row, complete bool) {
	results = [][]universe.Row{nil}
	for i := range s.segments {
		choices, complete := s.segments[i].choices(most)
		if !complete || len(results)*len(choices) > most {
			return nil, false
		}
		var longer [][]universe.Row
		for _, before := range results {
			for _, rows := range choices {
				longer = append(longer, slices.Concat(before, rows))
			}
		}
		results = longer
	}
	return results, most > 0
}

// choices lists the parts of a run of tied rows that can be taken, where there are at most most.
func (g *segment) choices(most int) (list [][]universe.Row, complete bool) {
	if g.taken == len(g.rows) || len(g.counts) == 1 {
		return [][]universe.Row{g.rows[:g.taken]}, true
	}
	// There are as many parts of one row as different rows, and, their numbers by size being symmetric and rising to the
	// middle, no fewer of any other size.
	if len(g.counts) > most {
		return nil, false
	}
	texts := slices.Sorted(maps.Keys(g.counts))
	copies, rest := make([][]universe.Row, len(texts)), make([]int, len(texts)+1)
	for i := len(texts) - 1; i >= 0; i-- {
		for j, text := range g.texts {
			if text == texts[i] {
				copies[i] = append(copies[i], g.rows[j])
			}
		}
		rest[i] = rest[i+1] + len(copies[i])
	}
	var pick func(at, left int, rows []universe.Row)
	pick = func(at, left int, rows []universe.Row) {
		if left == 0 {
			list = append(list, rows)
			return
		}
		for n := min(left, len(copies[at])); n >= max(0, left-rest[at+1]) && len(list) <= most; n-- {
			pick(at+1, left-n, slices.Concat(rows, copies[at][:n]))
		}
	}
	pick(0, g.taken, nil)
	if len(list) > most {
		return nil, false
	}
	return list, true
}

// rowText writes a row so that texts are equal where rows count as equal.
func rowText(row universe.Row, output []sqlast.Column) string {
	var b []byte
	for i, v := range row {
		if x, ok := v.(float64); ok && i < len(output) && output[i].Computed {
			v, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
		}
		b = append(universe.AppendValue(b, v), 0x1f)
	}
	return string(b)
}
