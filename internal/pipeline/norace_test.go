//go:build !race

package pipeline

// underRace says that the race detector is at work.
const underRace = false
