//go:build unix && !aix && !illumos && !solaris

package command

import (
	"os"

	"golang.org/x/sys/unix"
)

// canLock says whether a lock tells that the process which held it has gone.
const canLock = true

// take takes a lock that the system drops with the process, and says whether it was free.
func take(lock *os.File) bool { return unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil }
