package interpreter

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// wasiOptions are those of the tests: the file that SEATRIAL_PYTHON_WASI names, or the one that was fetched.
func wasiOptions(t testing.TB) WASIOptions {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Skipf("there is no cache folder to look for CPython for WASI in: %v", err)
	}
	o := WASIOptions{File: os.Getenv("SEATRIAL_PYTHON_WASI"), Folder: filepath.Join(cache, "seatrial")}
	if _, err := os.Stat(cmp.Or(o.File, filepath.Join(o.Folder, wasiName))); err != nil {
		t.Skipf("CPython for WASI is not at hand (seatrial python --fetch gets it): %v", err)
	}
	return o
}

var sharedWASI struct {
	once   sync.Once
	engine Engine
	err    error
}

// wasiEngine is the engine of all tests: starting one takes most of a second.
func wasiEngine(t testing.TB) *wasi {
	t.Helper()
	o := wasiOptions(t)
	s := &sharedWASI
	s.once.Do(func() { s.engine, s.err = NewWASI(context.Background(), o) })
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.engine.(*wasi)
}

func TestWASIRunsBlocks(t *testing.T) {
	s, err := wasiEngine(t).Start(t.Context(), &Setup{})
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Run(t.Context(), "x = 20\nprint('so')\nx + 1")
	if err != nil || o.Value != "21" || o.Output != "so\n" {
		t.Errorf("%+v, %v", o, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
