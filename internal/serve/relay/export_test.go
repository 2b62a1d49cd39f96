package relay

import "testing"

// LowerMaxReply bounds replies so for the time of a test.
func LowerMaxReply(t *testing.T, n int) {
	before := maxReply
	maxReply = n
	t.Cleanup(func() { maxReply = before })
}
