package agent

import "github.com/seatrial/seatrial/internal/universe"

// mute never acts: what it scores, silence scores.
type mute struct{}

func newMute(PolicyInput) script { return mute{} }

func (mute) turn(*universe.View, []universe.Observation) (universe.Turn, error) {
	return stop("mute says nothing"), nil
}
