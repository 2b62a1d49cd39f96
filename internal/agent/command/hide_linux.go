package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rights that hidden files lose. Names can be listed and programs started everywhere: only the contents of files are
// hidden.
const (
	rightsOfFiles = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	rightsOfDirs  = unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM
)

// landlockVersion returns the version of the landlock interface, 0 if the kernel has none.
func landlockVersion() int {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(version)
}

// CanHide reports whether this system can hide files from programs.
func CanHide() bool { return landlockVersion() > 0 }

// ruleset is the rights that a thread will keep.
type ruleset struct {
	fd          int
	files, dirs uint64
}

// hide denies this thread, and every process that it starts, the files under the paths of hidden, except those under
// the paths of shown. A restricted process can neither inspect nor trace an unrestricted one, nor, from Linux 6.12 on,
// send it a signal. Landlock only knows what is allowed, and allows whole trees. So hide allows each tree that contains
// nothing hidden; in a folder on the way to something hidden, it allows the present entries one by one. Nothing can be
// created or removed in such a folder itself.
func hide(hidden, shown []string) error {
	version := landlockVersion()
	if version == 0 {
		return errors.New("the kernel has no Landlock")
	}
	r := &ruleset{files: rightsOfFiles, dirs: rightsOfFiles | rightsOfDirs}
	if version >= 2 {
		r.dirs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		r.files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
		r.dirs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attr := struct{ fs, net, scoped uint64 }{fs: r.dirs}
	size := unsafe.Sizeof(attr.fs)
	if version >= 6 { // no signals to what is outside: to Seatrial, for one
		attr.scoped, size = unix.LANDLOCK_SCOPE_SIGNAL, unsafe.Sizeof(attr)
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("ruleset: %w", errno)
	}
	r.fd = int(fd)
	defer func() { _ = unix.Close(r.fd) }() // nothing was written
	real := func(paths []string) ([]string, error) {
		list := make([]string, len(paths))
		for i, path := range paths {
			var err error
			if list[i], err = realPath(path); err != nil {
				return nil, err
			}
		}
		return list, nil
	}
	var err error
	if hidden, err = real(hidden); err != nil {
		return err
	}
	if shown, err = real(shown); err != nil {
		return err
	}
	if err := r.allow("/", hidden); err != nil {
		return err
	}
	for _, path := range shown {
		if err := r.add(path); err != nil {
			return err
		}
	}
	// With these capabilities, programs of the superuser could read every /proc/PID/environ in spite of landlock,
	// including the tokens of other episodes. Other programs do not have them.
	for _, capability := range []uintptr{unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_PERFMON} {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("capability: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(r.fd), 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	runtime.KeepAlive(&attr)
	return nil
}

// realPath returns the path of a file without links in it. A file that does not exist yet gets the real path of its
// folder.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && path != "/" {
		parent, err := realPath(filepath.Dir(path))
		return filepath.Join(parent, filepath.Base(path)), err
	}
	return real, err
}

// allow allows a path and everything below it, except what is hidden.
func (r *ruleset) allow(path string, hidden []string) error {
	if slices.Contains(hidden, path) {
		return nil
	}
	within := strings.TrimSuffix(path, "/") + "/"
	if !slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(h, within) }) {
		return r.add(path)
	}
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return nil // the program cannot read it either
	}
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Type()&fs.ModeSymlink != 0 {
			continue // its target is allowed under its own path
		}
		if err := r.allow(within+entry.Name(), hidden); err != nil {
			return err
		}
	}
	return nil
}

// add allows a path and everything below it. It ignores a path that no longer exists.
func (r *ruleset) add(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var about unix.Stat_t
	if err := unix.Fstat(fd, &about); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: r.files, Parent_fd: int32(fd)}
	if about.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = r.dirs
	}
	_, _, errno := unix.Syscall6(
		unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0,
	)
	runtime.KeepAlive(&rule)
	if errno != 0 {
		return fmt.Errorf("%s: %w", path, errno)
	}
	return nil
}
