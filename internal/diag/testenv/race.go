//go:build race

package testenv

// Race reports whether the race detector is on. SQLite in pure Go is dozens of times slower under it.
const Race = true
