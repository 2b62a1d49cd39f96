package protocol

import (
	"reflect"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/agent/agenttest"
	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// TestAdviceIsShown plays every protocol with and without advice: the advice is marked and in its own message, and
// nothing else of any request differs.
func TestAdviceIsShown(t *testing.T) {
	const start, later = "Check `complete` first.\nThen go on.", "Renew the session."
	replies := map[string]*scripted{
		"tools": {replies: []model.Reply{native("get_all", `{}`, "function_1", `{"city": "Atlantis"}`),
			native("get_all", `{}`)}},
		"tools/text":  says(`{"name": "get_all", "arguments": {}}`, `{"name": "get_all", "arguments": {}}`),
		"react":       says("Action: get_all\nAction Input: {}"),
		OneShot:       says(`[{"name": "get_all", "arguments": {}}]`),
		OneShotNative: {replies: []model.Reply{native("get_all", `{}`)}},
		SQL:           says("SELECT id FROM home"),
	}
	ask := func(name string, atStart bool, told int) []model.Request {
		view := agenttest.View(t)
		view.Evidence = "homes means houses"
		view.Tools = append(view.Tools, agenttest.SQLTool())
		view.Messages = append(view.Messages, task.Message{Role: "assistant", Content: "Where?"}, task.Message{Role: "user",
			Content: "There."})
		if atStart {
			view.Hint = start
		}
		s := &scripted{replies: replies[name].replies}
		protocol, _, _ := strings.Cut(name, "/")
		p, err := New(protocol, Config{Client: s})
		if err != nil {
			t.Fatal(err)
		}
		h := agenttest.NewHarbour()
		var seen []task.Observation
		for range 2 {
			turn, err := p.Next(t.Context(), view, seen)
			if err != nil {
				t.Fatal(err)
			}
			if seen = h.Step(t, turn.Actions); told >= 0 && told < len(seen) {
				seen[told].Hint = later
			}
		}
		return s.requests
	}
	texts := func(requests []model.Request) (list []string) {
		for _, r := range requests {
			list = append(list, r.System)
			for _, m := range r.Messages {
				list = append(list, m.Content)
			}
		}
		return list
	}
	for name := range replies {
		plain := ask(name, false, -1)
		for told := range 2 {
			if told == 1 && name != "tools" {
				continue // one action a turn
			}
			given := ask(name, true, told)
			startGiven, laterGiven := 0, 0
			for i := range given {
				for j := range given[i].Messages {
					m := &given[i].Messages[j]
					var atStart, atCall bool
					if m.Content, atStart = strings.CutSuffix(m.Content, "\n\n"+action.Advice+start); atStart {
						startGiven++
						if m.Role != model.RoleUser || m.Content != "There.\n\nGood to know: homes means houses" {
							t.Errorf("%s: advice after %q", name, m.Content)
						}
					}
					if m.Content, atCall = strings.CutSuffix(m.Content, "\n"+action.Advice+later); atCall {
						laterGiven++
						if !strings.HasSuffix(m.Content, "}") || told == 1 && !m.IsError {
							t.Errorf("%s: advice after %q", name, m.Content)
						}
					}
				}
			}
			if !reflect.DeepEqual(given, plain) {
				t.Errorf("%s: with advice\n%q\nwithout\n%q", name, texts(given), texts(plain))
			}
			if startGiven != len(plain) || laterGiven != len(plain)-1 {
				t.Errorf("%s: %d requests with advice at the start, %d with later one, of %d", name, startGiven, laterGiven,
					len(plain))
			}
		}
		loop := !strings.HasPrefix(name, OneShot) && name != SQL
		if want := map[bool]int{true: 2, false: 1}[loop]; len(plain) != want {
			t.Errorf("%s: %d requests, want %d", name, len(plain), want)
		}
	}
}
