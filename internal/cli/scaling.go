package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/spf13/cobra"
)

// scaling are the flags of `run` that give agents more, or less, to work with.
type scaling struct {
	hints    []string // arms of hints
	budgets  []string // scales of the base budget; every one is an arm
	informed bool     // a second try after a failure, told of it
	world    int      // the fresh world that is played on; 0 for the published databases
}

// tableVotes is the table of what several tries are worth.
const tableVotes = "tts"

// maxScale bounds the scale of a budget.
const maxScale = 1000

func (s *scaling) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&s.hints, "hints", nil,
		"run once with each kind of advice on faults, as arms: "+strings.Join(episode.Hints(), ","))
	f.StringSliceVar(&s.budgets, "budgets", nil,
		"run once with each multiple of the task's base budget of turns and calls, as arms: 0.5,1,2,4")
	f.BoolVar(&s.informed, "informed-retry", false,
		"models try once more after a failure, told of it with answers hidden; uses the verdict of the grader")
	f.IntVar(&s.world, "world", 0, "play on the neighbours of that number that proofs grow, with the right answers there; 0 plays on the published databases")
}

// settings adds what decides the content of a run, where it is not as it is without these flags.
func (s *scaling) settings(into map[string]string) {
	if len(s.hints) > 0 {
		into["hints"] = strings.Join(s.hints, ",")
	}
	if len(s.budgets) > 0 {
		into["budgets"] = strings.Join(s.budgets, ",")
	}
	if s.informed {
		into["informed_retry"] = strconv.FormatBool(true)
	}
	if s.world != 0 {
		into["world"] = strconv.Itoa(s.world)
	}
}

// restore is the inverse of settings.
func (s *scaling) restore(from map[string]string) {
	s.hints, s.budgets = nil, nil
	if text := from["hints"]; text != "" {
		s.hints = strings.Split(text, ",")
	}
	if text := from["budgets"]; text != "" {
		s.budgets = strings.Split(text, ",")
	}
	s.informed = from["informed_retry"] != ""
	s.world, _ = strconv.Atoi(from["world"]) // 0 where it is not there
}

func (s *scaling) check(policies []string) error {
	if s.world < 0 {
		return diag.Usagef("--world %d: neighbours are numbered from 1", s.world)
	}
	for i, hint := range s.hints {
		if !slices.Contains(episode.Hints(), hint) {
			return diag.Unknown("kind of hint", hint, episode.Hints())
		}
		if slices.Contains(s.hints[:i], hint) {
			return diag.Usagef("--hints: %s is given twice", hint)
		}
	}
	scales, err := s.scales()
	if err != nil {
		return err
	}
	for i, scale := range scales {
		if slices.Contains(scales[:i], scale) {
			return diag.Usagef("--budgets: %g is given twice", scale)
		}
	}
	if s.informed && len(policies) > 0 {
		return diag.Usagef("--informed-retry makes no sense for the policy %s: a script does not read what went wrong",
			policies[0]).
			WithHint("give models alone: --model PROVIDER/NAME")
	}
	return nil
}

// scales reads the multiples of the base budget.
func (s *scaling) scales() ([]float64, error) {
	scales := make([]float64, len(s.budgets))
	for i, text := range s.budgets {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || v > maxScale {
			return nil, diag.Usagef("--budgets: %q is no multiple of a budget", text).
				WithHint("numbers above 0, up to %d: --budgets 0.5,1,2,4", maxScale)
		}
		scales[i] = v
	}
	return scales, nil
}

// arms lists the arms that every agent of the run takes part in: each hint with each budget.
func (s *scaling) arms() ([]transcript.Arm, error) {
	scales, err := s.scales()
	if err != nil {
		return nil, err
	}
	if len(scales) == 0 {
		scales = []float64{0}
	}
	hints := s.hints
	if len(hints) == 0 {
		hints = []string{episode.HintNone}
	}
	var arms []transcript.Arm
	for _, hint := range hints {
		if hint == episode.HintNone {
			hint = ""
		}
		for _, scale := range scales {
			arms = append(arms, transcript.Arm{Hint: hint, Budget: scale, World: s.world})
		}
	}
	return arms, nil
}

// loops gives the most replies of a conversation: the number asked for, or the protocol's own, which is 0. Where
// budgets are scaled the budget of turns takes the place of the protocol's own number.
func (s *scaling) loops(asked int) int {
	if asked == 0 && len(s.budgets) > 0 {
		return math.MaxInt32
	}
	return asked
}

// exchange names the exchanges of an episode in a record, so that those of two arms are told apart.
func exchange(in *suite.Instance, protocol string, trial int, arm transcript.Arm) string {
	parts := []string{in.ID, protocol, strconv.Itoa(trial)}
	if text := arm.String(); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// judge gives verdicts as the grader gives them.
func judge(stage *episode.Stage) func(*suite.Instance, *transcript.Transcript) (bool, error) {
	return func(in *suite.Instance, t *transcript.Transcript) (bool, error) {
		g, err := gradeOf(stage, in, t)
		return g.Success, err
	}
}

// gradeOf grades an episode of an instance.
func gradeOf(stage *episode.Stage, in *suite.Instance, t *transcript.Transcript) (grade.Grade, error) {
	var g grade.Grade
	task, err := stage.Shown(in)
	if err == nil {
		g, err = grade.Of(task, t)
	}
	if err != nil {
		return g, fmt.Errorf("episode %s: %w", t.Header.ID, err)
	}
	return g, nil
}
