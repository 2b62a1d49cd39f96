//go:build !race

package cli_test

// underRace says that the race detector is at work: SQLite in pure Go is dozens of times slower under it.
const underRace = false
