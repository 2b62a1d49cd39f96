package compile

import (
	"maps"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// RestLibrary gathers the endpoints of many examples; endpoints of one meaning are one.
type RestLibrary struct {
	byKey map[string]*endpoint
	tools []*task.Tool // in their order, once they are named
}

// NewRestLibrary makes an empty library.
func NewRestLibrary() *RestLibrary { return &RestLibrary{byKey: map[string]*endpoint{}} }

// Add takes in the endpoint of a draft, or points the draft to the one of the same meaning that is there already.
func (l *RestLibrary) Add(d *RestDraft) {
	known := l.byKey[d.endpoint.key]
	if known == nil {
		l.byKey[d.endpoint.key] = d.endpoint
		return
	}
	known.merge(d.endpoint)
	d.endpoint, d.Direct[0].function = known, known.function
}

// merge widens e so that it takes the arguments of g too, which means the same. The outcome does not depend on which of
// the two came first.
func (e *endpoint) merge(g *endpoint) {
	e.function.merge(g.function)
	e.literals = append(e.literals, g.literals...)
	if g.text() < e.text() {
		e.wording = g.wording
	}
}

// Knows reports whether the library contains the endpoint of a draft.
func (l *RestLibrary) Knows(d *RestDraft) bool { return l.byKey[d.endpoint.key] != nil }

// Name names every endpoint by what it does and returns the tools in the order of databases and names. No two tools of
// a database have the same description.
func (l *RestLibrary) Name() []*task.Tool {
	var endpoints []*endpoint
	for _, key := range slices.Sorted(maps.Keys(l.byKey)) {
		endpoints = append(endpoints, l.byKey[key])
	}
	l.tools = nameEndpoints(endpoints)
	return slices.Clone(l.tools)
}
