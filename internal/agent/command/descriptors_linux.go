package command

import (
	"math"

	"golang.org/x/sys/unix"
)

// closeOnExecFrom marks all descriptors from first on as close-on-exec (Linux 5.11).
func closeOnExecFrom(first uint) error {
	return unix.CloseRange(first, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
}
