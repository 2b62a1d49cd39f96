package proof

import (
	"context"
	"fmt"

	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// CheckShown says that the plan of a certificate was played with the tools that the instance shows, under the names
// that it shows them.
const CheckShown = "gold_agrees_as_shown"

// Certify plays the primary plan of an instance under conditions of the toolkit, with what the agent is shown, and
// wants gold; in an open world, once with a search before and once without. Of a task whose tools cannot be run it
// checks what can be checked: see [CheckStatic]. A reason says why it does not hold; the error is Seatrial's own
// failure.
func Certify(ctx context.Context, stage *episode.Stage, in *suite.Instance) (cert *suite.Certificate, reason string,
	err error) {
	t, err := stage.Shown(in)
	if err != nil {
		return nil, "", err
	}
	if t.Proof == task.ProofStatic {
		return certifyStatic(ctx, stage, in, t)
	}
	cert = &suite.Certificate{Instance: in.ID, Checks: []string{CheckShown}, Transcript: map[string]string{}}
	result, reason, err := playShown(ctx, stage, in, t, "gold-"+in.Primary, cert)
	if reason != "" || err != nil {
		return nil, reason, err
	}
	cert.Plans = []suite.PlanProof{{Plan: in.Primary, Digest: result.Digest(t.Gold.Ordered())}}
	if condition.SearchKind(in.Conditions) != "" {
		if _, reason, err = playShown(ctx, stage, in, t, policyUnfound, cert); reason != "" || err != nil {
			return nil, reason, err
		}
		cert.Checks = append(cert.Checks, CheckUnfound)
	}
	return cert, "", nil
}

// CheckUnfound says that the plan gives gold in an open world without its tools having been found, too.
const CheckUnfound = "gold_agrees_unfound"

// policyUnfound is the policy that calls tools without looking for them.
const policyUnfound = "gold-unfound"

// playShown plays an instance as a policy, within the budget of its episodes, and wants gold.
func playShown(
	ctx context.Context, stage *episode.Stage, in *suite.Instance, t *task.Task, name string, cert *suite.Certificate,
) (result *task.Result, reason string, err error) {
	// The instance alone names the episode: the suite's digest is not known before the suite is written.
	header := transcript.Header{ID: task.Hash(in.Seed, "certificate", in.ID), Instance: in.ID, Task: in.Task, Agent: name}
	seat := episode.Seat{Header: header}
	if condition.SearchKind(in.Conditions) != "" {
		seat.Budget = episode.BudgetOf(in, t)
	}
	env, err := stage.Environment(ctx, in, seat)
	if err != nil {
		return nil, "", err
	}
	policy, err := policy.New(name, policy.Input{Task: t, Primary: in.Primary, Seed: in.Seed})
	if err != nil {
		return nil, "", err
	}
	record, err := episode.Play(ctx, env, policy)
	if err != nil {
		return nil, "", err
	}
	result, trouble := answerOf(record)
	if trouble != "" {
		return nil, trouble, nil
	}
	if !t.Gold.Accepts(task.Answer{Result: result}).Strict {
		return nil, fmt.Sprintf("its %s plan does not give gold", in.Primary), nil
	}
	cert.Transcript[name], err = record.Digest()
	return result, "", err
}
