package python

import "golang.org/x/sys/unix"

const auditProcessor = unix.AUDIT_ARCH_AARCH64

// allowedHere are allowed calls that have another name on this processor.
var allowedHere = []uint32{unix.SYS_FSTATAT, unix.SYS_GETRLIMIT}
