//go:build !race

package slot_test

// underRace says that the race detector is at work.
const underRace = false
