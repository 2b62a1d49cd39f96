//go:build !race

package compile_test

// underRace says that the race detector is at work.
const underRace = false
