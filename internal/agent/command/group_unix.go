//go:build unix && !linux

package command

import (
	"os/exec"
	"syscall"
)

// group puts the program in its own process group, which its children share unless they leave it.
func group(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the group may be empty
}
