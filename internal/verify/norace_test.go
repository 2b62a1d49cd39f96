//go:build !race

package verify_test

// underRace says that the race detector is at work.
const underRace = false
