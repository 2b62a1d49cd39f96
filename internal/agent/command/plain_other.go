//go:build !linux

package command

import (
	"errors"
	"fmt"
	"os/exec"
)

// kept is a program that was started.
type kept struct {
	cmd *exec.Cmd
	out *Outcome
}

// CanHide reports whether this system can hide files from programs.
func CanHide() bool { return false }

// CanHideProcesses reports whether this system can hide other processes from programs.
func CanHideProcesses() bool { return false }

// CanCutNetwork reports whether this system can take the network from programs.
func CanCutNetwork() bool { return false }

// KeepArguments does nothing: this system does not let a process erase its arguments.
func KeepArguments() {}

// Keep returns an exit code: programs have no keepers on this system.
func Keep() int { return 2 }

func begin(s *Start, out *Outcome) (*kept, error) {
	if len(s.Hide) > 0 {
		return nil, errors.New("files cannot be hidden from programs on this system")
	}
	if s.Listen != "" {
		return nil, errors.New("programs cannot have networks of their own on this system")
	}
	cmd := &exec.Cmd{Path: s.Path, Args: s.Args, Env: s.Env}
	copyStreams(cmd, s, out)
	group(cmd)
	if err := cmd.Start(); err != nil {
		return nil, &NotStartedError{Path: s.Path, Err: err}
	}
	return &kept{cmd: cmd, out: out}, nil
}

func (k *kept) kill() { killGroup(k.cmd) }

func (k *kept) crush() {}

func (k *kept) wait() error {
	err := k.cmd.Wait()
	killGroup(k.cmd)
	if err := ignoreEnd(err); err != nil {
		return fmt.Errorf("command: %w", err)
	}
	k.out.Exit = k.cmd.ProcessState.ExitCode()
	if k.out.Exit < 0 {
		k.out.Signal = k.cmd.ProcessState.String()
	}
	return nil
}
