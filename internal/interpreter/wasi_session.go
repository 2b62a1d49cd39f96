package interpreter

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// wasiSession is a namespace: an instance, until one is lost and the next block begins another.
type wasiSession struct {
	engine    *wasi
	call      Caller
	functions map[string]*Function
	limits    Limits
	timeLeft  time.Duration
	callsLeft int
	guest     *guest
	closed    bool
}

// Run implements [Session].
func (s *wasiSession) Run(ctx context.Context, code string) (*Outcome, error) {
	if s.closed {
		return nil, errors.New("the session is closed")
	}
	if s.guest == nil {
		var err error
		if s.guest, err = s.engine.enter(ctx, s); err != nil {
			return nil, err
		}
	}
	outcome, err := s.guest.run(ctx, code)
	if err != nil || outcome.Fresh {
		s.drop()
	}
	return outcome, err
}

func (s *wasiSession) drop() {
	if s.guest != nil {
		s.guest.close()
		s.guest = nil
	}
}

// Close implements [Session].
func (s *wasiSession) Close() error {
	s.closed = true
	s.drop()
	return nil
}

// guest is an instance that serves blocks, and the host's end of its bridge. The instance runs in a goroutine of its own;
// what it calls of the host, it calls from there, and fields without a remark belong to that goroutine.
type guest struct {
	session *wasiSession
	module  api.Module
	memory  *linearMemory
	life    context.Context // fixed; ends the instance
	cancel  context.CancelFunc
	ready   chan struct{} // closed when the first block is taken
	blocks  chan *block
	gone    chan struct{} // closed when the instance has ended
	ended   error         // why; to be read when it has

	started bool
	inbox   []byte // what there is to read
	partial []byte // the frame that is being written
	known   map[string]bool
	number  int
	block   *block // nil between blocks
	broken  string // what was wrong with what came over the bridge
	failure error  // Seatrial's own
}

// block is a block while it runs.
type block struct {
	ctx      context.Context
	code     string
	watch    *stopwatch
	output   strings.Builder
	outcome  Outcome
	reported bool          // the interpreter said that the block is done
	finished chan struct{} // closed when it also waits for the next
}

func newGuest(s *wasiSession) *guest {
	g := &guest{
		session: s, memory: &linearMemory{limit: s.limits.Memory}, ready: make(chan struct{}), blocks: make(chan *block),
		gone: make(chan struct{}), known: map[string]bool{},
	}
	g.life, g.cancel = context.WithCancel(context.Background())
	g.send('s', map[string]int{"output": s.limits.Output, "value": s.limits.Value})
	return g
}

// serve runs the instance until it ends.
func (g *guest) serve(enter api.Function, i *image) {
	ctx := context.WithValue(g.life, portKey{}, port(g))
	_, err := enter.Call(ctx, uint64(i.function), uint64(i.arguments), 0)
	if err == nil {
		err = errors.New("it stopped serving")
	}
	g.ended = errors.Join(err, g.module.Close(context.Background()))
	g.cancel()
}

// close ends the instance and waits until it has.
func (g *guest) close() {
	g.cancel()
	<-g.gone
}

// run has the instance run a block.
func (g *guest) run(ctx context.Context, code string) (*Outcome, error) {
	s := g.session
	inside, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.life, cancel)()
	defer context.AfterFunc(ctx, g.cancel)()
	b := &block{ctx: inside, code: code, finished: make(chan struct{})}
	b.watch = newStopwatch(min(s.limits.BlockTime, s.timeLeft), s.limits.BlockCPU, g.cancel)
	b.watch.set(running)
	select {
	case g.blocks <- b:
	case <-g.gone:
	}
	lost := false
	select {
	case <-b.finished:
	case <-g.gone:
		lost = true
	}
	b.watch.set(outside)
	spent, over := b.watch.total()
	s.timeLeft -= spent
	o := &b.outcome
	o.Output = b.output.String()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !lost:
		return o, nil
	case g.failure != nil:
		return nil, g.failure
	}
	o.Value, o.Traceback, o.Fresh, o.Reason = "", "", true, g.reason(over)
	return o, nil
}

// What session.py exits with when it cannot go on.
const (
	exitBroken = 70 // what it needs was tampered with
	exitMemory = 71
)

