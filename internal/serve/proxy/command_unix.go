//go:build unix

package proxy

import (
	"os/exec"
	"syscall"
)

// own puts a command into its own process group, so that its children can be killed with it.
func own(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup kills a process group if force is set, and otherwise asks it to exit. It ignores a group that no longer
// exists.
func endGroup(pid int, force bool) {
	signal := syscall.SIGTERM
	if force {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-pid, signal) // ESRCH: the group no longer exists
}
