//go:build !unix

package command

// CloseInherited does nothing: on this system children inherit no descriptors unless they are named.
func CloseInherited() error { return nil }
