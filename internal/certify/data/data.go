// Package data reads from the databases of a suite what its instances need: schemas with titles, and usual values of
// arguments. It must never know which conditions use them.
package data

import (
	"context"

	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/suite"
)

// Database is a database of a suite.
type Database struct {
	Name   string
	World  *database.World
	Schema *schema.Database
}

// Titles lists the human names of the tables and columns of a schema, in its order.
func Titles(sch *schema.Database) []suite.Title {
	var list []suite.Title
	for i := range sch.Tables {
		t := &sch.Tables[i]
		if t.Title != "" {
			list = append(list, suite.Title{Table: t.Name, Title: t.Title})
		}
		for j := range t.Columns {
			if c := &t.Columns[j]; c.Title != "" {
				list = append(list, suite.Title{Table: t.Name, Column: c.Name, Title: c.Title})
			}
		}
	}
	return list
}

// Titled reads the schema of a database and adds only titles: building and verifying both reword requests with it.
func Titled(ctx context.Context, w *database.World, name string, titles []suite.Title) (*schema.Database, error) {
	sch, err := w.Schema(ctx)
	if err != nil {
		return nil, err
	}
	sch.Name = name
	for _, title := range titles {
		t := sch.Table(title.Table)
		switch {
		case t == nil:
		case title.Column == "":
			t.Title = title.Title
		default:
			if at := t.Column(title.Column); at >= 0 {
				t.Columns[at].Title = title.Title
			}
		}
	}
	return sch, nil
}
