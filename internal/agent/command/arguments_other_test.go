//go:build unix && !linux

package command_test

func alone() int { return 2 }
