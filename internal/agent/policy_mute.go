package agent

import "github.com/seatrial/seatrial/internal/task"

// mute never acts: what it scores, silence scores.
type mute struct{}

func newMute(PolicyInput) script { return mute{} }

func (mute) turn(*task.View, []task.Observation) (task.Turn, error) {
	return stop("mute says nothing"), nil
}
