//go:build unix

package proxy

import (
	"os/exec"
	"syscall"
)

// own puts a command into a process group of its own, so that it can be ended with its children.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends a process group: by force, or by asking. A group that is gone already is left alone.
func endGroup(pid int, force bool) {
	signal := syscall.SIGTERM
	if force {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, signal) // ESRCH: nobody is left
}
