//go:build unix

package command

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// CloseInherited keeps every descriptor from 3 up out of this process's children. Whoever started Seatrial may have
// left open files in it, gold and secrets among them; children get only the descriptors that they are given.
func CloseInherited() error {
	if closeOnExecFrom(3) == nil {
		return nil
	}
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return fmt.Errorf("descriptors: %w", err)
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
