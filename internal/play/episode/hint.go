package episode

import (
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/suite/transcript"
)

// Arms of hints: the part Hint of a [transcript.Arm]. The schedule of faults is the same in each of them.
const (
	HintNone     = "none"     // no advice; the arm is written as "", as in runs without arms of hints
	HintStart    = "start"    // advice on the conditions of the instance, at the start
	HintDeferred = "deferred" // the same advice, at the first visible anomaly
	HintOracle   = "oracle"   // only the names and definitions of the hazards, at the start
	// HintCheck gives no advice: an early answer is sent back once, see [environment.Config.Check].
	HintCheck = "check"
)

// Hints lists the arms of hints.
func Hints() []string { return []string{HintNone, HintStart, HintDeferred, HintOracle, HintCheck} }

// hintOf reads the arm of hints of an episode; "" is [HintNone].
func hintOf(h *transcript.Header) (string, error) {
	arm, err := transcript.ParseArm(h.Arm)
	switch {
	case err != nil:
		return "", err
	case arm.Hint == "":
		return HintNone, nil
	case !slices.Contains(Hints(), arm.Hint):
		return "", fmt.Errorf("arm %q: unknown kind of hint %q", h.Arm, arm.Hint)
	}
	return arm.Hint, nil
}

// advise returns the advice of an arm of hints for an instance. Without conditions of the environment there is none.
func advise(hint string, conditions []condition.Condition, in fault.Input) (environment.Hint, error) {
	if hint == HintNone || hint == HintCheck {
		return environment.Hint{}, nil
	}
	advice, err := condition.Advise(conditions, in)
	given := environment.Hint{When: environment.HintStart, Text: advice.Text}
	switch hint {
	case HintOracle:
		given.Text = advice.Oracle
	case HintDeferred:
		given.When = environment.HintDeferred
	}
	if err != nil || given.Text == "" {
		return environment.Hint{}, err
	}
	return given, nil
}
