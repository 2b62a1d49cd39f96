package database

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/schema"
	"github.com/seatrial/seatrial/internal/universe"
)

// witnessRows is about how many rows of witnesses a neighbour takes.
const witnessRows = 160

// maxSpread bounds in how many neighbours one witness stands.
const maxSpread = 8

// Grow makes n neighbours: databases with the recipe's schema and keys and other rows, with NULLs, duplicates and ties,
// planted values and witnesses. Primary, unique and foreign keys and NOT NULL hold. The k-th neighbour depends on recipe,
// seed, k and n alone.
func Grow(ctx context.Context, r *Recipe, seed uint64, n int) ([]*World, error) {
	return GrowFirst(ctx, r, seed, n, n)
}

// GrowFirst makes the first keep of the n neighbours that [Grow] makes.
func GrowFirst(ctx context.Context, r *Recipe, seed uint64, n, keep int) ([]*World, error) {
	pools, err := r.pools(ctx)
	if err != nil {
		return nil, err
	}
	order := dependencyOrder(r.Schema)
	shares := r.deal(seed, n)
	worlds := make([]*World, 0, keep)
	for k := range keep {
		g := newGrower(r.Schema, pools, order, seed, k)
		g.base()
		for _, w := range shares[k] {
			g.witness(&r.Witnesses[w])
		}
		w, err := Memory(r.Schema, g.rows, r.options())
		if err != nil {
			for _, made := range worlds {
				_ = made.Close() // in memory: nothing can be lost
			}
			return nil, fmt.Errorf("neighbour %d: %w", k+1, err)
		}
		worlds = append(worlds, w)
	}
	return worlds, nil
}

func (r *Recipe) options() Options {
	if r.World == nil {
		return Options{}
	}
	return r.World.options
}

// deal gives each neighbour its share of the witnesses: every witness stands in at least one, in as many as there is room
// for, in an order drawn from seed.
func (r *Recipe) deal(seed uint64, n int) [][]int {
	total := 0
	for i := range r.Witnesses {
		total += len(r.Witnesses[i].Rows)
	}
	shares := make([][]int, n)
	if total == 0 || n == 0 {
		return shares
	}
	spread := min(max(n*witnessRows/total, 1), maxSpread, n)
	order := universe.Draw(seed, "deal").Perm(len(r.Witnesses))
	at := 0
	for range spread {
		for _, w := range order {
			shares[at%n] = append(shares[at%n], w)
			at++
		}
		at += 5 // so that a witness does not meet the same ones again
	}
	return shares
}

// dependencyOrder lists the tables so that foreign keys point to earlier ones, as far as they have no cycles.
func dependencyOrder(sch *schema.Database) []int {
	state := make([]int, len(sch.Tables))
	var order []int
	var visit func(i int)
	visit = func(i int) {
		if state[i] != 0 {
			return
		}
		state[i] = 1
		for _, k := range sch.Tables[i].ForeignKeys {
			if j := tableIndex(sch, k.Target); j >= 0 {
				visit(j)
			}
		}
		order = append(order, i)
	}
	for i := range sch.Tables {
		visit(i)
	}
	return order
}

func tableIndex(sch *schema.Database, name string) int {
	return slices.IndexFunc(sch.Tables, func(t schema.Table) bool { return strings.EqualFold(t.Name, name) })
}

// character says what kind of neighbour is grown.
type character struct {
	least, most int     // rows of a table
	nulls       float64 // share of NULL in columns that may hold it
	domain      int     // at most so many values a column; 0 for no bound
	empty       float64 // share of tables without rows
}

var characters = []character{
	{8, 16, 0.10, 0, 0}, {3, 8, 0.10, 0, 0}, {10, 18, 0.05, 3, 0}, {6, 14, 0.30, 0, 0}, {12, 22, 0, 0, 0}, {5, 12, 0.10, 6, 0.12},
	{1, 3, 0.10, 0, 0}, {8, 20, 0.15, 4, 0},
}

