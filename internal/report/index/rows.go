package index

import (
	"context"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/report"
)

// OfRows returns rows that do not change, such as those of a bundle, in their order.
func OfRows(rows []report.Row) Source {
	s := rowSource{byID: map[string]*Entry{}}
	for i := range rows {
		id := rows[i].Grade.Episode
		s.order = append(s.order, id)
		s.byID[id] = &Entry{Row: rows[i], Position: i}
	}
	return s
}

type rowSource struct {
	order []string
	byID  map[string]*Entry
}

func (s rowSource) State(context.Context) (string, error) {
	return strings.Join(s.order, " ") + ".", nil
}

func (s rowSource) Digests(_ context.Context, visit func(id, digest string) error) error {
	for _, id := range slices.Sorted(slices.Values(s.order)) {
		if err := visit(id, ""); err != nil {
			return err
		}
	}
	return nil
}

func (s rowSource) Each(_ context.Context, ids []string, visit func(*Entry) error) error {
	if ids == nil {
		ids = s.order
	}
	for _, id := range ids {
		if err := visit(s.byID[id]); err != nil {
			return err
		}
	}
	return nil
}

// Request implements [Source]. Rows do not know it.
func (s rowSource) Request(string) string { return "" }
