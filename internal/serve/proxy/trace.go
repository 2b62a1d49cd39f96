package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/seatrial/seatrial/internal/task"
)

// line is one line of a record: a message, or what the proxy has to say of it. Lines that are no messages are kept in
// memory too, and are all that a verdict is made from.
type line struct {
	Number  int     `json:"n"`
	Session int     `json:"session,omitempty"` // from 1; 0 says something of the whole record
	MS      float64 `json:"ms"`                // since the proxy was started

	From    string          `json:"from,omitempty"`    // client, server or proxy, of a message
	To      string          `json:"to,omitempty"`      // client or server, of one that the proxy changed or made
	Message json.RawMessage `json:"message,omitempty"` // that is JSON
	Bytes   []byte          `json:"bytes,omitempty"`   // of a message that is none
	Unread  int             `json:"unread,omitempty"`  // bytes of a message that was too long to be looked at

	Open   *opening  `json:"open,omitempty"`
	Call   *called   `json:"call,omitempty"`
	Answer *answered `json:"answer,omitempty"`
	Strike *struck   `json:"strike,omitempty"`
	Landed int       `json:"landed,omitempty"` // the line of the strike whose effect reached the client
	Missed *missed   `json:"missed,omitempty"`
	Act    string    `json:"act,omitempty"` // what a client did that is no call: listed, cancelled, left
	Of     int       `json:"of,omitempty"`  // the line of the call that it cancelled
	// Unmatched is a request for which a record that is replayed has no answer.
	Unmatched string `json:"unmatched,omitempty"`
}

// Acts of clients.
const (
	actListed    = "listed"
	actCancelled = "cancelled"
	actLeft      = "left"
)

// opening is the first line of a record.
type opening struct {
	Format int        `json:"format"`
	Seed   uint64     `json:"seed"`
	Rules  []openRule `json:"rules"`
}

type openRule struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Variant  string `json:"variant"`
	Refuses  bool   `json:"refuses,omitempty"` // what it does shows as an error
	Executed bool   `json:"executed,omitempty"`
}

type called struct {
	Tool      string `json:"tool"`              // by the server's name
	Arguments string `json:"arguments"`         // a digest of them, as the client gave them
	Attempt   int    `json:"attempt"`           // of the tool in the session
	Number    int    `json:"number"`            // in the session
	Strict    bool   `json:"strict,omitempty"`  // by the strict form that the proxy added
	Added     bool   `json:"added,omitempty"`   // the tool is the proxy's own
	Writes    string `json:"writes,omitempty"`  // yes, no, or nothing where nobody says
	Reached   bool   `json:"reached,omitempty"` // the call was passed on to the server
}

type answered struct {
	Call   int  `json:"call"` // the line of the call
	Failed bool `json:"failed,omitempty"`
	Struck bool `json:"struck,omitempty"` // a fault had a hand in it
}

type struck struct {
	Rule   string          `json:"rule"`
	Call   int             `json:"call,omitempty"` // the line of the call; 0 for a listing
	Tool   string          `json:"tool"`
	Detail json.RawMessage `json:"detail,omitempty"`
}

type missed struct {
	Strike int    `json:"strike"`
	Why    string `json:"why"`
}

// trace numbers lines and writes them out. A failure to write is kept and does not disturb the traffic.
type trace struct {
	now   func() time.Time
	began time.Time

	mu     sync.Mutex
	out    io.Writer // nil where nothing is recorded
	number int
	kept   [][]line // in pieces, so that none is copied when there are more
	buffer []byte
	failed error
}

func newTrace(out io.Writer, now func() time.Time) *trace {
	return &trace{out: out, now: now, began: now()}
}

// add numbers a line, writes it where a record is kept, and gives its number.
func (t *trace) add(l *line) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number++
	l.Number = t.number
	l.MS = t.since()
	if l.From == "" || l.Unread > 0 {
		last := len(t.kept) - 1
		if last < 0 || len(t.kept[last]) == cap(t.kept[last]) {
			t.kept = append(t.kept, make([]line, 0, pieceOfTrace))
			last++
		}
		t.kept[last] = append(t.kept[last], *l)
	}
	if t.out != nil && t.failed == nil {
		written, err := task.Marshal(l)
		if err == nil {
			_, err = t.out.Write(append(written, '\n'))
		}
		if err != nil {
			t.failed = fmt.Errorf("the record cannot be written: %w", err)
		}
	}
	return t.number
}

// message records a message, if messages are recorded at all.
func (t *trace) message(session int, from, to string, raw []byte, valid bool) {
	if t.out == nil || len(raw) == 0 {
		return
	}
	if !valid || !utf8.Valid(raw) || bytes.ContainsAny(raw, "\r\n") {
		l := &line{Session: session, From: from, To: to}
		if valid && utf8.Valid(raw) {
			l.Message = raw
		} else {
			l.Bytes = raw
		}
		t.add(l)
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.number++
	b := append(t.buffer[:0], `{"n":`...)
	b = strconv.AppendInt(b, int64(t.number), 10)
	b = strconv.AppendInt(append(b, `,"session":`...), int64(session), 10)
	b = strconv.AppendFloat(append(b, `,"ms":`...), t.since(), 'f', -1, 64)
	b = append(append(append(b, `,"from":"`...), from...), '"')
	if to != "" {
		b = append(append(append(b, `,"to":"`...), to...), '"')
	}
	b = append(append(append(b, `,"message":`...), raw...), "}\n"...)
	t.buffer = b
	if cap(b) > maxBuffer {
		t.buffer = nil
	}
	if t.failed == nil {
		if _, err := t.out.Write(b); err != nil {
			t.failed = fmt.Errorf("the record cannot be written: %w", err)
		}
	}
}

// pieceOfTrace is how many lines are kept in one piece.
const pieceOfTrace = 128

// maxBuffer bounds what is kept for writing the next message.
const maxBuffer = 1 << 20

func (t *trace) since() float64 { return float64(t.now().Sub(t.began).Microseconds()) / 1000 }

func (t *trace) lines() []line {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Concat(t.kept...)
}

func (t *trace) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

func number(n int) json.RawMessage { return strconv.AppendInt(nil, int64(n), 10) }
