package instances

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"golang.org/x/sync/errgroup"
)

// FaultOptions say how tasks are put under faults.
type FaultOptions struct {
	// Within are combinations of conditions, of which those that take faults have tasks under faults, too: see
	// [condition.TakesFaults]. Requests are worded as [Instances] words them. Combinations that nothing survives stand
	// under no other condition.
	Within [][]condition.Condition
	// Limit bounds the tasks that are put under one combination: as many as it can be placed on, drawn by the seed of
	// their clean instances. 0 is no limit.
	Limit   int
	Workers int // it changes nothing of what is derived
}

// variantNames gives what stands before the combination in the id of an instance.
var variantNames = map[string]string{
	fault.VariantFault:     "fault",
	fault.VariantLookalike: "lookalike",
	fault.VariantMirror:    "mirror",
	fault.VariantControl:   "control",
}

// FaultSpecification names a combination of faults in one variant, within conditions of request and toolkit:
// lookalike:exec.timeout, fault:open-world+exec.timeout, fault:disambiguate+open-world+exec.timeout.
func FaultSpecification(faults []condition.Fault, within []condition.Condition, variant string) string {
	name := condition.FaultSpecification(faults)
	if len(within) > 0 {
		name = condition.Specification(within) + "+" + name
	}
	return variantNames[variant] + ":" + name
}

// Base gives the id of the instance that one under faults is compared with: that of the task under its other
// conditions.
func Base(in *suite.Instance) string {
	var within []condition.Condition
	for _, c := range in.Conditions {
		if !c.OfEnvironment() {
			within = append(within, c)
		}
	}
	if within == nil {
		return in.Task + "/" + condition.RoleClean
	}
	return in.Task + "/" + condition.Specification(within)
}

// FaultOf gives the id of the instance under the fault itself, beside which a variant of it stands.
func FaultOf(in *suite.Instance) string {
	_, combination, _ := strings.Cut(strings.TrimPrefix(in.ID, in.Task+"/"), ":")
	return in.Task + "/" + variantNames[fault.VariantFault] + ":" + combination
}

