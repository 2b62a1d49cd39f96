package python

import "golang.org/x/sys/unix"

const auditProcessor = unix.AUDIT_ARCH_X86_64

// allowedHere are the older forms of allowed calls, which newer processors lack.
var allowedHere = []uint32{
	unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_DUP2,
	unix.SYS_PIPE, unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_WAIT, unix.SYS_TIME, unix.SYS_ALARM, unix.SYS_PAUSE,
	unix.SYS_GETRLIMIT, unix.SYS_GETPGRP, unix.SYS_GETDENTS, unix.SYS_ARCH_PRCTL,
}
