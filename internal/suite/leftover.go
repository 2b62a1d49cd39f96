package suite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// WorkFolder makes a folder in parent whose name begins with name, and removes those that killed processes left under
// this name. An empty parent is the folder for temporary files.
func WorkFolder(parent, name string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	entries, err := os.ReadDir(parent)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		rest, ours := strings.CutPrefix(e.Name(), name)
		number, _, _ := strings.Cut(rest, "-")
		if pid, err := strconv.Atoi(number); ours && err == nil && e.IsDir() && !isAlive(pid) {
			_ = os.RemoveAll(filepath.Join(parent, e.Name())) // perhaps another's: it is only in the way
		}
	}
	return os.MkdirTemp(parent, fmt.Sprintf("%s%d-", name, os.Getpid()))
}

// isAlive reports whether there may be a process of that number.
func isAlive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = p.Release() }()
	err = p.Signal(syscall.Signal(0))
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}

var unfinished atomic.Int64

// Unfinished says that output is half written until the returned function is called. A command that is interrupted
// waits for that, so that it can remove the output.
func Unfinished() (finished func()) {
	unfinished.Add(1)
	return func() { unfinished.Add(-1) }
}

// AnyUnfinished reports whether output is half written.
func AnyUnfinished() bool { return unfinished.Load() > 0 }
