package policy

import (
	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/task"
)

// mute never acts. Its score is the score of silence.
type mute struct{}

func newMute(Input) script { return mute{} }

func (mute) Turn(*task.View, []task.Observation) (task.Turn, error) {
	return action.Stop("mute says nothing"), nil
}
