package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/seatrial/seatrial/internal/diag"
)

// grace is how long a server may take to end after its standard input was closed, and again after it was asked to.
const grace = 2 * time.Second

// command is a server that was started as a command.
type command struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *os.File
	frames *frames
	to     *output
	ended  chan struct{}
	status error // after ended
}

// Command runs a server as a command and carries messages between it and a client over in and out. What the server says
// on its standard error goes to errors. When the client leaves, the server is given time to end; then it is killed with
// its children. The error says that the server could not be started ([diag.ExitUsage]) or ended by itself with a
// failure ([diag.ExitFailed]).
func (p *Proxy) Command(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) error {
	if err := p.f.Usable(false); err != nil {
		return err
	}
	c, err := start(args, errs, p.limit)
	if err != nil {
		return diag.Usagef("the server cannot be started: %v", err).WithHint("is %s installed?", args[0])
	}
	err = p.carry(ctx, in, out, c)
	left := !errors.Is(err, io.EOF)
	c.stop(ctx)
	switch {
	case !left && c.status != nil:
		return &diag.Error{Exit: diag.ExitFailed, Message: fmt.Sprintf("the server ended: %v", c.status)}
	case errors.Is(err, io.EOF), errors.Is(err, errDropped):
		return nil
	default:
		return err
	}
}

func start(args []string, errs io.Writer, limit int) (*command, error) {
	cmd := exec.Command(args[0], args[1:]...)
	own(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = theirs, errs
	cmd.WaitDelay = grace // for a descendant that holds on to standard error
	err = cmd.Start()
	_ = theirs.Close() // the child has its own
	if err != nil {
		_ = out.Close() // nothing was read
		return nil, err
	}
	c := &command{cmd: cmd, in: in, out: out, frames: newFrames(out, limit), to: &output{w: in},
		ended: make(chan struct{})}
	go func() {
		c.status = cmd.Wait()
		endGroup(cmd.Process.Pid, true) // its children go with it
		// A descendant that left the group may hold standard output open: what is there is still read.
		_ = out.SetReadDeadline(time.Now().Add(grace))
		close(c.ended)
	}()
	return c, nil
}

func (c *command) send(raw []byte) error { return c.to.write(raw) }

func (c *command) stream(head []byte, rest *frames) (int, error) { return c.to.stream(head, rest) }

func (c *command) rest() *frames { return c.frames }

func (c *command) next() ([]byte, bool, error) {
	raw, long, err := c.frames.next()
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return raw, long, err
}

// finish closes standard input, and ends a server that does not end by itself.
func (c *command) finish() {
	_ = c.in.Close() // it may have been closed already
	go func() {
		if c.over(grace) {
			return
		}
		endGroup(c.cmd.Process.Pid, false)
		if !c.over(grace) {
			endGroup(c.cmd.Process.Pid, true)
		}
	}()
}

// over says whether the server has ended, or ends within some time.
func (c *command) over(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-c.ended:
		return true
	case <-timer.C:
		return false
	}
}

// stop ends the server: at once where the user interrupted the proxy.
func (c *command) stop(ctx context.Context) {
	if ctx.Err() != nil && !c.over(0) {
		endGroup(c.cmd.Process.Pid, false)
	}
	c.finish()
	<-c.ended
	_ = c.out.Close() // nobody reads any more
}