// reason says why an instance ended.
func (g *guest) reason(over bool) string {
	var exit *sys.ExitError
	switch {
	case g.broken != "":
		return ReasonBridge
	case over:
		return ReasonTime
	case errors.As(g.ended, &exit):
		switch exit.ExitCode() {
		case exitBroken:
			return ReasonBridge
		case exitMemory:
			return ReasonMemory
		case sys.ExitCodeContextCanceled, sys.ExitCodeDeadlineExceeded:
			return ReasonKilled
		}
		return ReasonExit
	case g.memory.refused || strings.Contains(g.ended.Error(), "stack overflow"):
		return ReasonMemory
	}
	return ReasonExit // a crash, or the end of the loop that serves
}

// sleep waits, no longer than the instance may live.
func (g *guest) sleep(d time.Duration) bool {
	b := g.block
	if b == nil {
		return g.breaks("it sleeps before it is ready")
	}
	b.watch.set(sleeping)
	defer b.watch.set(running)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.life.Done():
		return false
	}
}

func (g *guest) pause(api.Module) bool { return true }

// read gives the instance what there is to read. An instance that reads when there is nothing waits for the next block, and
// is through with the last: nothing else can make it wait.
func (g *guest) read(_ context.Context, buffer []byte) (int, bool) {
	if len(g.inbox) == 0 && !g.next() {
		return 0, false
	}
	n := copy(buffer, g.inbox)
	g.inbox = g.inbox[n:]
	return n, true
}

// next ends the block that ran and waits for another.
func (g *guest) next() bool {
	switch b := g.block; {
	case len(g.partial) > 0:
		return g.breaks("it reads in the middle of a frame")
	case b == nil && !g.started:
		return g.breaks("it reads before it is ready")
	case b == nil:
		close(g.ready)
	case !b.reported:
		return g.breaks("it reads before the block is done")
	default:
		g.block = nil
		close(b.finished)
	}
	select {
	case g.block = <-g.blocks:
	case <-g.life.Done():
		return false
	}
	g.number++
	return g.send('r', request{ID: g.number, Code: g.block.code, Functions: g.named(g.block.code)})
}

// breaks ends the instance for what it did to the bridge.
func (g *guest) breaks(what string) bool {
	g.broken = what
	return false
}

type request struct {
	ID        int         `json:"id"`
	Code      string      `json:"code"`
	Functions []signature `json:"functions"`
}

// signature is a function as session.py wants it: name, parameters, docstring.
type signature [3]any

// named lists functions that a text names and the instance does not know yet, in the order of the text.
func (g *guest) named(text string) []signature {
	list := []signature{}
	for name := range identifiers(text) {
		if f := g.session.functions[name]; f != nil && !g.known[name] {
			g.known[name] = true
			parameters := f.Parameters
			if parameters == nil {
				parameters = []string{}
			}
			list = append(list, signature{f.Name, parameters, f.Document})
		}
	}
	return list
}

// send puts a frame into the inbox.
func (g *guest) send(kind byte, v any) bool {
	body, err := json.Marshal(v)
	if err != nil {
		g.failure = fmt.Errorf("bridge: %w", err)
		return false
	}
	return g.put(kind, body)
}

func (g *guest) put(kind byte, body []byte) bool {
	g.inbox = append(g.inbox, kind)
	g.inbox = binary.BigEndian.AppendUint32(g.inbox, uint32(len(body)))
	g.inbox = append(g.inbox, body...)
	return true
}

// write takes what the instance writes.
func (g *guest) write(_ context.Context, fd uint32, data []byte) bool {
	if fd != fdBridge {
		g.print(data)
		return true
	}
	g.partial = append(g.partial, data...)
	for len(g.partial) >= frameHead {
		kind, size := g.partial[0], binary.BigEndian.Uint32(g.partial[1:])
		if most := g.most(kind); int64(size) > most {
			return g.breaks(fmt.Sprintf("a frame %q of %d bytes", kind, size))
		}
		if len(g.partial) < frameHead+int(size) {
			return true
		}
		body := g.partial[frameHead : frameHead+int(size)]
		if !g.frame(kind, body) {
			return false
		}
		g.partial = append(g.partial[:0], g.partial[frameHead+int(size):]...)
	}
	return true
}

const (
	frameHead  = 5
	frameSlack = 64 << 10 // what a frame may hold beside the texts that it is about
	escaped    = 6        // bytes that JSON takes at most for one
)

