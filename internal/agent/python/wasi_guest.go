package python

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// guest is an instance that runs a session: the [process] of the engine wasi. The instance runs in a goroutine of its
// own and meets the host as its [port]; between the two lie what it reads and what it has written.
type guest struct {
	memory *linearMemory
	life   context.Context // ends the instance
	cancel context.CancelFunc
	gone   chan struct{} // closed by the engine when the instance has ended
	ended  error         // why; to be read when it has, as is the next
	alone  bool          // nobody ended it

	mu      sync.Mutex
	changed sync.Cond
	inbox   []byte // for the instance to read
	outbox  []byte // what it has written
	waiting bool   // it reads, and there is nothing
	over    bool   // it is to end, or has ended
	used    time.Duration
	busy    time.Time // since when the instance itself runs; zero where it waits or sleeps
}

// mostWritten is how much may lie between the two, each way, that the other has not read before a writer has to wait.
const mostWritten = 1 << 20

// mostRaw is the length of the frames in which output goes out that has not passed the session.
const mostRaw = 8 << 10

func newGuest(memory *linearMemory) *guest {
	g := &guest{memory: memory, gone: make(chan struct{})}
	g.changed.L = &g.mu
	g.life, g.cancel = context.WithCancel(context.Background())
	context.AfterFunc(g.life, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.over = true
		g.changed.Broadcast()
	})
	return g
}

// serve runs the instance until it ends.
func (g *guest) serve(mod api.Module, enter api.Function, i *image) {
	g.run(true)
	_, err := enter.Call(context.WithValue(g.life, portKey{}, port(g)), uint64(i.function), uint64(i.arguments), 0)
	g.run(false)
	g.alone = g.life.Err() == nil
	if err == nil {
		err = errStopped
	}
	g.ended = errors.Join(err, mod.Close(context.Background()))
	g.cancel()
}

var errStopped = errors.New("the session stopped serving")

// run says whether the instance itself runs from now on.
func (g *guest) run(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count(on)
}

// count is run with the lock held.
func (g *guest) count(on bool) {
	if !g.busy.IsZero() {
		g.used += time.Since(g.busy)
	}
	g.busy = time.Time{}
	if on {
		g.busy = time.Now()
	}
}

// wait waits while something holds and the instance lives. It is called by the instance, with the lock held.
func (g *guest) wait(while func() bool) bool {
	for while() && !g.over {
		g.count(false)
		g.changed.Wait()
	}
	g.count(true)
	return !g.over
}

// read implements [port]: the instance waits for what the host writes.
func (g *guest) read(buffer []byte) (int, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.inbox) == 0 {
		g.waiting = true
		g.changed.Broadcast()
	}
	if !g.wait(func() bool { return len(g.inbox) == 0 }) {
		return 0, false
	}
	g.waiting = false
	n := copy(buffer, g.inbox)
	g.inbox = g.inbox[n:]
	g.changed.Broadcast()
	return n, true
}

// write implements [port]. What goes to standard output or error without passing the session is output as well.
func (g *guest) write(fd uint32, data []byte) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if fd == fdBridge {
		g.outbox = append(g.outbox, data...)
	} else {
		for part := range slices.Chunk(data, mostRaw) {
			g.outbox = append(g.outbox, 'o')
			g.outbox = binary.BigEndian.AppendUint32(g.outbox, uint32(len(part)))
			g.outbox = append(g.outbox, part...)
		}
	}
	g.changed.Broadcast()
	return g.wait(func() bool { return len(g.outbox) > mostWritten })
}

// pause implements [port]: an instance asks for a clock.
func (g *guest) pause(api.Module) bool { return true }

// sleep implements [port].
func (g *guest) sleep(d time.Duration) bool {
	g.run(false)
	defer g.run(true)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-g.life.Done():
		return false
	}
}

// Read implements [process]. The host reads after it has written all that there is for the instance: one that waits for
// more then would wait for ever.
func (g *guest) Read(buffer []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.outbox) == 0 {
		if g.over {
			return 0, io.EOF
		}
		if g.waiting && len(g.inbox) == 0 {
			return 0, errTampered
		}
		g.changed.Wait()
	}
	n := copy(buffer, g.outbox)
	g.outbox = g.outbox[n:]
	g.changed.Broadcast()
	return n, nil
}

// Write implements [process]. It waits for an instance that does not read what it has asked for.
func (g *guest) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.inbox) > mostWritten && !g.over {
		g.changed.Wait()
	}
	if g.over {
		return 0, io.ErrClosedPipe
	}
	g.inbox = append(g.inbox, data...)
	g.changed.Broadcast()
	return len(data), nil
}

// settled implements [settler]: it waits until the instance waits for the next block, with everything read, and tells
// whether it has written nothing since.
func (g *guest) settled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.over && len(g.outbox) == 0 && (!g.waiting || len(g.inbox) > 0) {
		g.changed.Wait()
	}
	return len(g.outbox) == 0
}

// interrupt implements [process]: nothing can be sent to an instance while it runs.
func (g *guest) interrupt() bool { return false }

// kill implements [process].
func (g *guest) kill() { g.cancel() }

// cpu implements [process]: an instance runs on one thread, so it is the time in which it neither waits nor sleeps.
func (g *guest) cpu() (time.Duration, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy.IsZero() {
		return g.used, true
	}
	return g.used + time.Since(g.busy), true
}

// What session.py exits with when it cannot go on.
const (
	exitBroken = 70 // what it needs was tampered with
	exitMemory = 71
)

// end implements [process].
func (g *guest) end() string {
	g.cancel()
	<-g.gone
	var exit *sys.ExitError
	switch {
	case !g.alone:
		return ""
	case errors.Is(g.ended, errStopped):
		return ReasonBridge
	case !errors.As(g.ended, &exit):
		if g.memory.refused || strings.Contains(g.ended.Error(), "stack overflow") {
			return ReasonMemory
		}
		return ReasonCrash
	}
	switch exit.ExitCode() {
	case exitBroken:
		return ReasonBridge
	case exitMemory:
		return ReasonMemory
	}
	return ReasonExit
}
