package verify

import (
	"context"

	"github.com/seatrial/seatrial/internal/database"
	"github.com/seatrial/seatrial/internal/derive"
	"github.com/seatrial/seatrial/internal/suite"
)

// makeRequests puts the tasks of one database under the conditions of the request again.
func (v *suiteVerifier) makeRequests(ctx context.Context, w *database.World, name string, tasks []int) error {
	asked := derive.RequestConditions(v.combinations)
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
	maker, err := NewRequestMaker(ctx, RequestConfig{World: w, Schema: sch, Seed: v.suite.Manifest.Seed, Asked: asked, Stage: v.stage})
	if err != nil {
		return err
	}
	defer maker.Close()
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
	want, refused := map[string]string{}, map[string]string{}
	for _, made := range v.requests {
		for i, in := range made.Instances {
			want[in.ID] = written(in, made.Certified[i])
		}
		for _, r := range made.Refused {
			refused[r.ID] = r.Reason
		}
	}
	for _, in := range v.suite.Instances {
		if !derive.OfRequest(in) {
			continue
		}
		if again, known := want[in.ID]; !known {
			v.report(in.ID, "nothing that the suite was built with gives the instance")
		} else if is := written(in, v.certificates[in.ID]); is != again {
			v.report(in.ID, "instance and certificate were %s and are %s", shorten([]byte(is)), shorten([]byte(again)))
		} else {
			v.step()
		}
		delete(want, in.ID)
	}
	for id := range want {
		v.report(id, "the instance is not in the suite")
	}
	for _, r := range v.suite.Rejected {
		if reason, known := refused[r.ID]; known && r.What == "instance" {
			if reason != r.Reason {
				v.report(r.ID, "the instance is refused as %s, not as %s", reason, r.Reason)
			}
			delete(refused, r.ID)
		}
	}
	for id, reason := range refused {
		v.report(id, "the instance is refused as %s, and the suite does not say so", reason)
	}
}