// most is how long a frame may be, -1 where it may not be at all.
func (g *guest) most(kind byte) int64 {
	l := &g.session.limits
	switch kind {
	case 'y':
		return 0
	case 'o':
		return int64(l.Output) + frameSlack
	case 'c':
		return escaped*int64(l.Value) + frameSlack
	case 'd':
		return 2*escaped*int64(l.Output) + frameSlack
	}
	return -1
}

// frame acts on a frame. Nothing in it is believed: it may come from the code of a block.
func (g *guest) frame(kind byte, body []byte) bool {
	b := g.block
	switch {
	case kind == 'y' && !g.started:
		g.started = true
		return true
	case b == nil || b.reported || len(g.inbox) > 0:
		return g.breaks(fmt.Sprintf("a frame %q out of turn", kind))
	}
	switch kind {
	case 'o':
		g.print(body)
		return true
	case 'c':
		return g.answer(b, body)
	case 'd':
		return g.report(b, body)
	}
	return g.breaks(fmt.Sprintf("a frame %q out of turn", kind))
}

// print adds to the output of the block, within its limit.
func (g *guest) print(data []byte) {
	b := g.block
	if b == nil || b.outcome.Cut {
		return
	}
	if left := g.session.limits.Output - b.output.Len(); len(data) > left {
		data, b.outcome.Cut = data[:left], true
		for len(data) > 0 && !utf8.Valid(data[max(0, len(data)-utf8.UTFMax):]) && !utf8.RuneStart(data[len(data)-1]) {
			data = data[:len(data)-1]
		}
	}
	b.output.Write(bytes.ToValidUTF8(data, []byte("\uFFFD")))
}

type report struct {
	ID        int    `json:"id"`
	Value     string `json:"value"`
	Traceback string `json:"traceback"`
	Cut       bool   `json:"cut"`
	Lost      string `json:"lost"`
}

// report takes what the interpreter says of the block that it has run.
func (g *guest) report(b *block, body []byte) bool {
	var r report
	if err := json.Unmarshal(body, &r); err != nil || r.ID != g.number {
		return g.breaks("a report of no block that runs")
	}
	most := g.session.limits.Output
	if len(r.Value) > most || len(r.Traceback) > most {
		return g.breaks("a report over its limits")
	}
	o := &b.outcome
	o.Value, o.Traceback, o.Cut, b.reported = r.Value, r.Traceback, o.Cut || r.Cut, true
	switch r.Lost {
	case "":
	case ReasonMemory, ReasonBridge:
		o.Fresh, o.Reason = true, r.Lost
	default:
		return g.breaks("a report of a loss that there is not")
	}
	return true
}

// answer makes the call that the interpreter asks for and puts the answer into the inbox.
func (g *guest) answer(b *block, body []byte) bool {
	var c struct {
		Function  string          `json:"function"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(body, &c); err != nil || g.session.functions[c.Function] == nil {
		return g.breaks("a call of what is no function")
	}
	if c.Arguments = bytes.TrimSpace(bytes.Clone(c.Arguments)); len(c.Arguments) == 0 || c.Arguments[0] != '{' {
		return g.breaks("a call without arguments")
	}
	l := &g.session.limits
	switch {
	case len(c.Arguments) > l.Value:
		return g.put('l', fmt.Appendf(nil, "the arguments of a call may take %d bytes as JSON, and these take %d", l.Value, len(c.Arguments)))
	case b.outcome.Calls >= l.BlockCalls:
		return g.put('l', fmt.Appendf(nil, "a block may make %d calls", l.BlockCalls))
	case g.session.callsLeft <= 0:
		return g.put('l', fmt.Appendf(nil, "a session may make %d calls", l.SessionCalls))
	}
	b.outcome.Calls++
	g.session.callsLeft--
	b.watch.set(outside)
	result, err := g.session.call(b.ctx, c.Function, c.Arguments)
	b.watch.set(running)
	var mistake *CallError
	switch {
	case errors.As(err, &mistake):
		return g.put('e', []byte(strings.ToValidUTF8(mistake.Message, "\uFFFD")))
	case err != nil:
		g.failure = err
		return false
	case len(result) > l.Value:
		return g.put('l', fmt.Appendf(nil, "a result may take %d bytes as JSON, and this one takes %d", l.Value, len(result)))
	case !json.Valid(result):
		g.failure = fmt.Errorf("the result of %s is no JSON", c.Function)
		return false
	}
	if list := g.named(string(result)); len(list) > 0 && !g.send('f', list) {
		return false
	}
	return g.put('v', result)
}
