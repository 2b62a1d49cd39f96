package interpreter

import (
	"sync"
	"time"
)

// activity is what an interpreter does, as far as limits are concerned.
type activity int

const (
	outside  activity = iota // nothing runs, or the host works for it: nothing is counted
	running                  // counts as processor time and as wall time
	sleeping                 // counts as wall time
)

// stopwatch counts the time of a block and ends it once.
type stopwatch struct {
	mu        sync.Mutex
	wall, cpu time.Duration // what is left
	doing     activity
	since     time.Time
	timer     *time.Timer
	turn      int // of doing: a timer of an earlier one that fires late does nothing
	spent     time.Duration
	over      bool
	expire    func()
}

// newStopwatch calls expire, once, when either is used up.
func newStopwatch(wall, cpu time.Duration, expire func()) *stopwatch {
	return &stopwatch{wall: wall, cpu: cpu, expire: expire}
}

// set says what is done from now on.
func (w *stopwatch) set(next activity) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doing != outside {
		took := time.Since(w.since)
		w.spent += took
		w.wall -= took
		if w.doing == running {
			w.cpu -= took
		}
	}
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	w.doing, w.since = next, time.Now()
	w.turn++
	if next == outside || w.over {
		return
	}
	left := w.wall
	if next == running {
		left = min(w.wall, w.cpu)
	}
	turn := w.turn
	w.timer = time.AfterFunc(left, func() { w.fire(turn) })
}

func (w *stopwatch) fire(turn int) {
	w.mu.Lock()
	late := turn != w.turn || w.over
	if !late {
		w.over = true
	}
	w.mu.Unlock()
	if !late {
		w.expire()
	}
}

// total is the wall time counted so far, and whether it ended the block.
func (w *stopwatch) total() (time.Duration, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.spent, w.over
}
