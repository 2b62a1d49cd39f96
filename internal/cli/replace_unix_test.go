//go:build unix

package cli_test

import (
	"os"
	"syscall"
)

// replaceProcess runs another program in place of this one.
func replaceProcess(program string, args []string) error {
	return syscall.Exec(program, args, os.Environ())
}
