package proxy

import (
	"context"
	"errors"
	"github.com/seatrial/seatrial/internal/serve/proxy/record"
	"io"
	"sync"
	"time"
)

// maxHeld bounds the delayed replies. Beyond it replies are delivered at once.
const maxHeld = 1024

// server is the server as a client over stdio sees it.
type server interface {
	// send sends one message with its line ending.
	send(raw []byte) error
	// stream sends a message that is too long to inspect.
	stream(head []byte, rest *frames) (int, error)
	// next returns the server's next message with its line ending, if any; see [frames.next]. It returns [io.EOF] after
	// the server has left.
	next() (raw []byte, long bool, err error)
	rest() *frames
	// finish signals that the client will send nothing more.
	finish()
}

// pipe carries messages between a client over stdio and a server.
type pipe struct {
	s   *session
	out *output

	mu     sync.Mutex
	held   map[*delivery]context.CancelFunc
	closed bool
	timers sync.WaitGroup
	broken chan struct{} // closed when a fault breaks the connection, or the client stops reading
	once   sync.Once
}

// carry carries messages until the client or the server has left. It returns nil if the client left first, [errDropped]
// if a fault broke the connection, and [io.EOF] if the server left first.
func (p *Proxy) carry(ctx context.Context, in io.Reader, out io.Writer, far server) error {
	s := p.newSession()
	c := &pipe{s: s, out: &output{w: out}, held: map[*delivery]context.CancelFunc{}, broken: make(chan struct{})}
	clientGone, serverGone := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(clientGone)
		c.fromClient(newFrames(in, p.limit), far)
	}()
	go func() { serverGone <- c.fromServer(far) }()
	var err error
	select {
	case <-clientGone:
		far.finish()
		select {
		case err = <-serverGone:
			c.timers.Wait()
		case <-c.broken:
		case <-ctx.Done():
			err = ctx.Err()
		}
	case err = <-serverGone:
		c.timers.Wait()
		if err == nil {
			err = io.EOF
		}
	case <-c.broken:
		err = errDropped
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.release()
	s.left()
	return err
}

func (c *pipe) breakOff() { c.once.Do(func() { close(c.broken) }) }

// release cancels the replies that are still delayed, and waits until that is recorded.
func (c *pipe) release() {
	c.mu.Lock()
	c.closed = true
	for _, cancel := range c.held {
		cancel()
	}
	c.mu.Unlock()
	c.timers.Wait()
}

// fromClient carries the client's messages until the client or the server has left.
func (c *pipe) fromClient(f *frames, far server) {
	for {
		raw, long, err := f.next()
		switch {
		case err != nil:
			return
		case long:
			n, err := far.stream(raw, f)
			c.s.t.Add(&record.Line{Session: c.s.number, From: "client", Unread: n})
			if err != nil {
				return
			}
			continue
		}
		body, end := lineEnd(raw)
		t := c.s.fromClient(body)
		for _, notice := range t.notices {
			c.say(notice)
		}
		c.cancel(t.cancelled)
		switch {
		case t.forward != nil && t.changed:
			err = far.send(append(t.forward[:len(t.forward):len(t.forward)], end...))
		case t.forward != nil:
			err = far.send(raw)
		}
		if err != nil {
			return
		}
		c.replies(t)
	}
}

// replies delivers the proxy's own replies. Replies to a batch go out as one message, unless one of them must wait.
func (c *pipe) replies(t *turn) {
	if !t.batch || len(t.replies) == 0 || !prompt(t.replies) {
		for _, d := range t.replies {
			c.deliver(d, []byte{'\n'})
		}
		return
	}
	c.deliver(together(t.replies), []byte{'\n'})
	for _, d := range t.replies {
		c.s.delivered(d)
	}
}

func (c *pipe) fromServer(far server) error {
	for {
		raw, long, err := far.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case long:
			n, err := c.out.stream(raw, far.rest())
			c.s.t.Add(&record.Line{Session: c.s.number, From: "server", Unread: n})
			if err != nil {
				c.breakOff()
				return nil // the client stopped reading
			}
			continue
		}
		body, end := lineEnd(raw)
		c.deliver(c.s.fromServer(body), end)
	}
}

func (c *pipe) say(raw []byte) {
	c.s.notice(raw)
	if c.out.write(raw, []byte{'\n'}) != nil {
		c.breakOff()
	}
}

// deliver sends a message to the client, now or when it is due.
func (c *pipe) deliver(d *delivery, end []byte) {
	if d.fate == fateSilence {
		c.s.delivered(d)
		return
	}
	if d.wait <= 0 {
		c.hand(d, end)
		return
	}
	c.mu.Lock()
	if c.closed || len(c.held) >= maxHeld {
		c.mu.Unlock()
		c.hand(d, end)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.held[d] = cancel
	c.timers.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.timers.Done()
		defer cancel()
		if pause(ctx, d.wait) {
			c.hand(d, end)
		} else {
			c.s.undelivered(d)
		}
		c.mu.Lock()
		delete(c.held, d)
		c.mu.Unlock()
	}()
}

func (c *pipe) hand(d *delivery, end []byte) {
	if d.fate == fateDrop {
		c.s.delivered(d)
		c.breakOff()
		return
	}
	if c.out.write(d.message, end) != nil {
		c.s.undelivered(d)
		c.breakOff()
		return
	}
	c.s.delivered(d)
}

// cancel discards the delayed reply to a call that the client cancelled. The reply must not arrive any more.
func (c *pipe) cancel(id string) {
	if id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for d, cancel := range c.held {
		if d.id == id {
			cancel()
		}
	}
}

// pause waits, and reports whether it waited the full time.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func prompt(replies []*delivery) bool {
	for _, d := range replies {
		if d.wait > 0 || d.fate != fateDeliver {
			return false
		}
	}
	return true
}

// together combines the replies to a batch into one message.
func together(replies []*delivery) *delivery {
	all := &delivery{} // each reply is recorded separately
	for i, d := range replies {
		if i > 0 {
			all.message = append(all.message, ',')
		} else {
			all.message = append(all.message, '[')
		}
		all.message = append(all.message, d.message...)
	}
	all.message = append(all.message, ']')
	return all
}
