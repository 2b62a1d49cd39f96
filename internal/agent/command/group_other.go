//go:build !unix

package command

import "os/exec"

func group(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) {
	_ = cmd.Process.Kill() // it may have ended
}
