package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Start is one program to be run.
type Start struct {
	Path  string   // of the program
	Args  []string // its words, the name among them
	Env   []string // the whole environment
	Stdin string
	// Ended is closed when nothing the program does matters any more. It then has Grace to end by itself. nil never is.
	Ended <-chan struct{}
	Grace time.Duration
	// Hide are files and folders that the program and its children may neither read nor change, Show those within that
	// they may. Hide must be nil where [CanHide] is false.
	Hide, Show []string
	// Stderr is how many bytes are kept of what the program says there.
	Stderr int
}

// Outcome is what became of a program.
type Outcome struct {
	Exit   int    // status, 0 for success; meaningless where Signal is not ""
	Signal string // that ended it, if one did
	Killed bool   // the context or Ended ended it
	Stdout *Tail  // the last [MaxAnswer] bytes of it, and a little more
	Stderr *Tail
}

// KeeperArgument is the one argument with which Seatrial's program starts itself to be a keeper: the process in whose
// keeping an agent's program and all its children are. Whoever reads arguments hands over to [Keep].
const KeeperArgument = "keep-agent"

// last is how long output that nobody alive can write any more is waited for.
const last = 5 * time.Second

// NotStartedError says that a program could not be started.
type NotStartedError struct {
	Path string
	Err  error
}

func (e *NotStartedError) Error() string {
	return fmt.Sprintf("%s cannot be started: %v", e.Path, e.Err)
}

// Unwrap gives the system's reason.
func (e *NotStartedError) Unwrap() error { return e.Err }

// Run runs a program to its end. When ctx is done, the program is killed, and so are its children, on Linux also those
// that left its group; nothing of it lives on when Run returns. The error is a [NotStartedError] or Seatrial's own
// failure: whatever the program does is an outcome.
func Run(ctx context.Context, s *Start) (*Outcome, error) {
	out := &Outcome{Stdout: &Tail{Max: MaxAnswer}, Stderr: &Tail{Max: s.Stderr}}
	p, err := begin(s, out)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- p.wait() }()
	ended := s.Ended
	var grace <-chan time.Time
	interrupted := ctx.Done()
	for {
		select {
		case err := <-done:
			return out, err
		case <-interrupted:
			interrupted = nil
		case <-ended:
			timer := time.NewTimer(s.Grace)
			defer timer.Stop()
			ended, grace = nil, timer.C
			continue
		case <-grace:
			grace = nil
		}
		out.Killed = true
		p.kill()
	}
}

// pour gives the program its standard input and takes its output.
func pour(cmd *exec.Cmd, s *Start, out *Outcome) {
	cmd.Stdin = strings.NewReader(s.Stdin)
	cmd.Stdout, cmd.Stderr = out.Stdout, out.Stderr
	cmd.WaitDelay = last
}

// ignoreEnd drops the errors that say how a program ended, which is an outcome.
func ignoreEnd(err error) error {
	var ended *exec.ExitError
	if errors.As(err, &ended) || errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// closeAll closes files that the other process has by now.
func closeAll(files ...io.Closer) {
	for _, f := range files {
		_ = f.Close() // nothing was written to them here
	}
}

// self gives the path of Seatrial's own program.
func self() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the program to start as a keeper: %w", err)
	}
	return path, nil
}
