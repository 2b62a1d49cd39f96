package view

import (
	"html/template"
	"sync"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/report/figures"
	"github.com/seatrial/seatrial/internal/report/papers"
	"github.com/seatrial/seatrial/internal/report/table"
)

// chartsView is the page of all charts and tables.
type chartsView struct {
	Charts  []template.HTML
	Lacking []figures.Entry
	Tables  []*table.Table
}

// drawn is the page of charts as it was drawn last. Drawing grades the whole run, so it is done once for each version.
type drawn struct {
	mu      sync.Mutex
	version int
	view    *chartsView
}

func (s *Server) charts(q *request) (*pageData, error) {
	run, err := opened(q)
	if err != nil {
		return nil, err
	}
	if n := q.run.Index.Episodes(); n > maxCompared {
		return nil, diag.Usagef("%s episodes are too many to draw on a page", count(n)).
			WithHint("seatrial plot RUN, seatrial report RUN --full")
	}
	d := &q.run.drawn
	d.mu.Lock()
	defer d.mu.Unlock()
	if version := q.run.Index.Version(); d.view == nil || d.version != version {
		rows, err := run.Rows(q.Context())
		if err != nil {
			return nil, err
		}
		source, err := figures.Of(papers.Input{Sets: []papers.Set{run.Set(q.run.Name, rows)}})
		if err != nil {
			return nil, err
		}
		list, lacking, err := source.All()
		if err != nil {
			return nil, err
		}
		d.version, d.view = version, &chartsView{Lacking: lacking, Tables: source.Report.Tables()}
		for _, c := range list {
			d.view.Charts = append(d.view.Charts, template.HTML(c.Figure())) //nolint:gosec // the chart escapes its texts
		}
	}
	return &pageData{Title: "Charts and tables", Name: "charts", Section: "charts", Body: d.view}, nil
}
