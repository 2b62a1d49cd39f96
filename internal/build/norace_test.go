//go:build !race

package build

// underRace says that the race detector is at work.
const underRace = false
