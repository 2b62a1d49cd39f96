// Package shortcut measures what the instances of a suite reveal without being solved. It compares what agents see
// before the first call, and plays policies that use the shape of a toolkit in place of its meaning. It must never
// change a suite, nor decide what is published.
package shortcut

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/mention"
	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// Meter measures the instances of one suite.
type Meter struct {
	Suite *suite.Suite
	Stage *episode.Stage
}

// Families lists the variants of each fault on each task, in the suite's order. Variants of one family have the same
// task, the same other conditions and the same faults.
func Families(s *suite.Suite) [][]*suite.Instance {
	var all [][]*suite.Instance
	at := map[string]int{}
	for _, in := range s.Instances {
		if !slices.ContainsFunc(in.Conditions, condition.Condition.OfEnvironment) {
			continue
		}
		id := suite.InstanceID{Task: in.Task, Specification: in.Specification().As("")}.String()
		i, known := at[id]
		if !known {
			i = len(all)
			at[id], all = i, append(all, nil)
		}
		all[i] = append(all[i], in)
	}
	return all
}

// SameTools reports whether all variants of a family show the same choice of tools. If not, the condition takes tools
// away: see [Meter.Listings].
func SameTools(family []*suite.Instance) bool {
	return !slices.ContainsFunc(family, func(in *suite.Instance) bool {
		return !slices.Equal(in.Toolkit, family[0].Toolkit)
	})
}

// view returns what an agent sees of an instance before its first call, in an arm of hints.
func (m *Meter) view(ctx context.Context, in *suite.Instance, hint string) (*task.View, error) {
	t, err := m.Stage.Shown(in)
	if err != nil {
		return nil, err
	}
	arm := transcript.Arm{}
	if hint != episode.HintNone {
		arm.Hint = hint
	}
	env, err := m.Stage.Environment(ctx, in, episode.Seat{
		Header: transcript.Header{Instance: in.ID, Task: in.Task, Arm: arm.String()}, Budget: episode.BudgetOf(in, t),
	})
	if err != nil {
		return nil, err
	}
	return env.View(), nil
}

// Views compares the first views of the variants of each fault, in every arm of hints. It returns the number of
// compared instances and those whose view differs from that of the first variant, with what differs first.
func (m *Meter) Views(ctx context.Context) (compared int, differing []string, err error) {
	for _, family := range Families(m.Suite) {
		if !SameTools(family) {
			continue
		}
		for _, hint := range episode.Hints() {
			var first []byte
			for i, in := range family {
				view, err := m.view(ctx, in, hint)
				if err != nil {
					return 0, nil, err
				}
				text, err := json.Marshal(view)
				if err != nil {
					return 0, nil, fmt.Errorf("instance %s: %w", in.ID, err)
				}
				if compared++; i == 0 {
					first = text
				} else if !bytes.Equal(first, text) {
					differing = append(differing, fmt.Sprintf("%s, hint %s: %s", in.ID, hint, difference(first, text)))
				}
			}
		}
	}
	return compared, differing, nil
}

// difference shows where two texts begin to differ.
func difference(x, y []byte) string {
	at := 0
	for at < min(len(x), len(y)) && x[at] == y[at] {
		at++
	}
	from := max(0, at-20)
	return fmt.Sprintf("%q and %q", x[from:min(len(x), at+40)], y[from:min(len(y), at+40)])
}

// Share is a number of cases among others.
type Share struct{ N, Of float64 }

// Rate returns the share; 0 without cases.
func (s Share) Rate() float64 {
	if s.Of == 0 {
		return 0
	}
	return s.N / s.Of
}

func (s *Share) count(hit bool) {
	if s.Of++; hit {
		s.N++
	}
}

// replicas lists the shown tools that resemble another shown tool, with that tool: their names begin with its name, and
// their descriptions name it.
func replicas(view *task.View) map[string]string {
	bases := map[string]string{}
	for _, t := range view.Tools {
		for _, base := range view.Tools {
			if strings.HasPrefix(t.Name, base.Name+"_") && strings.Contains(t.Description, "`"+base.Name+"`") {
				bases[t.Name] = base.Name
			}
		}
	}
	return bases
}

// Replicas returns the share of replicas that resemble a tool of the primary plan, and the share by chance: of all
// tools that are no replicas. Both are means over the instances that show replicas.
func (m *Meter) Replicas(ctx context.Context) (found, chance Share, err error) {
	for _, in := range m.Suite.Instances {
		if !slices.ContainsFunc(in.Conditions, condition.Condition.OfEnvironment) {
			continue
		}
		view, err := m.view(ctx, in, episode.HintNone)
		if err != nil {
			return found, chance, err
		}
		bases := replicas(view)
		if len(bases) == 0 {
			continue
		}
		t, err := m.Stage.Shown(in)
		if err != nil {
			return found, chance, err
		}
		gold := map[string]bool{}
		for _, c := range t.Plan(in.Primary).Calls {
			gold[c.Tool] = true
		}
		n := 0
		for _, base := range bases {
			if gold[base] {
				n++
			}
		}
		found = Share{found.N + float64(n)/float64(len(bases)), found.Of + 1}
		chance = Share{chance.N + float64(len(gold))/float64(len(view.Tools)-len(bases)), chance.Of + 1}
	}
	return found, chance, nil
}

