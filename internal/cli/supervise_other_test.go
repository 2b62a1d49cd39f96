//go:build !unix

package cli_test

// stubborn is for systems that have signals.
func stubborn() {}
