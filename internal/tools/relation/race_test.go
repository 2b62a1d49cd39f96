//go:build race

package relation_test

// underRace says that the race detector is at work: SQLite in pure Go is dozens of times slower under it, so that fewer
// chains are made then.
const underRace = true
