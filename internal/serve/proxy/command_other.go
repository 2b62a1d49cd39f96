//go:build !unix

package proxy

import (
	"os"
	"os/exec"
)

func own(*exec.Cmd) {}

// endGroup ends a process. Where there are no process groups its children are on their own.
func endGroup(pid int, _ bool) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may be gone already
	}
}
