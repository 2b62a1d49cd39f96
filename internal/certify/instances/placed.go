package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/toolkit"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/embedding"
	"github.com/seatrial/seatrial/internal/tools/search"
)

// placed makes the family of conditions that follow from the plans: it derives the instances and plays the plan of
// each with what the instance shows.
func (m *maker) placed(combinations [][]condition.Condition) func(context.Context) (*Yield, error) {
	return func(ctx context.Context) (*Yield, error) {
		if err := m.embed(ctx, combinations); err != nil {
			return nil, err
		}
		derived, err := Instances(m.Suite, combinations)
		if err != nil {
			return nil, err
		}
		stage := m.stage()
		return m.prove(ctx, derived, false,
			func(ctx context.Context, in *suite.Instance, _ map[string]bool) (*Certified, error) {
				return Certify(ctx, stage, in)
			})
	}
}

// embed computes the vectors of what combinations find by meaning: all searchable tools and requests and, if requests
// are reworded, the rewordings.
func (m *maker) embed(ctx context.Context, combinations [][]condition.Condition) error {
	if m.Embed == nil {
		return nil
	}
	var tools bool
	rewordings := map[string]bool{} // conditions as requested
	for _, c := range combinations {
		if search.NeedsVectors(condition.SearchKind(c)) {
			tools = true
			rewordings[c[0].String()] = c[0].OfRequest()
		}
	}
	var texts []string
	searched := func(style string) bool { return style == task.StyleFunc || style == task.StyleRest }
	if tools {
		texts = m.searchTexts(searched)
	}
	stage := m.stage()
	for _, in := range m.Suite.Instances {
		if !ofRequest.holds(in) || !rewordings[in.Conditions[0].String()] {
			continue
		}
		t, err := stage.Shown(in)
		if err != nil {
			return err
		}
		if searched(t.Style) {
			texts = append(texts, t.Question())
		}
	}
	if texts == nil {
		return nil
	}
	return m.Embed(ctx, true, texts...)
}

// searchTexts lists the texts that a search compares: by style the tools and then the requests.
func (m *maker) searchTexts(searched func(style string) bool) []string {
	var styles, texts []string
	for _, t := range m.Tools {
		if searched(t.Style) && !slices.Contains(styles, t.Style) {
			styles = append(styles, t.Style)
		}
	}
	for _, style := range styles {
		for _, t := range m.Tools {
			if t.Style == style {
				texts = append(texts, search.Text(t))
			}
		}
		for _, t := range m.Suite.Tasks {
			if t.Style == style {
				texts = append(texts, t.Question())
			}
		}
	}
	return texts
}

// lacksVector reports whether an error is a vector missing from the suite: nothing that needs it is certified.
func lacksVector(err error) (*Certified, bool) {
	var missing *embedding.MissingError
	if !errors.As(err, &missing) {
		return nil, false
	}
	return &Certified{Reason: ReasonUncertified, Message: missing.Error()}, true
}

// Instances derives the instances of every task under combinations of conditions, except single conditions of the
// request and chosen toolkits. A combination of a condition of the request with others takes its wording from the
// task's instance under that condition alone. It reads the suite's tasks, tools, starting tables, clean instances and
// reworded instances. They follow the order of the tasks and, within a task, of the combinations. The error is a
// [DeriveError].
func Instances(s *suite.Suite, combinations [][]condition.Condition) (*Yield, error) {
	clean := s.Clean()
	derived := &Yield{}
	combinations = ofPlace(combinations)
	worded := wordings(s)
	for _, t := range s.Tasks {
		base := clean[t.ID]
		if base == nil {
			return nil, &DeriveError{fmt.Errorf("task %s has no clean instance", t.ID)}
		}
		known := knownTo(s, t, combinations, worded)
		for _, combination := range combinations {
			in, refusal, err := instance(base, t, known, combination)
			switch {
			case err != nil:
				return nil, &DeriveError{err}
			case refusal != nil:
				derived.Rejected = append(derived.Rejected, refusal)
			default:
				derived.Instances = append(derived.Instances, in)
			}
		}
	}
	return derived, nil
}

// known is the input of a task's instances.
type known struct {
	tools     []*task.Tool                   // shown to the agent without conditions
	elsewhere []string                       // tools of other databases, if some condition may show them
	wordings  map[string]condition.Condition // see [wordings]
}

func knownTo(
	s *suite.Suite, t *task.Task, combinations [][]condition.Condition, worded map[string]condition.Condition,
) known {
	k := known{tools: s.Toolkit(&suite.Instance{}, t), wordings: worded}
	if slices.ContainsFunc(combinations, condition.ReachesElsewhere) {
		k.elsewhere = s.Elsewhere(t)
	}
	return k
}

// instance puts one task under conditions of the toolkit, and possibly of the request. The instance keeps the role of
// the clean one: nothing goes wrong in it.
func instance(
	base *suite.Instance, t *task.Task, known known, combination []condition.Condition,
) (*suite.Instance, *suite.Rejection, error) {
	under := specificationOf("", combination)
	refuse := func(c condition.Condition, reason, message string) (*suite.Instance, *suite.Rejection, error) {
		return nil, suite.RefuseInstance(t, under, reason, c.String()+": "+message), nil
	}
	conditions := slices.Clone(combination)
	for i, c := range conditions {
		if !c.OfRequest() {
			continue
		}
		made, worded := known.wordings[askedID(t, c)]
		if !worded {
			return refuse(c, condition.ReasonNoWording, condition.Refusals()[condition.ReasonNoWording])
		}
		conditions[i] = made
	}
	input := toolkit.Input{Task: t, Universe: known.tools, Seed: base.Seed}
	if condition.ReachesElsewhere(combination) {
		input.Elsewhere = known.elsewhere
	}
	kit, refusal, err := condition.ChangeToolkit(combination, input)
	if err != nil {
		return nil, nil, err
	}
	if refusal != nil {
		return refuse(refusal.Condition, refusal.Reason, refusal.Message)
	}
	in := *base
	in.ID, in.Conditions = suite.InstanceID{Task: t.ID, Specification: under}.String(), conditions
	if len(kit.Names) != len(known.tools) {
		in.Toolkit = kit.Names
	}
	return &in, nil, nil
}

// specificationOf names conditions in a variant.
func specificationOf(variant string, conditions []condition.Condition) suite.Specification {
	names := make([]string, len(conditions))
	for i, c := range conditions {
		names[i] = c.String()
	}
	return suite.Under(variant, names...)
}
