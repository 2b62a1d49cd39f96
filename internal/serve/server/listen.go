package server

import (
	"container/list"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Times that a client has, and that a server takes to go down.
const (
	requestTime = 20 * time.Second       // to send a whole request after its header
	answerTime  = 3 * time.Minute        // in which a request must be answered and read
	idleTime    = 2 * time.Minute        // between requests on one connection
	drainTime   = 500 * time.Millisecond // for requests under way at an interrupt, which ends commands within a second
	partTime    = time.Second            // of it, for requests that have not arrived whole
	sweepEvery  = time.Second
	maxHeader   = 64 << 10 // bytes
)

// DefaultConnections is how many connections are open at a time.
const DefaultConnections = 4096

// DefaultHeaderTime is how long a client may take to send the header of a request. Clients with many connections and
// little processor time need more than a few seconds.
const DefaultHeaderTime = time.Minute

// Serve serves a core on a listener until ctx is done, and closes the core: what is under way comes to its end within
// bounds, every open episode is kept as interrupted. At most that many connections are open; those that wait for
// nothing give way first. The error is that of the listener or of the store.
func Serve(ctx context.Context, l net.Listener, core *Episodes, h http.Handler, connections int,
	header time.Duration) error {
	gate := newGate(connections)
	server := &http.Server{
		Handler: gate.watch(h), ReadHeaderTimeout: header, ReadTimeout: header + requestTime,
		WriteTimeout:   answerTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeader, ConnState: gate.changed, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	var err error
	for waiting := true; waiting; {
		select {
		case <-ticks.C:
			core.Sweep()
			err = core.Err()
			waiting = err == nil
		case err = <-served:
			waiting = false
		case <-ctx.Done():
			waiting = false
		}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	core.Drain()
	late := time.AfterFunc(partTime, gate.clear)
	defer late.Stop()
	if server.Shutdown(within) != nil {
		_ = server.Close() // what did not end in time
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, core.Close(within))
}

// Run sweeps until ctx is done, for servers other than [Serve].
func (s *Episodes) Run(ctx context.Context) {
	ticks := time.NewTicker(sweepEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			s.Sweep()
		case <-ctx.Done():
			return
		}
	}
}

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

// connectionKey is that of a request's connection in its context.
type connectionKey struct{}

// watch has requests whose bodies are on their way wait like those whose heads are.
func (g *gate) watch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		c, _ := r.Context().Value(connectionKey{}).(net.Conn)
		body := &arriving{ReadCloser: r.Body, gate: g, connection: c}
		r.Body = body
		g.wait(c)
		next.ServeHTTP(w, r)
		if !body.over { // what is left of it is read before the next request
			g.wait(c)
		}
	})
}

// arriving is a body on its way: when it is there, its connection waits no more.
type arriving struct {
	io.ReadCloser
	gate       *gate
	connection net.Conn
	over       bool
}

// Read is that of [io.Reader].
func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	if err != nil && !a.over {
		a.over = true
		a.gate.work(a.connection)
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
