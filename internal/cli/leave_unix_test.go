//go:build unix

package cli_test

import (
	"os/exec"
	"syscall"
)

// leaveGroup has a program leave its parent's group and session.
func leaveGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
