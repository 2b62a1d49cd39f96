//go:build !race

package python

// underRace reports whether the race detector is on.
const underRace = false
