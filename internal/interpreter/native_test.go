//go:build linux && (amd64 || arm64)

package interpreter

import (
	"errors"
	"testing"
	"time"
)

// nativeEngine starts the engine, or skips the test where the machine cannot have it.
func nativeEngine(tb testing.TB) Engine {
	tb.Helper()
	e, err := NewNative(tb.Context(), NativeOptions{})
	var none *NoSandboxError
	if errors.As(err, &none) {
		tb.Skip(err)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = e.Close() })
	return e
}

// hostileLimits are small, so that what runs into them does soon.
var hostileLimits = Limits{
	BlockTime: 1200 * time.Millisecond, BlockCPU: time.Second, SessionTime: time.Minute, Memory: 256 << 20, Output: 4 << 10,
	Value: 64 << 10, BlockCalls: 50, SessionCalls: 200,
}

func TestNativeOutlivesHostilePrograms(t *testing.T) {
	testHostile(t, nativeEngine(t), hostileLimits)
}
