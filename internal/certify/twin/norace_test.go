//go:build !race

package twin_test

// underRace says that the race detector is enabled.
const underRace = false
