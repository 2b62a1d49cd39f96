//go:build race

package proof_test

// underRace says that the race detector is at work: SQLite in pure Go is dozens of times slower under it, so that tests
// then take a sample of the demo corpus.
const underRace = true
