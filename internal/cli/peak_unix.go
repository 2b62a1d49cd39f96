//go:build unix

package cli

import (
	"runtime"
	"syscall"
)

// peakMiB returns the largest resident size of the process so far, in MiB.
func peakMiB() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	unit := 1024.0 // Linux counts KiB
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		unit = 1
	}
	return float64(usage.Maxrss) * unit / (1 << 20)
}
