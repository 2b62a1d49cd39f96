//go:build unix && !aix && !illumos && !solaris

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// canLock reports whether the system drops a lock when its process ends.
const canLock = true

// take takes a lock that the system drops when the process ends, and reports whether it was free.
func take(lock *os.File) bool { return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
