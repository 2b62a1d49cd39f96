package proof

import (
	"context"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/certify/twin"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
)

// makeStatic puts the tasks whose tools cannot be run under the conditions of the request and those whose toolkits are
// chosen again. What comes of it is compared with what is made of other tasks.
func (v *suiteVerifier) makeStatic(ctx context.Context) error {
	if v.suite.Manifest.Counts.Static == 0 {
		return nil
	}
	for _, t := range v.suite.Tasks {
		if v.instances[t.ID] == nil {
			return nil // which is reported
		}
	}
	measure := twin.Lexical // which is not asked where no toolkit is chosen
	if len(instances.OfChoice.Alone(v.combinations)) > 0 {
		var known bool
		if measure, known = v.measure(); !known {
			return nil
		}
	}
	maker, err := NewStaticMaker(ctx, v.suite, v.combinations, measure, v.scribe, v.options.Workers)
	if v.lacksVector(err) {
		return nil
	}
	if err != nil {
		return err
	}
	made, err := maker.Choose(ctx, func() {})
	if v.lacksVector(err) {
		return nil
	}
	if err != nil {
		return err
	}
	judged := maker.Judged()
	for _, verdict := range v.suite.Verdicts {
		if !judged[verdict.Instance] {
			v.report("suite", "the verdict of %s is on %s, which is not made", verdict.Reviewer, verdict.Instance)
		}
	}
	again := *v.suite // with the tools that are chosen now, whatever it has
	again.Made = made
	requests, toolkits, err := maker.Certify(ctx, episode.NewStage(&again, nil, environment.Limits{}), func() {})
	if err != nil {
		return err
	}
	is := map[string]string{}
	for _, t := range made {
		is[t.Database+"\n"+t.Name] = written(t)
	}
	for _, t := range v.suite.Made {
		if is[t.Database+"\n"+t.Name] != written(t) {
			v.report("suite", "the added tool %s of %s is not the one of another question", t.Name, t.Database)
		}
	}
	for i := range v.suite.Tasks {
		if requests[i] != nil {
			v.requests[i] = requests[i]
		}
		if toolkits[i] != nil {
			v.toolkits[i] = toolkits[i]
		}
	}
	return nil
}
