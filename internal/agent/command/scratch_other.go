//go:build !unix || aix || illumos || solaris

package command

import "os"

// canLock says whether a lock tells that the process which held it has gone.
const canLock = false

// take is for systems with such locks.
func take(*os.File) bool { return false }
