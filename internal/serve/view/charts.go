package view

import (
	"fmt"
	"html/template"
	"sync"

	"github.com/seatrial/seatrial/internal/report/figures"
	"github.com/seatrial/seatrial/internal/report/papers"
	"github.com/seatrial/seatrial/internal/report/runs"
	"github.com/seatrial/seatrial/internal/report/table"
)

// chartsView is the page of all charts and tables.
type chartsView struct {
	Sample  string // what part of the run is drawn, if not all
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

// maxDrawn is how many episodes a page draws or compares: more take too long for a page, and too much memory.
const maxDrawn = 300_000

func (s *Server) limit() int {
	if s.MaxDrawn > 0 {
		return s.MaxDrawn
	}
	return maxDrawn
}

// sampleNote says what part of the episodes a page shows, and which command shows all; "" if the page shows all.
func sampleNote(s *runs.Sampled, command string) string {
	if s == nil || s.Whole() {
		return ""
	}
	return fmt.Sprintf("A sample: all episodes of %s of %s tasks, %s of %s episodes. %s shows all.",
		count(s.Tasks), count(s.AllTasks), count(s.Episodes), count(s.AllEpisodes), command)
}

func (s *Server) charts(q *request) (*pageData, error) {
	run, err := opened(q)
	if err != nil {
		return nil, err
	}
	d := &q.run.drawn
	d.mu.Lock()
	defer d.mu.Unlock()
	if version := q.run.Index.Version(); d.view == nil || d.version != version {
		rows, sampled, err := runs.Sample(q.Context(), []*runs.Run{run}, s.limit())
		if err != nil {
			return nil, err
		}
		source, err := figures.Of(papers.Input{Sets: []papers.Set{run.Set(q.run.Name, rows[0])}})
		if err != nil {
			return nil, err
		}
		list, lacking, err := source.All()
		if err != nil {
			return nil, err
		}
		d.version, d.view = version, &chartsView{Sample: sampleNote(sampled, "seatrial report RUN --html FILE"),
			Lacking: lacking, Tables: source.Report.Tables()}
		for _, c := range list {
			d.view.Charts = append(d.view.Charts, template.HTML(c.Figure())) //nolint:gosec // the chart escapes its texts
		}
	}
	return &pageData{Title: "Charts and tables", Name: "charts", Section: "charts", Body: d.view}, nil
}