// grower makes the rows of one neighbour.
type grower struct {
	sch    *schema.Database
	pools  [][]*pool
	order  []int
	draw   *rand.Rand
	char   character
	rows   [][]universe.Row
	locked [][]bool // rows that a witness counts on
	domain [][][]universe.Value
	keys   [][]keyIndex // by table: what is taken, by unique key
	fresh  int64
	depth  int // of rows made for the sake of rows that refer to them
}

// maxDepth bounds how long a chain of parents is made for one row.
const maxDepth = 8

// keyIndex maps the values of a unique key to the row that holds them.
type keyIndex struct {
	columns []int
	primary bool
	taken   map[string]int
}

func newGrower(sch *schema.Database, pools [][]*pool, order []int, seed uint64, k int) *grower {
	g := &grower{
		sch: sch, pools: pools, order: order, draw: universe.Draw(seed, "neighbour", fmt.Sprint(k)),
		char: characters[k%len(characters)], rows: make([][]universe.Row, len(sch.Tables)),
		locked: make([][]bool, len(sch.Tables)), domain: make([][][]universe.Value, len(sch.Tables)),
		keys: make([][]keyIndex, len(sch.Tables)), fresh: 1000,
	}
	for i := range sch.Tables {
		t := &sch.Tables[i]
		g.domain[i] = make([][]universe.Value, len(t.Columns))
		if len(t.PrimaryKey) > 0 {
			g.keys[i] = append(g.keys[i], keyIndex{t.PrimaryKey, true, map[string]int{}})
		}
		for _, u := range t.Unique {
			g.keys[i] = append(g.keys[i], keyIndex{u, false, map[string]int{}})
		}
	}
	return g
}

func (g *grower) base() {
	for _, i := range g.order {
		if g.sch.Tables[i].View || g.draw.Float64() < g.char.empty {
			continue
		}
		for range g.char.least + g.draw.IntN(g.char.most-g.char.least+1) {
			if row, ok := g.freeRow(i, nil); ok {
				g.add(i, row)
				// A duplicate, as far as keys allow.
				if g.draw.Float64() < 0.15 {
					if twin, ok := g.freeRow(i, g.twin(i, row)); ok {
						g.add(i, twin)
					}
				}
			}
		}
	}
}

// twin fixes the columns of a row that no key holds.
func (g *grower) twin(i int, row universe.Row) map[int]universe.Value {
	fixed := map[int]universe.Value{}
	for j, v := range row {
		if !g.inKey(i, j) {
			fixed[j] = v
		}
	}
	return fixed
}

func (g *grower) inKey(i, j int) bool {
	return slices.ContainsFunc(g.keys[i], func(k keyIndex) bool { return slices.Contains(k.columns, j) })
}

func (g *grower) add(i int, row universe.Row) int {
	at := len(g.rows[i])
	g.rows[i] = append(g.rows[i], row)
	g.locked[i] = append(g.locked[i], false)
	for _, k := range g.keys[i] {
		if text, ok := keyText(row, k.columns); ok {
			k.taken[text] = at
		}
	}
	return at
}

// keyText writes the values of a key; ok is false where one is NULL, which collides with nothing.
func keyText(row universe.Row, columns []int) (text string, ok bool) {
	var b []byte
	for _, j := range columns {
		if row[j] == nil {
			return "", false
		}
		v := row[j]
		if s, isText := v.(string); isText {
			// The coarsest collation, and the coarsest affinity: what may be stored as one value counts as one.
			v = strings.ToLower(strings.TrimRight(s, " "))
			if f, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil {
				v = f
			}
		}
		if f, isReal := v.(float64); isReal && f == float64(int64(f)) {
			v = int64(f)
		}
		b = append(universe.AppendValue(b, v), 0)
	}
	return string(b), true
}

