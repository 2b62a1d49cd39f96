// Package program names the code of the running program, so that results of different code are told apart. It must
// never decide what a difference means.
package program

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// Code names the code of this program: its commit if it was built from one without changes, its version if it was built
// from a module that the Go toolchain downloaded, and otherwise the SHA-256 of its file. Equal names mean equal code.
// Files of equal code can differ, as those for other platforms do. The error is that of reading the file.
var Code = sync.OnceValues(func() (string, error) {
	info, _ := debug.ReadBuildInfo()
	if name := known(info); name != "" {
		return name, nil
	}
	file, err := os.Open("/proc/self/exe") // also after the file at its path was replaced
	if err != nil {
		var path string
		if path, err = os.Executable(); err == nil {
			file, err = os.Open(path)
		}
	}
	if err != nil {
		return "", fmt.Errorf("the file of this program: %w", err)
	}
	defer func() { _ = file.Close() }() // nothing was written
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("the file of this program: %w", err)
	}
	return "file " + hex.EncodeToString(sum.Sum(nil)), nil
})

// known returns what the Go toolchain recorded, "" if that does not name the code.
func known(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	if info.Main.Sum != "" && info.Main.Replace == nil {
		return "version " + info.Main.Version
	}
	var revision, modified string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value
		}
	}
	if revision == "" || modified != "false" {
		return ""
	}
	return "commit " + revision
}
