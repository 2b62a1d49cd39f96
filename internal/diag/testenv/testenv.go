// Package testenv says what tests can rely on: the shared corpora, ports, and whether the race detector is on. Only
// tests import it. It must never know what they test.
package testenv

import (
	"os"
	"testing"
)

// SharedFolder returns the folder of the shared corpora, which SEATRIAL_SHARED names; "" if they are missing.
func SharedFolder() string { return os.Getenv("SEATRIAL_SHARED") }

// Shared returns the folder of the shared corpora, or skips the test if they are missing.
func Shared(tb testing.TB) string {
	tb.Helper()
	shared := SharedFolder()
	if shared == "" {
		tb.Skip("SEATRIAL_SHARED does not name the folder of the shared corpora")
	}
	return shared
}

// Reduced reports whether tests read a part of the demo corpus instead of the whole: under the race detector, and where
// the corpora are missing, so that the tests of a clean clone take minutes. The whole is tested with the corpora.
func Reduced() bool { return Race || SharedFolder() == "" }
