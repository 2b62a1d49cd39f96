package shortcut

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
)

// Listing is how the tools of an instance look before the first call.
type Listing struct {
	Database string
	Hopeless bool
	Tools    int      // number of tools
	Length   int      // bytes of names and descriptions
	Words    []string // of the tools' names and descriptions
}

// Listings describes the listings of hopeless instances whose condition takes tools away, and of their variants, in
// which the answer can be found. The number of both is the same for each kind and task.
func (m *Meter) Listings(ctx context.Context) ([]Listing, error) {
	var list []Listing
	for _, family := range Families(m.Suite) {
		if SameTools(family) {
			continue
		}
		for _, in := range []*suite.Instance{variant(family, true), variant(family, false)} {
			if in == nil {
				continue
			}
			view, err := m.view(ctx, in, episode.HintNone)
			if err != nil {
				return nil, err
			}
			list = append(list, listing(m.Suite.Index()[in.Task], view, in.Role == condition.RoleHopeless))
		}
	}
	return list, nil
}

// variant returns the first hopeless instance of a family, or the first other one.
func variant(family []*suite.Instance, hopeless bool) *suite.Instance {
	at := slices.IndexFunc(family, func(in *suite.Instance) bool {
		return (in.Role == condition.RoleHopeless) == hopeless
	})
	if at < 0 {
		return nil
	}
	return family[at]
}

func listing(t *task.Task, view *task.View, hopeless bool) Listing {
	l := Listing{Database: t.Database, Hopeless: hopeless, Tools: len(view.Tools)}
	for _, tool := range view.Tools {
		l.Length += len(tool.Name) + len(tool.Description)
		l.Words = append(l.Words, english.NameWords(tool.Name)...)
		l.Words = append(l.Words, english.NameWords(tool.Description)...)
	}
	return l
}

// Threshold returns the balanced accuracy of the best threshold on a number for telling hopeless listings from others.
// It is chosen on the same listings, so it bounds what any threshold can do.
func Threshold(list []Listing, number func(l *Listing) int) float64 {
	best := 0.5
	for i := range list {
		var hopeless, other Share
		for j := range list {
			below := number(&list[j]) <= number(&list[i])
			if list[j].Hopeless {
				hopeless.count(below)
			} else {
				other.count(!below)
			}
		}
		accuracy := (hopeless.Rate() + other.Rate()) / 2
		best = max(best, accuracy, 1-accuracy)
	}
	return best
}

// Words returns the balanced accuracy of a classifier that reads the words of names and descriptions: naive Bayes,
// trained on every second database and tried on the others, and the other way round.
func Words(list []Listing) float64 {
	var databases []string
	for i := range list {
		databases = append(databases, list[i].Database)
	}
	slices.Sort(databases)
	databases = slices.Compact(databases)
	var hopeless, other Share
	for half := range 2 {
		counts := [2]map[string]float64{{}, {}}
		totals := [2]float64{}
		class := func(l *Listing) int {
			if l.Hopeless {
				return 1
			}
			return 0
		}
		tried := func(l *Listing) bool { return slices.Index(databases, l.Database)%2 == half }
		for i := range list {
			if l := &list[i]; !tried(l) {
				for _, w := range l.Words {
					counts[class(l)][strings.ToLower(w)]++
					totals[class(l)]++
				}
			}
		}
		for i := range list {
			l := &list[i]
			if !tried(l) {
				continue
			}
			odds := 0.0
			for _, w := range l.Words {
				w = strings.ToLower(w)
				odds += math.Log((counts[1][w]+1)/(totals[1]+1)) - math.Log((counts[0][w]+1)/(totals[0]+1))
			}
			if l.Hopeless {
				hopeless.count(odds > 0)
			} else {
				other.count(odds <= 0)
			}
		}
	}
	return (hopeless.Rate() + other.Rate()) / 2
}