// OneCall plays a policy that calls one replica and answers its result, on every fault that shows replicas. It fills in
// the values of the request by their form, and reads neither the request's words nor what tools do. With fitting set,
// it draws only among the replicas whose arguments the values fill. The second share is that of the same policy on the
// tools that are no replicas: what it solves by chance.
func (m *Meter) OneCall(ctx context.Context, fitting bool) (found, chance Share, err error) {
	for i, s := range []*Share{&found, &chance} {
		*s, err = m.played(ctx, []string{suite.UnderFault}, func(in *suite.Instance, _ *task.Task, view *task.View) (
			episode.Agent, error,
		) {
			bases, asked := replicas(view), mention.Of(view)
			candidates := slices.DeleteFunc(slices.Clone(view.Tools), func(t *task.Tool) bool {
				_, missing := asked.Fill(t, view.Starts)
				return (bases[t.Name] != "") != (i == 0) || fitting && len(missing) > 0
			})
			if len(candidates) == 0 {
				return oneCall{}, nil
			}
			t := candidates[task.Draw(in.Seed, "one-call", in.ID).IntN(len(candidates))]
			filled, _ := asked.Fill(t, view.Starts)
			if len(filled) == 0 {
				return oneCall{tool: t.Name, arguments: []byte(`{}`)}, nil
			}
			text, err := literal.Append(nil, filled)
			return oneCall{tool: t.Name, arguments: text}, err
		})
		if err != nil {
			return found, chance, err
		}
	}
	return found, chance, nil
}

// AlwaysStrict plays the primary plan with the strict form of every tool that has one, on faults and their mirrors.
// Faults without a mirror are left out.
func (m *Meter) AlwaysStrict(ctx context.Context) (Share, error) {
	known := map[string]bool{}
	for _, in := range m.Suite.Instances {
		known[in.ID] = true
	}
	variants := []string{suite.UnderFault, suite.UnderMirror}
	return m.played(ctx, variants, func(in *suite.Instance, t *task.Task, view *task.View) (episode.Agent, error) {
		strict := map[string]string{}
		for name, base := range replicas(view) {
			if strings.HasSuffix(name, "_strict") {
				strict[base] = name
			}
		}
		mirror := suite.InstanceID{Task: in.Task, Specification: in.Specification().As(suite.UnderMirror)}
		if len(strict) == 0 || !known[mirror.String()] {
			return nil, nil
		}
		plan := *t.Plan(in.Primary)
		plan.Calls = slices.Clone(plan.Calls)
		for i := range plan.Calls {
			plan.Calls[i].Tool = cmp.Or(strict[plan.Calls[i].Tool], plan.Calls[i].Tool)
		}
		changed := *t
		changed.Plans = []task.Plan{plan}
		return policy.New("blind", policy.Input{Task: &changed, Primary: in.Primary, Seed: in.Seed})
	})
}

// played counts the right episodes of an agent on instances in some variants that show replicas. An agent that is nil
// leaves its instance out.
func (m *Meter) played(
	ctx context.Context, variants []string,
	choose func(in *suite.Instance, t *task.Task, view *task.View) (episode.Agent, error),
) (Share, error) {
	var right Share
	for _, in := range m.Suite.Instances {
		if !slices.ContainsFunc(in.Conditions, condition.Condition.OfEnvironment) ||
			!slices.Contains(variants, in.Specification().Variant) {
			continue
		}
		t, err := m.Stage.Shown(in)
		if err != nil {
			return right, err
		}
		env, err := m.Stage.Environment(ctx, in, episode.Seat{
			Header: transcript.Header{ID: "shortcut", Instance: in.ID, Task: in.Task}, Budget: episode.BudgetOf(in, t),
		})
		if err != nil {
			return right, err
		}
		view := env.View()
		if len(replicas(view)) == 0 {
			continue
		}
		agent, err := choose(in, t, view)
		if err != nil {
			return right, fmt.Errorf("instance %s: %w", in.ID, err)
		}
		if agent == nil {
			continue
		}
		record, err := episode.Play(ctx, env, agent)
		if err != nil {
			return right, fmt.Errorf("instance %s: %w", in.ID, err)
		}
		g, err := grade.Of(t, record)
		if err != nil {
			return right, fmt.Errorf("instance %s: %w", in.ID, err)
		}
		right.count(g.Success)
	}
	return right, nil
}

// oneCall makes one call and answers its result.
type oneCall struct {
	tool      string
	arguments json.RawMessage
}

// Next implements [episode.Agent].
func (o oneCall) Next(_ context.Context, _ *task.View, seen []task.Observation) (task.Turn, error) {
	switch {
	case o.tool == "", len(seen) > 0 && seen[0].Error != nil:
		return task.Turn{Stop: true}, nil
	case len(seen) > 0:
		answer, err := task.Marshal(task.Reference{Label: seen[0].Label}.String())
		return task.Turn{Actions: []task.Action{{Kind: task.ActionAnswer, Answer: answer}}}, err
	default:
		return task.Turn{Actions: []task.Action{{Kind: task.ActionCall, Tool: o.tool, Arguments: o.arguments}}}, nil
	}
}
