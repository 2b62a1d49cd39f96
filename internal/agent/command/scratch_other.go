//go:build !unix || aix || illumos || solaris

package command

import "os"

// canLock reports whether the system drops a lock when its process ends.
const canLock = false

// take is for systems with such locks.
func take(*os.File) bool { return false }
