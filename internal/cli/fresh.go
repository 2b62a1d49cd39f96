package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
)

// Settings of a run that tables read.
const (
	settingLabels  = "labels"
	settingLeftOut = "left_out" // on a fresh world: what [proof.WriteLeftOut] writes
)

var labelForm = regexp.MustCompile(`^[a-z][a-z0-9_-]*=[^,\s][^,\n]*$`)

// labelsOf reads labels of the form KEY=VALUE.
func labelsOf(list []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range list {
		if !labelForm.MatchString(text) {
			return nil, diag.Usagef("--label %q is not KEY=VALUE",
				text).WithHint("a key of small letters, and a value without a comma: --label size=7B")
		}
		key, value, _ := strings.Cut(text, "=")
		if _, taken := labels[key]; taken {
			return nil, diag.Usagef("--label: %s is given twice", key)
		}
		labels[key] = value
	}
	return labels, nil
}

// freshRun is a run on fresh worlds; nil is one on the published databases.
type freshRun struct{ *proof.Fresh }

// openFresh takes those of the instances that can be played on the neighbours of that number, in their fresh worlds,
// and says which it leaves out. 0 takes all of them as they are.
func (a *app) openFresh(
	ctx context.Context, s *suite.Suite, world int, instances []*suite.Instance,
) (*freshRun, []*suite.Instance, []proof.LeftOut, error) {
	if world == 0 {
		return nil, instances, nil, nil
	}
	fresh, err := proof.NewFresh(s, world)
	if err != nil {
		return nil, nil, nil, diag.Usagef("--world %d: %v", world,
			err).WithHint("a smaller number, or a suite that is built with more --neighbours")
	}
	tasks := s.Index()
	m := a.meter()
	var fitting []*suite.Instance
	var left []proof.LeftOut
	for i, in := range instances {
		m.show("fresh worlds", i, len(instances), "")
		reason, _, err := fresh.Fits(ctx, in, tasks[in.Task])
		if err == nil {
			err = ctx.Err()
		}
		switch {
		case err != nil:
			m.clear()
			fresh.Close()
			return nil, nil, nil, err
		case reason != "":
			left = append(left, proof.LeftOut{Instance: in.ID, Reason: reason})
		default:
			moved := *in
			moved.World = fmt.Sprintf("neighbour %d", world)
			fitting = append(fitting, &moved)
		}
	}
	m.clear()
	_, _ = fmt.Fprintf(a.Err, "seatrial: world %d: %d of %d instances; left out: %s\n", world, len(fitting),
		len(instances), reasonsOf(left))
	if len(fitting) == 0 {
		fresh.Close()
		return nil, nil, nil, diag.Usagef("no instance can be played on world %d",
			world).WithHint("another --world, or other instances")
	}
	return &freshRun{fresh}, fitting, left, nil
}

// reasonsOf counts reasons, the most frequent first.
func reasonsOf(left []proof.LeftOut) string {
	counts := map[string]int{}
	for _, l := range left {
		counts[l.Reason]++
	}
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	if len(reasons) == 0 {
		return "none"
	}
	for i, r := range reasons {
		reasons[i] = fmt.Sprintf("%s %d", r, counts[r])
	}
	return strings.Join(reasons, ", ")
}

func (f *freshRun) close() {
	if f != nil {
		f.Close()
	}
}

// or gives the fresh worlds, else the published ones.
func (f *freshRun) or(published episode.Worlds) episode.Worlds {
	if f != nil {
		return f.Fresh
	}
	return published
}

// settle gives what is written into the events of finished episodes: the right answer on a fresh world, where calls
// cannot be held against what plans gave elsewhere; else what holds calls apart.
func (f *freshRun) settle(s *proof.Separator) func(context.Context, *suite.Instance, *transcript.Transcript) error {
	if f != nil {
		return f.Settle
	}
	return s.Separate
}
