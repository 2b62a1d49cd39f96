//go:build !race

package proof_test

// underRace says that the race detector is enabled.
const underRace = false
