package fleet

import (
	"context"
	"sync"
)

// gate lets a number of goroutines pass that can be changed at any time.
type gate struct {
	mu      sync.Mutex
	limit   int
	inside  int
	closed  bool
	changed chan struct{} // closed and replaced when another one may enter
}

func newGate(limit int) *gate { return &gate{limit: limit, changed: make(chan struct{})} }

// enter waits for a place.
func (g *gate) enter(ctx context.Context) error {
	for {
		g.mu.Lock()
		if g.inside < g.limit && !g.closed {
			g.inside++
			g.mu.Unlock()
			return nil
		}
		changed := g.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (g *gate) leave() { g.set(func() { g.inside-- }) }

// set changes the gate and wakes those who wait.
func (g *gate) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	close(g.changed)
	g.changed = make(chan struct{})
}

// resize changes the number of places.
func (g *gate) resize(limit int) { g.set(func() { g.limit = limit }) }

// shut closes or opens the gate.
func (g *gate) shut(closed bool) { g.set(func() { g.closed = closed }) }

func (g *gate) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.limit
}
