package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// errLeft is what a person's turn gives once they have left.
var errLeft = io.EOF

// console is the terminal: lines of standard input, and the error stream, so that reports can be piped on.
type console struct {
	out   io.Writer
	lines chan string // closed at the end of the input
}

// newConsole reads lines from in until it ends. A line that nobody waits for waits.
func newConsole(in io.Reader, out io.Writer) *console {
	c := &console{out: out, lines: make(chan string)}
	go func() {
		defer close(c.lines)
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, 1<<20)
		for scan.Scan() {
			c.lines <- scan.Text()
		}
	}()
	return c
}

func (c *console) Say(text string) { _, _ = io.WriteString(c.out, text) } // nobody is left to tell

func (c *console) Line(ctx context.Context) (string, error) {
	select {
	case line, ok := <-c.lines:
		if !ok {
			return "", errLeft
		}
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// human makes the person at the terminal a participant, one episode at a time.
func (a *app) human(o *runOptions, arms []transcript.Arm, instances int,
	stop context.CancelCauseFunc) []episode.Participant {
	terminal := newConsole(a.In, a.Err)
	var mu sync.Mutex
	begun := 0
	leave := func() {
		stop(&diag.Error{Exit: diag.ExitInterrupted, Message: "the terminal was left; what was finished is kept",
			Hint: a.resumeHint})
	}
	var list []episode.Participant
	for _, arm := range arms {
		list = append(list, episode.Participant{
			Agent: protocol.HumanName, Arm: arm.String(), Budget: o.budget, Scale: arm.Budget,
			New: func(*suite.Instance, *task.Task, int) (episode.Agent, error) {
				mu.Lock()
				defer mu.Unlock()
				begun++
				title := fmt.Sprintf("%d of at most %d", begun, instances*len(arms)*o.trials)
				return attended{protocol.NewHuman(terminal, title), leave}, nil
			},
		})
	}
	return list
}

// attended ends the run when the person at the terminal leaves: what is left is for a resumed run.
type attended struct {
	episode.Agent
	leave func()
}

func (h attended) Next(ctx context.Context, view *task.View, seen []task.Observation) (task.Turn, error) {
	turn, err := h.Agent.Next(ctx, view, seen)
	if errors.Is(err, errLeft) {
		h.leave()
	}
	return turn, err
}
