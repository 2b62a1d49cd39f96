package episode

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/embedding"
	"github.com/seatrial/seatrial/internal/tools/search"
)

// Vectors gives the vectors of texts, in their order. It is safe for concurrent use.
type Vectors interface {
	Of(ctx context.Context, texts ...string) ([]embedding.Vector, error)
}

// published is what worlds may know beside their method: the published database of that name, without neighbours.
type published interface {
	Published(ctx context.Context, database string) (environment.World, error)
}

// openWorld is the tools of one style, ready to be found and called.
type openWorld struct {
	once    sync.Once
	tools   []*task.Tool
	toolkit *environment.Toolkit
	index   *search.Index
	err     error

	withVectors sync.Mutex
	dense       *search.Index
}

// Embed lets tools be found by meaning: vectors of tools and of queries come from there. It must be said before the
// first environment is made.
func (s *Stage) Embed(v Vectors) { s.vectors = v }

// universe gives the tools of a style, made ready when they are first asked for.
func (s *Stage) universe(style string) (*openWorld, error) {
	s.mu.Lock()
	w := s.open[style]
	if w == nil {
		w = &openWorld{}
		s.open[style] = w
	}
	s.mu.Unlock()
	w.once.Do(func() {
		w.tools = s.suite.Tools[style]
		if w.toolkit, w.err = environment.NewToolkit(w.tools); w.err == nil {
			w.index = search.New(w.tools)
		}
	})
	return w, w.err
}

// openFor gives the open world of an instance, nil where it shows its tools.
func (s *Stage) openFor(ctx context.Context, in *suite.Instance, task *task.Task) (*environment.Open, error) {
	kind := condition.SearchKind(in.Conditions)
	if kind == "" {
		return nil, nil
	}
	w, err := s.universe(task.Style)
	if err != nil {
		return nil, err
	}
	f := &finder{kind: kind, tools: w.tools, index: w.index, vectors: s.vectors}
	if search.NeedsVectors(kind) {
		if f.index, err = w.meant(ctx, s.vectors); err != nil {
			return nil, err
		}
	}
	return &environment.Open{Toolkit: w.toolkit, Finder: f, Struck: condition.Struck(in.Conditions)}, nil
}

// elsewhere gives the published database of that name, for tools of other databases than an episode's own.
func (s *Stage) elsewhere(ctx context.Context, database string) (environment.World, error) {
	if p, ok := s.worlds.(published); ok {
		return p.Published(ctx, database)
	}
	world, _, err := s.worlds.Worlds(ctx, &suite.Instance{}, &task.Task{Database: database})
	return world, err
}

// reachesElsewhere says whether an instance has tools of other databases than its own.
func reachesElsewhere(in *suite.Instance) bool {
	return condition.SearchKind(in.Conditions) != "" || condition.ReachesElsewhere(in.Conditions)
}

// meant gives the index that finds by meaning too. A failure is not remembered: another attempt may succeed.
func (w *openWorld) meant(ctx context.Context, vectors Vectors) (*search.Index, error) {
	w.withVectors.Lock()
	defer w.withVectors.Unlock()
	if w.dense != nil {
		return w.dense, nil
	}
	if vectors == nil {
		return nil, ErrNoVectors
	}
	texts := make([]string, len(w.tools))
	for i, t := range w.tools {
		texts[i] = search.Text(t)
	}
	list, err := vectors.Of(ctx, texts...)
	if err != nil {
		return nil, fmt.Errorf("vectors of the tools: %w", err)
	}
	w.dense, err = w.index.WithVectors(list)
	return w.dense, err
}

// ErrNoVectors says that an instance wants its tools found by meaning, and nobody gives vectors.
var ErrNoVectors = fmt.Errorf("tools are to be found by their meaning, and nothing makes vectors of texts")

// finder finds tools for one kind of search.
type finder struct {
	kind    string
	tools   []*task.Tool
	index   *search.Index
	vectors Vectors
}

// Find is that of [environment.Finder].
func (f *finder) Find(ctx context.Context, query string, n int) ([]string, error) {
	q := search.Query{Text: query}
	if search.NeedsVectors(f.kind) {
		list, err := f.vectors.Of(ctx, query)
		if err != nil {
			return nil, fmt.Errorf("vector of the query: %w", err)
		}
		q.Vector = list[0]
	}
	hits, err := f.index.Search(f.kind, q, n)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(hits))
	for i, h := range hits {
		names[i] = f.tools[h.Tool].Name
	}
	return names, nil
}

// Terms of what an episode in an open world may take beside the base budget, for each tool that the plans of its task
// call: two searches, one look at a documentation and one try in vain, the searches and looks of two tools in one turn.
const (
	turnsPerTool = 4
	callsPerTool = 6
)

// BudgetOf is the budget of an instance of a task at scale 1: [BaseBudget], and where tools have to be found
//
//	turns + 4 T
//	calls + 6 T
//
// with T the number of different tools that the plans of the task call. It is the same under faults and without.
func BudgetOf(in *suite.Instance, task *task.Task) task.Budget {
	b := BaseBudget(task)
	if condition.SearchKind(in.Conditions) == "" {
		return b
	}
	var tools []string
	for i := range task.Plans {
		for j := range task.Plans[i].Calls {
			tools = append(tools, task.Plans[i].Calls[j].Tool)
		}
	}
	slices.Sort(tools)
	n := len(slices.Compact(tools))
	b.Turns += turnsPerTool * n
	b.Calls += callsPerTool * n
	return b
}
