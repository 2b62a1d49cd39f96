package selftest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/mention"
	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

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

// copied is an instance that shows replicas.
type copied struct {
	*suite.Instance
	view  *task.View
	shown *task.Task
	bases map[string]string // see [replicas]
}

// copies lists the instances under a condition of the environment that show replicas. It looks once.
func (t *Trial) copies(ctx context.Context) ([]copied, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.copied != nil {
		return t.copied, nil
	}
	instances := t.Instances(func(in *suite.Instance, _ *task.Task) bool { return ofEnvironment(in) })
	all := make([]copied, len(instances))
	err := t.parallel(ctx, len(instances), func(ctx context.Context, i int) (err error) {
		c := copied{Instance: instances[i]}
		if c.view, err = t.view(ctx, c.Instance, episode.HintNone); err != nil {
			return err
		}
		c.shown, err = t.Stage.Shown(c.Instance)
		c.bases = replicas(c.view)
		all[i] = c
		return err
	})
	t.copied = slices.DeleteFunc(all, func(c copied) bool { return len(c.bases) == 0 })
	return t.copied, err
}

// replicaShares returns the mean share of replicas that resemble a tool of the primary plan, the share by chance (of
// all tools that are no replicas), and the number of instances with replicas.
func (t *Trial) replicaShares(ctx context.Context) (found, chance float64, of int, err error) {
	list, err := t.copies(ctx)
	for _, c := range list {
		gold := map[string]bool{}
		for _, call := range c.shown.Plan(c.Primary).Calls {
			gold[call.Tool] = true
		}
		n := 0
		for _, base := range c.bases {
			if gold[base] {
				n++
			}
		}
		found += float64(n) / float64(len(c.bases)) / float64(len(list))
		chance += float64(len(gold)) / float64(len(c.view.Tools)-len(c.bases)) / float64(len(list))
	}
	return found, chance, len(list), err
}

// oneCall plays a policy that calls one tool and answers its result, on every fault that shows replicas. It fills in
// the values of the request by their form, and reads neither the request's words nor what tools do. It draws among the
// replicas, or, for what it solves by chance, among the other tools. With fitting set, it draws only among the tools
// whose arguments the values fill.
func (t *Trial) oneCall(ctx context.Context, fitting, chance bool) (Figure, error) {
	name := "one call"
	if fitting {
		name += ", fitting"
	}
	if chance {
		name += ", by chance"
	}
	return t.trick(ctx, name, []string{suite.UnderFault}, func(c *copied) (episode.Agent, error) {
		asked := mention.Of(c.view)
		candidates := slices.DeleteFunc(slices.Clone(c.view.Tools), func(tool *task.Tool) bool {
			_, missing := asked.Fill(tool, c.view.Starts)
			return (c.bases[tool.Name] == "") != chance || fitting && len(missing) > 0
		})
		if len(candidates) == 0 {
			return oneCall{}, nil
		}
		tool := candidates[task.Draw(c.Seed, "one-call", c.ID).IntN(len(candidates))]
		filled, _ := asked.Fill(tool, c.view.Starts)
		if len(filled) == 0 {
			return oneCall{tool: tool.Name, arguments: []byte(`{}`)}, nil
		}
		text, err := literal.Append(nil, filled)
		return oneCall{tool: tool.Name, arguments: text}, err
	})
}

// otherForms end the names of added tools that faults present as another form of a tool.
var otherForms = []string{"_strict", "_standby"}

// alwaysOther plays the primary plan with the other form of every tool that has one, on faults and their mirrors.
// Faults without a mirror are left out.
func (t *Trial) alwaysOther(ctx context.Context) (Figure, error) {
	known := map[string]bool{}
	for _, in := range t.Suite.Instances {
		known[in.ID] = true
	}
	variants := []string{suite.UnderFault, suite.UnderMirror}
	return t.trick(ctx, "always other", variants, func(c *copied) (episode.Agent, error) {
		other := map[string]string{}
		for name, base := range c.bases {
			if slices.ContainsFunc(otherForms, func(form string) bool { return name == base+form }) {
				other[base] = name
			}
		}
		mirror := suite.InstanceID{Task: c.Task, Specification: c.Specification().As(suite.UnderMirror)}
		if len(other) == 0 || !known[mirror.String()] {
			return nil, nil
		}
		plan := *c.shown.Plan(c.Primary)
		plan.Calls = slices.Clone(plan.Calls)
		for i := range plan.Calls {
			plan.Calls[i].Tool = cmp.Or(other[plan.Calls[i].Tool], plan.Calls[i].Tool)
		}
		changed := *c.shown
		changed.Plans = []task.Plan{plan}
		return policy.New("blind", policy.Input{Task: &changed, Primary: c.Primary, Seed: c.Seed})
	})
}

// trick plays an agent on the instances of some variants that show replicas, and returns the share of right episodes.
// An agent that is nil leaves its instance out.
func (t *Trial) trick(ctx context.Context, name string, variants []string, agent func(*copied) (episode.Agent, error)) (
	Figure, error,
) {
	list, err := t.copies(ctx)
	if err != nil {
		return Figure{}, err
	}
	agents, instances := map[string]episode.Agent{}, []*suite.Instance{}
	for i := range list {
		c := &list[i]
		if !slices.Contains(variants, c.Specification().Variant) {
			continue
		}
		made, err := agent(c)
		if err != nil {
			return Figure{}, err
		}
		if made != nil {
			agents[c.ID], instances = made, append(instances, c.Instance)
		}
	}
	rows, err := t.Play(ctx, name, instances, func(in *suite.Instance, _ *task.Task) (episode.Agent, error) {
		return agents[in.ID], nil
	})
	return ShareOf(count(rows, succeeded), len(rows)), err
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

// text joins all that a request says.
func text(messages []task.Message, evidence string) string {
	var b strings.Builder
	for _, m := range messages {
		b.WriteString(m.Content + "\n")
	}
	return b.String() + evidence
}
