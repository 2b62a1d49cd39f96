package verify

import (
	"context"
	"fmt"
	"sync"

	"github.com/seatrial/seatrial/internal/database"
	"github.com/seatrial/seatrial/internal/environment"
	"github.com/seatrial/seatrial/internal/schema"
	"github.com/seatrial/seatrial/internal/sqlast"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/universe"
	"github.com/seatrial/seatrial/internal/witness"
)

// Worlds opens the databases of a suite and grows their neighbours, each when it is first asked for. It is safe for
// concurrent use.
type Worlds struct {
	suite      *suite.Suite
	neighbours int

	mu   sync.Mutex
	open map[string]*opened
}

type opened struct {
	once       sync.Once
	world      *database.World
	neighbours []*database.World
	shown      []environment.World
	err        error
}

// NewWorlds makes the worlds of a suite; each database comes with so many of its neighbours.
func NewWorlds(s *suite.Suite, neighbours int) *Worlds {
	return &Worlds{suite: s, neighbours: neighbours, open: map[string]*opened{}}
}

// Worlds gives the world of an instance and its neighbours.
func (w *Worlds) Worlds(
	ctx context.Context, in *suite.Instance, task *universe.Task,
) (environment.World, []environment.World, error) {
	if in.World != "" {
		return nil, nil, fmt.Errorf("the suite has no world %q", in.World)
	}
	w.mu.Lock()
	o := w.open[task.Database]
	if o == nil {
		o = &opened{}
		w.open[task.Database] = o
	}
	w.mu.Unlock()
	o.once.Do(func() { o.err = w.make(context.WithoutCancel(ctx), task.Database, o) })
	return o.world, o.shown, o.err
}

func (w *Worlds) make(ctx context.Context, name string, o *opened) error {
	path, err := w.suite.DatabasePath(name)
	if err != nil {
		return err
	}
	if o.world, err = database.Open(path, database.Options{Timeout: DefaultTimeout, Rows: MaxRows}); err != nil {
		return err
	}
	if w.neighbours == 0 {
		return nil
	}
	recipe := recipeOf(w.suite, name)
	if recipe == nil {
		return nil
	}
	sch, err := o.world.Schema(ctx)
	if err != nil {
		return err
	}
	sch.Name = name
	queries, err := parseAll(recipe.SQL, sch)
	if err != nil {
		return err
	}
	o.neighbours, err = grow(ctx, o.world, sch, name, queries, recipe.Seed, recipe.Neighbours, min(w.neighbours, recipe.Neighbours))
	for _, n := range o.neighbours {
		o.shown = append(o.shown, n)
	}
	return err
}

// Close closes what was opened.
func (w *Worlds) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.open {
		for _, n := range append(o.neighbours, o.world) {
			if n != nil {
				_ = n.Close() // read-only or in memory: nothing can be lost
			}
		}
	}
}

func recipeOf(s *suite.Suite, name string) *suite.Recipe {
	for _, r := range s.Recipes {
		if r.Database == name {
			return r
		}
	}
	return nil
}

func parseAll(list []string, sch *schema.Database) ([]*sqlast.Query, error) {
	queries := make([]*sqlast.Query, len(list))
	for i, text := range list {
		q, err := sqlast.Parse(text, sch)
		if err != nil {
			return nil, fmt.Errorf("query %d of the recipe: %w", i+1, err)
		}
		queries[i] = q
	}
	return queries, nil
}

// grow grows the first keep of n neighbours for the given queries.
func grow(
	ctx context.Context, w *database.World, sch *schema.Database, name string, queries []*sqlast.Query, seed uint64, n, keep int,
) ([]*database.World, error) {
	recipe := &database.Recipe{Schema: sch, World: w}
	for i, q := range queries {
		planted, witnesses := witness.Plant(q, i)
		recipe.Planted = append(recipe.Planted, planted...)
		recipe.Witnesses = append(recipe.Witnesses, witnesses...)
	}
	worlds, err := database.GrowFirst(ctx, recipe, universe.Draw(seed, "neighbours", name).Uint64(), n, keep)
	if err != nil {
		return nil, fmt.Errorf("neighbours: %w", err)
	}
	return worlds, nil
}
