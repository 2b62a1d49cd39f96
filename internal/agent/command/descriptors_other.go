//go:build unix && !linux

package command

import "errors"

func closeOnExecFrom(uint) error { return errors.ErrUnsupported }
