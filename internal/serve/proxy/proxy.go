// Package proxy stands between any MCP client and any MCP server and makes calls go wrong as a faults file says: over
// stdio, streamable HTTP, or stdio in front of HTTP. Without faults every message passes byte for byte, known or not.
// It records sessions, replays them without the server, and judges what the client did. It works on raw JSON-RPC
// messages and must never know what a tool means, nor let time or the interleaving of sessions decide what is struck.
package proxy

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/seatrial/seatrial/internal/serve/proxy/record"
	"github.com/seatrial/seatrial/internal/serve/proxy/rules"
)

// DefaultLimit is how long a message may be that the proxy looks at, in bytes. Longer ones pass unread, in pieces.
const DefaultLimit = 64 << 20

// GCPercent is the setting of the garbage collector that suits a process which is but a proxy: it holds little, so that
// it may hold several times as much for its calls to meet the collector seldom.
const GCPercent = 400

// Options are what a proxy is made of.
type Options struct {
	Faults *rules.File      // nil for none
	Record io.Writer        // JSON Lines; nil where nothing is recorded
	Now    func() time.Time // for the times of the record, which nothing depends on
	Limit  int              // bytes of a message; 0 for DefaultLimit
}

// Proxy is one run of a proxy: its sessions are numbered in the order in which they begin.
type Proxy struct {
	f     *rules.File
	t     *record.Trace
	limit int

	mu       sync.Mutex
	sessions int
}

// New makes a proxy.
func New(o Options) *Proxy {
	p := &Proxy{f: o.Faults, t: record.NewTrace(o.Record, o.Now), limit: o.Limit}
	if p.f == nil {
		p.f = &rules.File{}
	}
	if p.limit == 0 {
		p.limit = DefaultLimit
	}
	open := &record.Opening{Format: record.Format, Seed: p.f.Seed}
	for _, r := range p.f.Rules {
		open.Rules = append(open.Rules, record.OpenRule{
			Name: r.Name, Kind: r.Kind.Name, Variant: r.Variant(), Executed: r.Boolean("executed", false),
			Refuses: r.Refuses(),
		})
	}
	p.t.Add(&record.Line{Open: open})
	return p
}

func (p *Proxy) newSession() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions++
	return newSession(p.f, p.t, p.sessions)
}

// Verdict judges what has happened so far.
func (p *Proxy) Verdict() *record.Verdict { return record.Judge(p.t.Lines()) }

// Err is the failure to write the record, if there was one.
func (p *Proxy) Err() error { return p.t.Err() }

// errDropped ends a connection in place of a reply: a fault asked for it.
var errDropped = fmt.Errorf("a fault broke the connection")
