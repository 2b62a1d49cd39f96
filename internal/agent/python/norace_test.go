//go:build !race

package python

// underRace says that the race detector is at work.
const underRace = false