// freeRow draws a row around fixed values so that every key holds; ok is false where none was found.
func (g *grower) freeRow(i int, fixed map[int]universe.Value) (universe.Row, bool) {
	t := &g.sch.Tables[i]
	for range 6 {
		row := make(universe.Row, len(t.Columns))
		set := make([]bool, len(t.Columns))
		for j, v := range fixed {
			row[j], set[j] = v, true
		}
		if !g.refer(i, row, set) {
			continue
		}
		for j := range row {
			if !set[j] {
				row[j] = g.value(i, j)
			}
		}
		if g.unique(i, row, fixed) {
			return row, true
		}
	}
	return nil, false
}

// refer fills the columns of foreign keys from rows of their targets, and makes those rows where fixed values ask for
// them.
func (g *grower) refer(i int, row universe.Row, set []bool) bool {
	t := &g.sch.Tables[i]
	for _, k := range t.ForeignKeys {
		target := tableIndex(g.sch, k.Target)
		given := map[int]universe.Value{}
		null, free := false, false
		for n, j := range k.Columns {
			switch {
			case !set[j]:
				free = true
			case row[j] == nil:
				null = true
			default:
				given[k.TargetColumns[n]] = row[j]
			}
		}
		switch {
		case null:
			// One NULL is enough to refer to nothing.
			for _, j := range k.Columns {
				if !set[j] {
					row[j], set[j] = g.value(i, j), true
				}
			}
			continue
		case free && g.nullable(i, k.Columns) && g.draw.Float64() < g.char.nulls:
			for _, j := range k.Columns {
				if !set[j] {
					row[j], set[j] = nil, true
				}
			}
			continue
		}
		parent := g.parent(target, k, given)
		if parent == nil && target == i && len(given) == 0 && !g.nullable(i, k.Columns) {
			g.referToItself(i, k, row, set)
			continue
		}
		if parent == nil {
			if !g.nullable(i, k.Columns) || !g.clear(k.Columns, row, set) {
				return false
			}
			continue
		}
		for n, j := range k.Columns {
			row[j], set[j] = parent[k.TargetColumns[n]], true
		}
	}
	return true
}

// clear sets free columns to NULL; it fails where none is free.
func (g *grower) clear(columns []int, row universe.Row, set []bool) bool {
	done := false
	for _, j := range columns {
		if !set[j] {
			row[j], set[j], done = nil, true, true
		}
	}
	return done
}

// nullable says whether some column of a key may hold NULL.
func (g *grower) nullable(i int, columns []int) bool {
	t := &g.sch.Tables[i]
	return slices.ContainsFunc(columns, func(j int) bool { return !t.Columns[j].NotNull && !slices.Contains(t.PrimaryKey, j) })
}

// referToItself makes a row its own parent: the first row of a table that refers to itself and may not leave that out.
func (g *grower) referToItself(i int, k schema.ForeignKey, row universe.Row, set []bool) {
	for n, j := range k.Columns {
		target := k.TargetColumns[n]
		if !set[target] {
			row[target], set[target] = g.freshValue(i, target), true
		}
		row[j], set[j] = row[target], true
	}
}

// parent finds a row of target that holds the given values, or makes one; nil where keys allow none.
func (g *grower) parent(target int, k schema.ForeignKey, given map[int]universe.Value) universe.Row {
	for j, v := range given {
		stored, ok := asStored(&g.sch.Tables[target], j, v)
		if !ok {
			return nil
		}
		given[j] = stored
	}
	var candidates []universe.Row
	for _, r := range g.rows[target] {
		fits := true
		for j, v := range given {
			fits = fits && equal(r[j], v)
		}
		for _, j := range k.TargetColumns {
			fits = fits && r[j] != nil
		}
		if fits {
			candidates = append(candidates, r)
		}
	}
	if n := len(candidates); n > 0 {
		// Skewed, so that some parents have many children and some none.
		return candidates[min(g.draw.IntN(n), g.draw.IntN(n))]
	}
	if g.depth > maxDepth {
		return nil // a cycle of keys
	}
	g.depth++
	defer func() { g.depth-- }()
	fixed := map[int]universe.Value{}
	for j, v := range given {
		fixed[j] = v
	}
	for _, j := range k.TargetColumns {
		if _, known := fixed[j]; !known {
			fixed[j] = g.notNull(target, j)
		}
	}
	made, ok := g.freeRow(target, fixed)
	if !ok {
		return nil
	}
	g.add(target, made)
	return made
}

