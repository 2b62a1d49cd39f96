//go:build race

package python

// underRace says that the race detector is at work. The hostile programs run inside an interpreter, where it sees
// nothing.
const underRace = true
