package proof

import (
	"context"

	"github.com/seatrial/seatrial/internal/certify/instances"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
)

// makeRequests puts the tasks of one database under the conditions of the request again.
func (v *suiteVerifier) makeRequests(ctx context.Context, w *database.World, name string, tasks []int) error {
	asked := instances.OfRequest.Alone(v.combinations)
	if len(asked) == 0 {
		return nil
	}
	var titles []suite.Title
	for _, s := range v.suite.Schemas {
		if s.Database == name {
			titles = s.Titles
		}
	}
	sch, err := Titled(ctx, w, name, titles)
	if err != nil {
		return err
	}
	maker, err := NewRequestMaker(ctx, RequestConfig{World: w, Schema: sch, Seed: v.suite.Manifest.Seed, Asked: asked,
		Stage: v.stage, Scribe: v.scribe})
	if err != nil {
		return err
	}
	defer maker.Close()
	list := make([]*task.Task, len(tasks))
	for at, i := range tasks {
		list[at] = v.suite.Tasks[i]
	}
	if err := maker.Ask(ctx, list); v.lacksVector(err) {
		return nil
	} else if err != nil {
		return err
	}
	for _, i := range tasks {
		t := v.suite.Tasks[i]
		if v.instances[t.ID] == nil {
			continue // which is reported
		}
		made, err := maker.Make(ctx, t, v.instances[t.ID])
		if err != nil {
			return err
		}
		v.mu.Lock()
		v.requests[i] = made
		v.mu.Unlock()
	}
	return nil
}

// compareRequests compares the instances under conditions of the request that were made again with those of the suite:
// wording, certificates and refusals.
func (v *suiteVerifier) compareRequests() {
	want := map[string]string{}
	var refused []*suite.Rejection
	for _, made := range v.requests {
		for i, in := range made.Instances {
			want[in.ID] = written(in, made.Certified[i])
		}
		refused = append(refused, made.Refused...)
	}
	v.compareMade(instances.OfRequest.Holds, want, refused)
	if v.scribe == nil {
		return
	}
	if n := v.scribe.Missing(); n > 0 {
		v.report("suite", "of %d requests it is not known what the writer wrote, or it would not be taken today", n)
	}
	if written(v.written) != written(v.scribe.Records()) {
		v.report("suite", "what the writer wrote of requests is not what they are worded by")
	}
}
