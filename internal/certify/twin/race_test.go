//go:build race

package twin_test

// underRace says that the race detector is enabled. SQLite in pure Go is dozens of times slower under it, so tests
// then take a sample of the demo corpus.
const underRace = true
