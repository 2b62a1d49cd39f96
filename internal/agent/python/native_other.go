//go:build !linux || (!amd64 && !arm64)

package python

import (
	"context"
	"runtime"
)

// NewNative returns an error: the native engine needs Linux.
func NewNative(context.Context, NativeOptions) (Engine, error) {
	return nil, &NoSandboxError{What: "the engine native needs Linux on amd64 or arm64, and this is " + runtime.GOOS +
		" on " + runtime.GOARCH}
}
