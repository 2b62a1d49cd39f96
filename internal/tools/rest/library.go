package rest

import (
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// Library gathers the endpoints of many examples; endpoints of one meaning are one.
type Library struct {
	byKey map[string]*endpoint
	tools []*task.Tool // in their order, once they are named
}

// NewLibrary makes an empty library.
func NewLibrary() *Library { return &Library{byKey: map[string]*endpoint{}} }

// Add takes in the endpoint of a draft, or points the draft to the one of the same meaning that is there already.
func (l *Library) Add(d *Draft) {
	known := l.byKey[d.endpoint.key]
	if known == nil {
		l.byKey[d.endpoint.key] = d.endpoint
		return
	}
	known.merge(d.endpoint)
	d.endpoint, d.Direct[0].Function = known, known.Function
}

// merge widens e so that it takes the arguments of g too, which means the same. The outcome does not depend on which of
// the two came first.
func (e *endpoint) merge(g *endpoint) {
	e.Function.Merge(g.Function)
	e.literals = append(e.literals, g.literals...)
	if g.text() < e.text() {
		e.documentation = g.documentation
	}
}

// Knows reports whether the library contains the endpoint of a draft.
func (l *Library) Knows(d *Draft) bool { return l.byKey[d.endpoint.key] != nil }

// Name names every endpoint by what it does and returns the tools in the order of databases and names. No two tools of
// a database have the same description.
func (l *Library) Name() []*task.Tool {
	var endpoints []*endpoint
	for _, key := range slices.Sorted(maps.Keys(l.byKey)) {
		endpoints = append(endpoints, l.byKey[key])
	}
	l.tools = nameEndpoints(endpoints)
	return slices.Clone(l.tools)
}
