package instances

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// Difference is an instance, or the refusal of one, that does not stand in a suite as it is derived.
type Difference struct {
	ID      string
	Message string
}

// Compare derives the instances of a suite under the conditions and the faults that it was built with again, and lists
// how those that stand in it differ: first what is derived, in that order, then what the suite has beside it. An
// instance that the suite refuses for a reason that is none of [condition.Refusals] was refused after it was derived:
// whether rightly is for whoever refused it to say, and these are given beside the differences. Instances that nothing
// survives, those under conditions of the request alone and those whose toolkits are chosen are passed over: nothing
// here derives them. Errors are those of [Instances] and [Faulted].
func Compare(
	s *suite.Suite, combinations [][]condition.Condition, faults [][]condition.Fault, o FaultOptions,
) (differences []Difference, dropped []*suite.Instance, err error) {
	derived, err := Instances(s, combinations)
	if err != nil {
		return nil, nil, err
	}
	o.Within = combinations
	faulted, err := Faulted(s, faults, o)
	if err != nil {
		return nil, nil, err
	}
	derived.Instances = append(derived.Instances, faulted.Instances...)
	derived.Rejected = append(derived.Rejected, faulted.Rejected...)
	differ := func(id, format string, args ...any) {
		differences = append(differences, Difference{ID: id, Message: fmt.Sprintf(format, args...)})
	}
	instances, refusals, out := map[string]*suite.Instance{}, map[string]*suite.Rejection{}, map[string]bool{}
	for _, in := range s.Instances {
		if len(in.Conditions) > 0 && !OfHopeless(in) && !OfRequest.Holds(in) && !OfChoice.Holds(in) {
			if instances[in.ID] != nil {
				differ(in.ID, "the instance stands in the suite twice")
			}
			instances[in.ID] = in
		}
	}
	reasons := condition.Refusals()
	for _, r := range s.Rejected {
		switch {
		case r.What != whatInstance || ofHopeless(r.ID) || OfRequest.HoldsID(r.ID) || OfChoice.HoldsID(r.ID):
		case reasons[r.Reason] != "":
			refusals[r.ID] = r
		default:
			out[r.ID] = true
		}
	}
	for _, in := range derived.Instances {
		switch same, err := equal(in, instances[in.ID]); {
		case err != nil:
			return nil, nil, fmt.Errorf("derive: instance %s: %w", in.ID, err)
		case instances[in.ID] == nil && out[in.ID]:
			dropped = append(dropped, in)
		case instances[in.ID] == nil:
			differ(in.ID, "the instance is not in the suite")
		case out[in.ID]:
			differ(in.ID, "the instance stands in the suite and is refused")
		case !same:
			differ(in.ID, "the instance is another one when it is derived again")
		}
		delete(instances, in.ID)
		delete(out, in.ID)
	}
	for _, r := range derived.Rejected {
		switch found := refusals[r.ID]; {
		case found == nil:
			differ(r.ID, "the instance is refused, and the suite does not say so: %s", r.Message)
		case *found != *r:
			differ(r.ID, "the instance is refused for another reason: %s", r.Message)
		}
		delete(refusals, r.ID)
	}
	for _, r := range s.Rejected { // what was refused after it was derived, and is not derived
		if _, known := faulted.Counts[specificationOf(r.ID)]; known && out[r.ID] {
			differ(r.ID, "nothing that the suite was built with gives the instance that is refused")
			delete(out, r.ID)
		}
	}
	for _, in := range s.Instances {
		if instances[in.ID] != nil {
			differ(in.ID, "nothing that the suite was built with gives the instance")
			delete(instances, in.ID)
		}
	}
	for _, r := range s.Rejected {
		if refusals[r.ID] != nil {
			differ(r.ID, "nothing that the suite was built with refuses the instance")
			delete(refusals, r.ID)
		}
	}
	return differences, dropped, nil
}

// equal says whether two instances are written alike.
func equal(a, b *suite.Instance) (bool, error) {
	x, err := task.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := task.Marshal(b)
	return bytes.Equal(x, y), err
}

// specificationOf gives what stands behind the task in the id of an instance.
func specificationOf(id string) string { return id[strings.LastIndexByte(id, '/')+1:] }
