//go:build race

package pipeline

// underRace says that the race detector is at work: SQLite in pure Go is dozens of times slower under it, so that tests
// then read a part of the demo corpus.
const underRace = true
