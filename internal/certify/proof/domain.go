package proof

import (
	"context"
	"fmt"

	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
)

// maxCompared bounds the rows of each of two columns whose values are compared, so that no large table ends a build.
const maxCompared = 100_000

// Columns returns the columns of a query's result as [Columns] does, with their domains: the groups of columns whose
// stored values overlap in the published database. A value tells columns of different domains apart.
func (x *Examiner) Columns(ctx context.Context, q *sqlast.Query) ([]task.Column, error) {
	columns := Columns(q)
	if !repeatsKind(columns) {
		return columns, nil
	}
	if len(q.Stmt.Cores) > 1 {
		return columns, nil // other branches may take them from elsewhere
	}
	next := 1
	for i := range columns {
		c := &columns[i]
		if c.Table == "" || c.Column == "" {
			continue
		}
		for j := range i {
			if columns[j].Domain == 0 {
				continue
			}
			overlap, err := x.overlap(ctx, &columns[j], c)
			if err != nil {
				return nil, err
			}
			if overlap {
				merge(columns[:i], c, columns[j].Domain)
			}
		}
		if c.Domain == 0 {
			c.Domain, next = next, next+1
		}
	}
	return columns, nil
}

// repeatsKind reports whether two columns may have values of one kind.
func repeatsKind(columns []task.Column) bool {
	texts := 0
	for i := range columns {
		switch columns[i].Type {
		case task.TypeText:
			texts++
		case task.TypeAny:
			return len(columns) > 1
		}
	}
	return texts > 1 || len(columns)-texts > 1
}

// merge gives a column a domain, and the columns of its former domain too.
func merge(before []task.Column, c *task.Column, domain int) {
	if former := c.Domain; former != 0 && former != domain {
		for i := range before {
			if before[i].Domain == former {
				before[i].Domain = domain
			}
		}
	}
	c.Domain = domain
}

// overlap reports whether two columns share a value.
func (x *Examiner) overlap(ctx context.Context, a, b *task.Column) (bool, error) {
	key := [4]string{a.Table, a.Column, b.Table, b.Column}
	if known, ok := x.overlaps[key]; ok {
		return known, nil
	}
	statement := fmt.Sprintf("SELECT 1 FROM (SELECT x.%s AS v FROM %s AS x LIMIT %d) WHERE v IN (SELECT y.%s FROM %s "+
		"AS y LIMIT %d) LIMIT 1", sqlast.Quote(a.Column), sqlast.Quote(a.Table), maxCompared, sqlast.Quote(b.Column),
		sqlast.Quote(b.Table), maxCompared)
	r, err := x.world.Query(ctx, statement, nil)
	if err != nil {
		return false, fmt.Errorf("values of %s.%s and %s.%s: %w", a.Table, a.Column, b.Table, b.Column, err)
	}
	x.overlaps[key] = len(r.Rows) > 0
	return x.overlaps[key], nil
}
