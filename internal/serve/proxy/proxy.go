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

	"github.com/seatrial/seatrial/internal/diag"
)

// DefaultLimit is how long a message may be that the proxy looks at, in bytes. Longer ones pass unread, in pieces.
const DefaultLimit = 64 << 20

// GCPercent is the setting of the garbage collector that suits a process which is but a proxy: it holds little, so that
// it may hold several times as much for its calls to meet the collector seldom.
const GCPercent = 400

// Options are what a proxy is made of.
type Options struct {
	Faults *Faults          // nil for none
	Record io.Writer        // JSON Lines; nil where nothing is recorded
	Now    func() time.Time // for the times of the record, which nothing depends on
	Limit  int              // bytes of a message; 0 for DefaultLimit
}

// Proxy is one run of a proxy: its sessions are numbered in the order in which they begin.
type Proxy struct {
	f     *Faults
	t     *trace
	limit int

	mu       sync.Mutex
	sessions int
}

// New makes a proxy. A fault that cannot be made is an error of the exit code [diag.ExitUsage].
func New(o Options) (*Proxy, error) {
	p := &Proxy{f: o.Faults, t: newTrace(o.Record, o.Now), limit: o.Limit}
	if p.f == nil {
		p.f = &Faults{}
	}
	if p.limit == 0 {
		p.limit = DefaultLimit
	}
	open := &opening{Format: recordFormat, Seed: p.f.seed}
	for _, r := range p.f.rules {
		if _, err := r.steps(fieldValue); err != nil {
			return nil, diag.Usagef("%v", err).At(p.f.path, r.line, r.column)
		}
		open.Rules = append(open.Rules, openRule{
			Name: r.name, Kind: r.kind.name, Variant: r.variant(), Executed: r.boolean("executed", false),
			Refuses: !r.harmless && (r.kind.class == classRefusal || r.kind.class == classSpecification ||
				r.kind.name == "call.tool-missing"),
		})
	}
	p.t.add(&line{Open: open})
	return p, nil
}

// recordFormat is the version of records.
const recordFormat = 1

func (p *Proxy) newSession() *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions++
	return newSession(p.f, p.t, p.sessions)
}

// Verdict judges what has happened so far.
func (p *Proxy) Verdict() *Verdict { return judge(p.t.lines()) }

// Err is the failure to write the record, if there was one.
func (p *Proxy) Err() error { return p.t.err() }

// errDropped ends a connection in place of a reply: a fault asked for it.
var errDropped = fmt.Errorf("a fault broke the connection")