// Faulted puts every task of a suite under each combination of faults, and beside each fault its harmless variants: the
// look-alike, of a conflict the mirror, of faults that add tools the control. The variants of a fault stand on the
// tasks where the fault itself can be placed; where it cannot, the one refusal stands for all of them. Combinations
// that nothing survives are passed over: their toolkits are chosen with an eye on the database.
//
// It reads the suite's tasks, tools, clean instances and those under a condition of the request alone, and nothing
// else. The order is that of the tasks, within a task that of the conditions that faults stand within, within one that
// of the combinations, and within one that of [condition.Variants]. Counts are by [FaultSpecification]; what Limit
// leaves out is counted as NotDrawn. The error is Seatrial's own failure.
func Faulted(s *suite.Suite, combinations [][]condition.Fault, o FaultOptions) (*Derived, error) {
	clean := make(map[string]*suite.Instance, len(s.Tasks))
	for _, in := range s.Instances {
		if in.Role == condition.RoleClean && len(in.Conditions) == 0 {
			clean[in.Task] = in
		}
	}
	struck := faultsWithin(slices.DeleteFunc(slices.Clone(combinations), Hopeless), o.Within)
	worded := wordings(s)
	placed := make([][]placedFault, len(s.Tasks)) // by task and combination
	group, _ := errgroup.WithContext(context.Background())
	group.SetLimit(max(o.Workers, 1))
	for i, task := range s.Tasks {
		if clean[task.ID] == nil {
			return nil, fmt.Errorf("derive: task %s has no clean instance", task.ID)
		}
		group.Go(func() error {
			known := knownTo(s, task, o.Within, worded)
			placed[i] = make([]placedFault, len(struck))
			for j, combination := range struck {
				var err error
				if placed[i][j], err = placeFault(clean[task.ID], task, known, combination); err != nil {
					return fmt.Errorf("derive: %w", err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	derived := &Derived{Counts: map[string]suite.InstanceCounts{}}
	drawn := drawFaults(s, clean, struck, placed, o.Limit)
	for i := range s.Tasks {
		for j := range struck {
			derived.take(&placed[i][j], drawn[i][j])
		}
	}
	return derived, nil
}

// struckWithin is a combination of faults within conditions of request and toolkit.
type struckWithin struct {
	faults []condition.Fault
	within []condition.Condition // nil for the task's own toolkit
}

// faultsWithin lists what tasks are put under: each combination by itself, and then within each of the conditions.
func faultsWithin(combinations [][]condition.Fault, within [][]condition.Condition) []struckWithin {
	var list []struckWithin
	for _, faults := range combinations {
		list = append(list, struckWithin{faults: faults})
	}
	for _, conditions := range within {
		if !condition.TakesFaults(conditions) {
			continue
		}
		for _, faults := range combinations {
			list = append(list, struckWithin{faults, conditions})
		}
	}
	return list
}

// HopelessKinds lists the kinds among combinations that nothing survives, in their order.
func HopelessKinds(combinations [][]condition.Fault) []string {
	var kinds []string
	for _, combination := range combinations {
		if Hopeless(combination) {
			kinds = append(kinds, combination[0].Kind)
		}
	}
	return kinds
}

// Hopeless says whether nothing survives a combination.
func Hopeless(combination []condition.Fault) bool {
	return slices.Contains(hopelessKinds, combination[0].Kind)
}

// hopelessKinds are the kinds that nothing survives. None of them is combined with another.
var hopelessKinds = func() []string {
	var kinds []string
	for _, info := range condition.Catalogue() {
		if info.Survival != nil && info.Survival.Hopeless {
			kinds = append(kinds, info.Name)
		}
	}
	return kinds
}()

// OfHopeless says whether an instance is one that nothing survives, or the clean or harmless one beside it.
func OfHopeless(in *suite.Instance) bool {
	return len(in.Conditions) > 0 && slices.Contains(hopelessKinds, in.Conditions[0].Name)
}

// ofHopeless says the same of the id of an instance that was refused.
func ofHopeless(id string) bool {
	return slices.ContainsFunc(hopelessKinds, func(kind string) bool { return strings.HasSuffix(id, ":"+kind) })
}

// placedFault is a task under one combination.
type placedFault struct {
	instances []*suite.Instance
	names     []string // the specification of each
	refused   []*suite.Rejection
	refusedAs []string // the specification of each
	first     bool     // the variant that the combination is for could be placed
}

// placeFault puts one task under a combination in all its variants.
func placeFault(
	base *suite.Instance, tk *task.Task, known known, combination struckWithin,
) (placedFault, error) {
	var placed placedFault
	tools, within := known.tools, combination.within
	variants := variantsOf(combination.faults)
	if combination.within != nil {
		shown, refusal, err := instance(base, tk, known, combination.within)
		if err != nil {
			return placed, err
		}
		if refusal != nil { // whatever the variant: one refusal stands for all of them
			name := FaultSpecification(combination.faults, combination.within, variants[0])
			refusal.ID = tk.ID + "/" + name
			placed.refused, placed.refusedAs = append(placed.refused, refusal), append(placed.refusedAs, name)
			return placed, nil
		}
		base, within = shown, shown.Conditions
		if shown.Toolkit != nil {
			tools = slices.DeleteFunc(slices.Clone(tools), func(t *task.Tool) bool {
				return !slices.Contains(shown.Toolkit,
					t.Name)
			})
		}
	}
	for n, variant := range variants {
		name := FaultSpecification(combination.faults, combination.within, variant)
		in := *base
		in.ID, in.Conditions = tk.ID+"/"+name, slices.Clone(within)
		var refusal *condition.Refusal
		for _, f := range combination.faults {
			own, plays := variantFor(f.Kind, variant)
			if !plays {
				continue
			}
			conditions, refused, err := condition.Place(f, own, fault.PlaceInput{
				Task: tk, Plan: tk.Plan(base.Primary), Tools: tools, Seed: base.Seed,
			})
			if err != nil {
				return placed, err
			}
			if refused != nil {
				refusal = refused
				break
			}
			in.Conditions = append(in.Conditions, conditions...)
		}
		if refusal != nil {
			placed.refused = append(placed.refused, &suite.Rejection{
				What: whatInstance, ID: in.ID, Corpus: tk.Corpus, Database: tk.Database, Style: tk.Style,
				Reason: refusal.Reason, Message: refusal.Message,
			})
			placed.refusedAs = append(placed.refusedAs, name)
			if n == 0 {
				break
			}
			continue
		}
		in.Role = roleOf(variant)
		placed.instances, placed.names = append(placed.instances, &in), append(placed.names, name)
		placed.first = placed.first || n == 0
	}
	return placed, nil
}

// variantsOf lists the variants of a combination, what it is for first. Several faults have no mirror together: which
// of them to mirror would be another question.
func variantsOf(combination []condition.Fault) []string {
	if len(combination) == 1 {
		return condition.Variants(combination[0].Kind)
	}
	variants := []string{fault.VariantFault}
	lookalike, control := true, false
	for _, f := range combination {
		known := condition.Variants(f.Kind)
		lookalike = lookalike && slices.Contains(known, fault.VariantLookalike)
		control = control || slices.Contains(known, fault.VariantControl)
	}
	if lookalike {
		variants = append(variants, fault.VariantLookalike)
	}
	if control {
		variants = append(variants, fault.VariantControl)
	}
	return variants
}

func roleOf(variant string) string {
	switch variant {
	case fault.VariantLookalike:
		return condition.RoleLookalike
	case fault.VariantControl:
		return condition.RoleClean
	default:
		return condition.RoleFault
	}
}

// variantFor gives the variant of one fault within a combination: one that has no fault of its own takes part as it is,
// and one that adds no tools takes no part in a control.
func variantFor(kind, variant string) (own string, plays bool) {
	known := condition.Variants(kind)
	switch {
	case slices.Contains(known, variant):
		return variant, true
	case variant == fault.VariantControl:
		return "", false
	default:
		return known[0], true
	}
}

// drawFaults says which tasks stand under which combination: all on which it can be placed, or as many as the limit
// allows, in the order of a hash of the task.
func drawFaults(
	s *suite.Suite, clean map[string]*suite.Instance, combinations []struckWithin, placed [][]placedFault, limit int,
) [][]bool {
	drawn := make([][]bool, len(s.Tasks))
	for i := range drawn {
		drawn[i] = make([]bool, len(combinations))
	}
	for j, combination := range combinations {
		var able []*suite.Instance
		for i, task := range s.Tasks {
			if placed[i][j].first {
				able = append(able, clean[task.ID])
			}
		}
		chosen := Draw(able, condition.FaultSpecification(combination.faults), limit)
		for i, task := range s.Tasks {
			drawn[i][j] = chosen[task.ID]
		}
	}
	return drawn
}

// Draw chooses which tasks stand under a combination of faults, of those on which it can be placed, each given by its
// clean instance: all, or as many as the limit allows, in the order of a hash. 0 is no limit.
func Draw(able []*suite.Instance, combination string, limit int) map[string]bool {
	if limit > 0 && len(able) > limit {
		key := func(in *suite.Instance) string { return task.Hash(in.Seed, "fault-limit", combination, in.Task) }
		able = slices.Clone(able)
		slices.SortFunc(able, func(x, y *suite.Instance) int {
			return cmp.Or(strings.Compare(key(x), key(y)), strings.Compare(x.Task, y.Task))
		})
		able = able[:limit]
	}
	chosen := make(map[string]bool, len(able))
	for _, in := range able {
		chosen[in.Task] = true
	}
	return chosen
}

// take adds a task under a combination to what is derived.
func (d *Derived) take(p *placedFault, drawn bool) {
	if p.first && !drawn {
		for _, name := range p.names {
			count := d.Counts[name]
			count.NotDrawn++
			d.Counts[name] = count
		}
		return
	}
	for i, in := range p.instances {
		count := d.Counts[p.names[i]]
		count.Made++
		d.Counts[p.names[i]] = count
		d.Instances = append(d.Instances, in)
	}
	for i, r := range p.refused {
		count := d.Counts[p.refusedAs[i]]
		count.Refuse(r.Reason)
		d.Counts[p.refusedAs[i]] = count
		d.Rejected = append(d.Rejected, r)
	}
}
