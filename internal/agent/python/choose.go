package python

import (
	"context"
	"errors"
	"fmt"
)

// Engines lists the names of the engines, in the order in which they are tried.
func Engines() []string { return []string{"native", "wasi"} }

// Choice selects an engine and configures each.
type Choice struct {
	Engine string // one of [Engines], or empty for the first available
	Native NativeOptions
	WASI   WASIOptions
}

// Open starts an engine. If this machine cannot run it, the error is a [NoSandboxError].
func Open(ctx context.Context, c Choice) (Engine, error) {
	switch c.Engine {
	case "native":
		return NewNative(ctx, c.Native)
	case "wasi":
		return NewWASI(ctx, c.WASI)
	case "":
	default:
		return nil, fmt.Errorf("there is no engine %q", c.Engine)
	}
	none := &NoSandboxError{What: "there is no interpreter for Python here"}
	for _, name := range Engines() {
		c.Engine = name
		e, err := Open(ctx, c)
		var lacks *NoSandboxError
		if err == nil || !errors.As(err, &lacks) {
			return e, err
		}
		none.Tried = append(none.Tried, name+": "+lacks.Error())
	}
	return nil, none
}
