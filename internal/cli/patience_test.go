package cli

import "time"

// StopTime returns how long commands may take to end, as it is outside of tests.
func StopTime() time.Duration { return usualStopTime }

var usualStopTime = stopTime

// Wait gives commands time to end, for tests that want to see what they say at an interrupt on a busy machine.
func Wait(bound time.Duration) { stopTime = bound }
