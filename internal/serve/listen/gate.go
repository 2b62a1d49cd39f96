package listen

import (
	"container/list"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// gate bounds the connections of a server. When there are too many, the one that has waited longest without a request
// in work is closed: a client that opens connections and says nothing, or little by little, drives out itself and no
// other.
type gate struct {
	max int

	mu    sync.Mutex
	known map[net.Conn]*list.Element
	quiet *list.List // of net.Conn without a request that has arrived, the longest first
	open  int
}

func newGate(most int) *gate {
	return &gate{max: most, known: map[net.Conn]*list.Element{}, quiet: list.New()}
}

func (g *gate) changed(c net.Conn, state http.ConnState) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch state {
	case http.StateNew:
		g.open++
		g.known[c] = g.quiet.PushBack(c)
		if g.open > g.max {
			// Never empty: c itself waits. Its closing comes back here as a change of state.
			_ = g.quiet.Front().Value.(net.Conn).Close()
			g.quiet.MoveToBack(g.quiet.Front())
		}
	case http.StateIdle:
		if g.known[c] == nil {
			g.known[c] = g.quiet.PushBack(c)
		}
	case http.StateActive:
		g.leave(c)
	case http.StateClosed, http.StateHijacked:
		g.leave(c)
		g.open--
	}
}

// connectionKey is the key of a request's connection in its context.
type connectionKey struct{}

// watch treats connections whose bodies are on their way like those whose headers are. The bound on the time of a
// request ends with its body: otherwise net/http cancels answers that take longer.
func (g *gate) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(connectionKey{}).(net.Conn)
		if r.Body == http.NoBody {
			_ = c.SetReadDeadline(time.Time{}) // a connection that is closed needs none
			next.ServeHTTP(w, r)
			return
		}
		body := &arriving{ReadCloser: r.Body, gate: g, connection: c}
		r.Body = body
		g.wait(c)
		next.ServeHTTP(w, r)
		if !body.over { // what is left of it is read before the next request
			g.wait(c)
		}
	})
}

// arriving is a body on its way. When it is there, its connection no longer waits.
type arriving struct {
	io.ReadCloser
	gate       *gate
	connection net.Conn
	over       bool
}

// Read implements [io.Reader].
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && !a.over {
		a.over = true
		a.gate.work(a.connection)
		if errors.Is(err, io.EOF) {
			_ = a.connection.SetReadDeadline(time.Time{}) // likewise
		}
	}
	return n, err
}

// wait puts an open connection at the end of the queue of those that wait.
func (g *gate) wait(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known[c] == nil {
		g.known[c] = g.quiet.PushBack(c)
	}
}

func (g *gate) work(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leave(c)
}

// clear closes the connections that wait.
func (g *gate) clear() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for at := g.quiet.Front(); at != nil; at = at.Next() {
		_ = at.Value.(net.Conn).Close()
	}
}

func (g *gate) leave(c net.Conn) {
	if at := g.known[c]; at != nil {
		g.quiet.Remove(at)
		delete(g.known, c)
	}
}
