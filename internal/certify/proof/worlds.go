package proof

import (
	"context"
	"fmt"
	"sync"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/schema"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/sql/witness"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// DefaultTimeout bounds a statement.
const DefaultTimeout = database.DefaultTimeout

// Worlds opens the databases of a suite and grows their neighbours, each on first use. It is safe for concurrent use.
type Worlds struct {
	suite      *suite.Suite
	neighbours int

	mu   sync.Mutex
	open map[string]*opened
}

type opened struct {
	opening    sync.Once
	openErr    error
	once       sync.Once
	world      *database.World
	neighbours []*database.World
	shown      []environment.World
	err        error
}

// NewWorlds creates the worlds of a suite; each database has that many neighbours.
func NewWorlds(s *suite.Suite, neighbours int) *Worlds {
	return &Worlds{suite: s, neighbours: neighbours, open: map[string]*opened{}}
}

// Worlds returns the world of an instance and its neighbours.
func (w *Worlds) Worlds(
	ctx context.Context, in *suite.Instance, task *task.Task,
) (environment.World, []environment.World, error) {
	if in.World != "" {
		return nil, nil, fmt.Errorf("the suite has no world %q", in.World)
	}
	o := w.of(task.Database)
	o.once.Do(func() {
		defer diag.Guard(&o.err, "worlds of %s", task.Database)
		o.err = w.make(context.WithoutCancel(ctx), task.Database, o)
	})
	return o.world, o.shown, o.err
}

// Published returns the database with that name, without growing its neighbours.
func (w *Worlds) Published(_ context.Context, name string) (environment.World, error) {
	o := w.of(name)
	if err := w.published(name, o); err != nil {
		return nil, err
	}
	return o.world, nil
}

// of returns the entry of a database.
func (w *Worlds) of(name string) *opened {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.open[name]
	if o == nil {
		o = &opened{}
		w.open[name] = o
	}
	return o
}

// published opens a database, once.
func (w *Worlds) published(name string, o *opened) error {
	o.opening.Do(func() {
		var path string
		if path, o.openErr = w.suite.DatabasePath(name); o.openErr == nil {
			o.world, o.openErr = database.Open(path, database.Options{Timeout: DefaultTimeout, Rows: MaxRows})
		}
		o.openErr = suite.Corrupt(suite.FileManifest, o.openErr)
	})
	return o.openErr
}

func (w *Worlds) make(ctx context.Context, name string, o *opened) error {
	if err := w.published(name, o); err != nil {
		return err
	}
	if w.neighbours == 0 {
		return nil
	}
	recipe := RecipeOf(w.suite, name)
	if recipe == nil {
		return nil
	}
	sch, err := o.world.Schema(ctx)
	if err != nil {
		return err
	}
	sch.Name = name
	queries, err := ParseAll(recipe.SQL, sch)
	if err != nil {
		return suite.Corrupt(suite.FileRecipes, err)
	}
	o.neighbours, err = grow(ctx, o.world, sch, name, queries, recipe.Seed, recipe.Neighbours,
		min(w.neighbours, recipe.Neighbours))
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

// RecipeOf returns the recipe of a database's neighbours, nil if the suite has none.
func RecipeOf(s *suite.Suite, name string) *suite.Recipe {
	for _, r := range s.Recipes {
		if r.Database == name {
			return r
		}
	}
	return nil
}

// ParseAll parses the queries of a recipe.
func ParseAll(list []string, sch *schema.Database) ([]*sqlast.Query, error) {
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
	ctx context.Context, w *database.World, sch *schema.Database, name string, queries []*sqlast.Query, seed uint64, n,
	keep int,
) ([]*database.World, error) {
	recipe := &database.Recipe{Schema: sch, World: w}
	for i, q := range queries {
		planted, witnesses := witness.Plant(q, i)
		recipe.Planted = append(recipe.Planted, planted...)
		recipe.Witnesses = append(recipe.Witnesses, witnesses...)
	}
	worlds, err := database.GrowFirst(ctx, recipe, task.Draw(seed, "neighbours", name).Uint64(), n, keep)
	if err != nil {
		return nil, fmt.Errorf("neighbours: %w", err)
	}
	return worlds, nil
}
