//go:build race

package python

// underRace reports whether the race detector is on. The hostile programs run inside an interpreter, where it sees
// nothing.
const underRace = true