// equal compares as SQLite does under the binary collation; NULL equals NULL.
func equal(a, b universe.Value) bool {
	switch a := a.(type) {
	case universe.Blob:
		b, ok := b.(universe.Blob)
		return ok && string(a) == string(b)
	case int64:
		if f, ok := b.(float64); ok {
			return float64(a) == f
		}
	case float64:
		if i, ok := b.(int64); ok {
			return a == float64(i)
		}
	}
	if _, isBlob := b.(universe.Blob); isBlob {
		return false
	}
	return a == b
}

// unique changes the free columns of a row until no unique key collides; fixed columns stay.
func (g *grower) unique(i int, row universe.Row, fixed map[int]universe.Value) bool {
	t := &g.sch.Tables[i]
	for _, k := range g.keys[i] {
		for try := 0; ; try++ {
			text, complete := keyText(row, k.columns)
			if complete {
				if _, taken := k.taken[text]; !taken {
					break
				}
			} else if !k.primary {
				break
			}
			if try == 4 {
				return false
			}
			changed := false
			for _, j := range k.columns {
				if _, held := fixed[j]; held || g.refers(t, j) {
					continue
				}
				row[j], changed = g.freshValue(i, j), true
			}
			if !changed {
				return false
			}
		}
	}
	return true
}

func (g *grower) refers(t *schema.Table, j int) bool {
	return slices.ContainsFunc(t.ForeignKeys, func(k schema.ForeignKey) bool { return slices.Contains(k.Columns, j) })
}

// value draws a value for a free column.
func (g *grower) value(i, j int) universe.Value {
	t := &g.sch.Tables[i]
	if !t.Columns[j].NotNull && !slices.Contains(t.PrimaryKey, j) && g.draw.Float64() < g.char.nulls {
		return nil
	}
	return g.notNull(i, j)
}

func (g *grower) notNull(i, j int) universe.Value {
	if g.char.domain > 0 && !g.inKey(i, j) {
		if g.domain[i][j] == nil {
			for range g.char.domain {
				g.domain[i][j] = append(g.domain[i][j], g.pooled(i, j))
			}
		}
		return g.domain[i][j][g.draw.IntN(len(g.domain[i][j]))]
	}
	return g.pooled(i, j)
}

func (g *grower) pooled(i, j int) universe.Value {
	p := g.pools[i][j]
	pick := func(list []universe.Value) universe.Value { return list[g.draw.IntN(len(list))] }
	roll := g.draw.Float64()
	switch {
	case len(p.planted) > 0 && roll < 0.40:
		return pick(p.planted)
	case len(p.near) > 0 && roll < 0.55:
		return pick(p.near)
	case len(p.samples) > 0 && roll < 0.92:
		return pick(p.samples)
	default:
		return g.small(p.kind)
	}
}

// small draws from a small set, so that ties occur.
func (g *grower) small(kind string) universe.Value {
	n := int64(g.draw.IntN(6))
	switch kind {
	case kindInteger:
		return n
	case kindNumber:
		return float64(n) + 0.5
	case kindDate:
		return fmt.Sprintf("200%d-0%d-1%d", n, n+1, n)
	default:
		return []string{"alpha", "Beta", "gamma", "Delta", "épée", "alpha "}[n]
	}
}

// freshValue gives a value that no row of the neighbour has yet.
func (g *grower) freshValue(i, j int) universe.Value {
	g.fresh++
	switch g.pools[i][j].kind {
	case kindInteger:
		return g.fresh
	case kindNumber:
		return float64(g.fresh)
	case kindDate:
		return fmt.Sprintf("%d-%02d-%02d", 1900+g.fresh%200, 1+g.fresh%12, 1+g.fresh%28)
	default:
		return fmt.Sprintf("v%d", g.fresh)
	}
}

