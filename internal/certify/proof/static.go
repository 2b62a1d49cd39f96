package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/judge/callcheck"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// CheckStatic says of a task whose tools cannot be run what can be said of it: the schemas of its tools are valid, no
// default value is shown, the calls of its plan are calls of shown tools, and making them is right by the task's own
// possible answers, strictly, or leniently where the task is flagged [task.FlagRefused]. It proves nothing.
const CheckStatic = "static"

// certifyStatic checks an instance of a task whose tools cannot be run.
func certifyStatic(
	ctx context.Context, stage *episode.Stage, in *suite.Instance, tk *task.Task,
) (cert *suite.Certificate, reason string, err error) {
	const name = "gold"
	header := transcript.Header{ID: task.Hash(in.Seed, "certificate", in.ID), Instance: in.ID, Task: in.Task,
		Agent: name}
	env, err := stage.Environment(ctx, in, episode.Seat{Header: header})
	if err != nil {
		return nil, "", err
	}
	shown := env.View().Tools
	for _, t := range shown {
		if message := badTool(t); message != "" {
			return nil, fmt.Sprintf("tool %s: %s", t.Name, message), nil
		}
	}
	for i := range tk.Plans {
		for _, c := range tk.Plans[i].Calls {
			if !slices.ContainsFunc(shown, func(t *task.Tool) bool { return t.Name == c.Tool }) {
				return nil, fmt.Sprintf("the %s plan calls %s, which is not shown", tk.Plans[i].Kind, c.Tool), nil
			}
		}
	}
	cert = &suite.Certificate{Instance: in.ID, Plans: []suite.PlanProof{}, Checks: []string{CheckStatic}}
	if tk.Gold.Expected == nil {
		return nil, "nothing is said of the right calls", nil
	}
	if unwritten := tk.Gold.Expected.Category == string(callcheck.Relevance); unwritten != slices.Contains(tk.Flags,
		task.FlagFeasibility) {
		return nil, "its flag and its gold contradict each other on whether the right calls are known", nil
	}
	player, err := policy.New(name, policy.Input{Task: tk, Primary: in.Primary, Seed: in.Seed})
	if err != nil {
		return nil, "", err
	}
	record, err := episode.Play(ctx, env, player)
	if err != nil {
		return nil, "", err
	}
	g, err := grade.Of(tk, record)
	if err != nil {
		return nil, "", err
	}
	refused := slices.Contains(tk.Flags, task.FlagRefused)
	switch {
	case !g.Lenient:
		return nil, fmt.Sprintf("the calls of the task's own answers are wrong: %s", g.Cause), nil
	case g.Success == refused:
		return nil, fmt.Sprintf("strictly right is %t, and flagged as refused is %t", g.Success, refused), nil
	}
	digest, err := record.Digest()
	cert.Transcript = map[string]string{name: digest}
	return cert, "", err
}

// Refused says whether the official checker refuses the calls of a task's own plan.
func Refused(task *task.Task) (bool, error) {
	if len(task.Plans) == 0 {
		return false, nil
	}
	record := transcript.Transcript{Header: transcript.Header{Task: task.ID}}
	for _, c := range task.Plans[0].Calls {
		text, err := c.MarshalJSON() // which keeps 1.0 apart from 1
		if err != nil {
			return false, err
		}
		var written struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		if err := json.Unmarshal(text, &written); err != nil {
			return false, err
		}
		record.Append(transcript.Event{Kind: transcript.EventCall, Turn: 1, Tool: c.Tool, Arguments: written.Arguments})
	}
	record.Append(transcript.Event{Kind: transcript.EventEnd, End: transcript.EndCalled})
	g, err := grade.Of(task, &record)
	return !g.Success, err
}

// badTool says what is wrong with a specification as an agent is shown it, "" for nothing.
func badTool(t *task.Tool) string {
	switch {
	case t.Document != "":
		return "its document is shown, and with it default values"
	case t.Parameters == nil:
		return "it has no parameters"
	case !slices.Equal(t.Parameters.Types, []string{"object"}):
		return "its parameters are no object"
	default:
		return badSchema(t.Parameters)
	}
}

var jsonTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

func badSchema(s *task.Schema) string {
	for _, name := range s.Types {
		if !slices.Contains(jsonTypes, name) {
			return fmt.Sprintf("JSON Schema has no type %q", name)
		}
	}
	for _, name := range s.Required {
		if s.Property(name) == nil {
			return fmt.Sprintf("%q is required and not described", name)
		}
	}
	parts := slices.Clone(s.AnyOf)
	for _, p := range s.Properties {
		parts = append(parts, p.Schema)
	}
	if s.Items != nil {
		parts = append(parts, s.Items)
	}
	for _, part := range parts {
		if message := badSchema(part); message != "" {
			return message
		}
	}
	return ""
}

// static checks the tasks whose tools cannot be run again, and compares.
func (v *suiteVerifier) static(ctx context.Context) error {
	for _, t := range v.suite.Tasks {
		if t.Proof != task.ProofStatic {
			continue
		}
		in := v.instances[t.ID]
		if in == nil || v.certificates[in.ID] == nil {
			continue // reported with the account
		}
		found, reason, err := certifyStatic(ctx, v.stage, in, t)
		if err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
		v.step()
		if reason != "" {
			v.report(in.ID, "%s", reason)
			continue
		}
		was, err := task.Marshal(v.certificates[in.ID])
		if err != nil {
			return err
		}
		now, err := task.Marshal(found)
		if err != nil {
			return err
		}
		if string(was) != string(now) {
			v.report(in.ID, "the certificate was %s and is %s", shorten(was), shorten(now))
		}
	}
	return nil
}
