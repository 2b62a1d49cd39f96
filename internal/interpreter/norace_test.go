//go:build !race

package interpreter

// underRace says that the race detector is at work.
const underRace = false
