package episode_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
)

func TestOpinionsStayAsTheyWereFirst(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "run")
	s := create(t, path)
	first, second := recordOf(0, "a", 0, transcript.EndJudged), recordOf(1, "a", 0, transcript.EndJudged)
	putAll(t, s, first, second)
	before := export(t, s)
	if list, err := s.Opinions(ctx); err != nil || len(list) > 0 {
		t.Fatalf("a run without judges has the opinions %v, %v", list, err)
	}
	put := func(judge string, r *episode.Record, text string) error {
		return s.PutOpinions(ctx, judge, map[string]json.RawMessage{r.Transcript.Header.ID: json.RawMessage(text)})
	}
	for _, o := range []struct {
		judge string
		of    *episode.Record
		text  string
	}{{"y", first, `{"right":true}`}, {"x", first, `{"right":false}`}, {"y", second, `{}`},
		{"y", first, `{"right":false}`}} {
		if err := put(o.judge, o.of, o.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PutOpinions(ctx, "y", map[string]json.RawMessage{"unknown": json.RawMessage(`{}`)}); err == nil {
		t.Error("an unknown episode has an opinion")
	}
	if export(t, s) != before {
		t.Error("opinions change the export")
	}
	closeStore(t, s)
	s, err := episode.Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	list, err := s.Opinions(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, o := range list {
		got[o.Judge+" of "+o.Episode] = string(o.JSON)
	}
	a, b := first.Transcript.Header.ID, second.Transcript.Header.ID
	if len(got) != 3 || got["x of "+a] != `{"right":false}` || got["y of "+a] != `{"right":true}` ||
		got["y of "+b] != `{}` {
		t.Errorf("the opinions are %v", got)
	}
	if err := put("y", second, `{}`); err == nil {
		t.Error("a run that is open for reading takes opinions")
	}
}

func TestParticipantsTakePartInWhatTheyTake(t *testing.T) {
	h := openHarbour(t, 6)
	all, some := answerer("all"), answerer("some")
	some.Only = func(in *suite.Instance) bool { return in == h.suite.Instances[4] }
	s := create(t, filepath.Join(t.TempDir(), "run"))
	defer closeStore(t, s)
	p, err := execute(context.Background(), h, s, 2, all, some)
	if err != nil {
		t.Fatal(err)
	}
	text := export(t, s)
	if p.Total != 14 || strings.Count(text, `"agent":"some"`) != 2 || strings.Count(text, `"agent":"all"`) != 12 {
		t.Errorf("progress %+v of\n%s", p, text)
	}
}