// witness puts the rows of a witness into the neighbour. What cannot be had without breaking a key is left out.
func (g *grower) witness(w *Witness) {
	variables := g.bindVariables(w)
	for _, at := range g.parentsFirst(w) {
		row := &w.Rows[at]
		i := tableIndex(g.sch, row.Table)
		if i < 0 {
			continue
		}
		fixed := map[int]universe.Value{}
		for _, c := range row.Cells {
			switch {
			case !c.Null && c.Var == 0 && !storable(&g.sch.Tables[i], c.Column, c.Value):
				// A row with this value cannot be stored; the rest of it still shows something.
			case c.Null:
				if !g.sch.Tables[i].Columns[c.Column].NotNull {
					fixed[c.Column] = nil
				}
			case c.Var > 0:
				if storable(&g.sch.Tables[i], c.Column, variables[c.Var]) {
					fixed[c.Column] = variables[c.Var]
				}
			default:
				fixed[c.Column] = c.Value
			}
		}
		g.place(i, fixed)
	}
}

// place adds a row with fixed values, or changes the row that holds its key already.
func (g *grower) place(i int, fixed map[int]universe.Value) {
	if row, ok := g.freeRow(i, fixed); ok {
		at := g.add(i, row)
		g.locked[i][at] = true
		return
	}
	probe := make(universe.Row, len(g.sch.Tables[i].Columns))
	for j, v := range fixed {
		probe[j] = v
	}
	for _, k := range g.keys[i] {
		text, complete := keyText(probe, k.columns)
		if !complete {
			continue
		}
		at, taken := k.taken[text]
		if !taken || g.locked[i][at] {
			continue
		}
		for j, v := range fixed {
			if !g.inKey(i, j) && !g.refers(&g.sch.Tables[i], j) && !g.referred(i, j) {
				g.rows[i][at][j] = v
			}
		}
		g.locked[i][at] = true
		return
	}
}

// referred says whether a foreign key points to a column.
func (g *grower) referred(i, j int) bool {
	for _, t := range g.sch.Tables {
		for _, k := range t.ForeignKeys {
			if strings.EqualFold(k.Target, g.sch.Tables[i].Name) && slices.Contains(k.TargetColumns, j) {
				return true
			}
		}
	}
	return false
}

// bindVariables gives each variable of a witness a value: a fresh one where it stands in a single-column key, else one
// from the pool of its first column.
func (g *grower) bindVariables(w *Witness) map[int]universe.Value {
	values := map[int]universe.Value{}
	fresh := map[int]bool{}
	for _, row := range w.Rows {
		i := tableIndex(g.sch, row.Table)
		if i < 0 {
			continue
		}
		for _, c := range row.Cells {
			if c.Var == 0 || c.Null {
				continue
			}
			if _, known := values[c.Var]; !known {
				values[c.Var] = g.pooled(i, c.Column)
			}
			alone := slices.ContainsFunc(g.keys[i], func(k keyIndex) bool { return len(k.columns) == 1 && k.columns[0] == c.Column })
			if alone && !fresh[c.Var] && !g.refers(&g.sch.Tables[i], c.Column) {
				fresh[c.Var] = true
				values[c.Var] = g.freshValue(i, c.Column)
			}
		}
	}
	return values
}

// parentsFirst orders the rows of a witness so that what is referred to is there before what refers to it.
func (g *grower) parentsFirst(w *Witness) []int {
	rank := map[string]int{}
	for n, i := range g.order {
		rank[strings.ToLower(g.sch.Tables[i].Name)] = n
	}
	order := make([]int, len(w.Rows))
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return rank[strings.ToLower(w.Rows[a].Table)] - rank[strings.ToLower(w.Rows[b].Table)]
	})
	return order
}
