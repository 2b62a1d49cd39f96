//go:build race

package slot_test

// underRace says that the race detector is at work: SQLite in pure Go is dozens of times slower under it, so that no
// corpora are played then. The compiler starts no goroutines.
const underRace = true
