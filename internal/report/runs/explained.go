package runs

import (
	"context"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/papers"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// Opinion is a judge model's assessment of an explanation, as the run's file stores it.
type Opinion struct {
	Right bool       `json:"right"`
	Known bool       `json:"known"` // a verdict could be read
	Reply string     `json:"reply"`
	Usage task.Usage `json:"usage"`
	Model string     `json:"model,omitempty"`
}

// Explanation returns the explanation of a right no under the protocol explain; false for any other episode.
func Explanation(g *grade.Grade, t *transcript.Transcript) (string, bool) {
	if !g.Valid || !g.Success || g.Judged != grade.JudgedNo || g.Protocol != protocol.Explain {
		return "", false
	}
	if !slices.ContainsFunc(t.Events, func(e transcript.Event) bool { return e.Kind == transcript.EventJudge }) {
		return "", false
	}
	return ExplanationIn(t), true
}

// ExplanationIn returns the explanation of a transcript whose row has [report.Row.Explained].
func ExplanationIn(t *transcript.Transcript) string {
	at := slices.IndexFunc(t.Events, func(e transcript.Event) bool { return e.Kind == transcript.EventJudge })
	return t.Events[at].Text
}

// opinionsOf returns judges' verdicts on explanations, by episode and judge. It leaves out unreadable ones.
func opinionsOf(ctx context.Context, store *episode.Store) (map[string]map[string]bool, error) {
	list, err := store.Opinions(ctx)
	if err != nil {
		return nil, err
	}
	byEpisode := map[string]map[string]bool{}
	for _, o := range list {
		var said Opinion
		if err := task.DecodeStrict(o.JSON, &said); err != nil {
			return nil, fmt.Errorf("opinion of %s on episode %s: %w", o.Judge, o.Episode, err)
		}
		if !said.Known {
			continue
		}
		if byEpisode[o.Episode] == nil {
			byEpisode[o.Episode] = map[string]bool{}
		}
		byEpisode[o.Episode][o.Judge] = said.Right
	}
	return byEpisode, nil
}

// Unread counts the opinions of a judge in which no verdict could be read, and all of them.
func Unread(ctx context.Context, store *episode.Store, judge string) (unread, all int, err error) {
	list, err := store.Opinions(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, o := range list {
		if o.Judge != judge {
			continue
		}
		var said Opinion
		if err := task.DecodeStrict(o.JSON, &said); err != nil {
			return 0, 0, fmt.Errorf("opinion of %s on episode %s: %w", o.Judge, o.Episode, err)
		}
		if all++; !said.Known {
			unread++
		}
	}
	return unread, all, nil
}

// explained assesses an explanation by what its instance lacks.
func (r *Run) explained(in *suite.Instance, text string, opinions map[string]bool) (*report.Explained, error) {
	shown, err := r.Stage.Shown(in)
	if err != nil {
		return nil, err
	}
	lack, err := r.Suite.Lacking(in, shown)
	if err != nil {
		return nil, err
	}
	return papers.ExplainedOf(&lack, r.Suite.Toolkit(in, shown), shown, text, opinions), nil
}
