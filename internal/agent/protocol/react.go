package protocol

import (
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/reply"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/prompt"
)

// react is the loop of thoughts, actions and observations in text (NL2API appendix G): one action a reply, ten
// replies by default. Its tags are the paper's; `Decline:` is added, so that declining is an act.
type react struct {
	config  Config
	reader  *reply.Reader
	reminds string // the message to a model whose reply had no act
}

func newReact(config Config) dialect { return &react{config: config} }

// observationTag begins the environment's part.
const observationTag = "Observation:"

func (r *react) open(view *task.View) (model.Request, error) {
	r.reader = reply.NewReader(view.Tools)
	var request model.Request
	values, err := r.config.values(view)
	if err != nil {
		return request, err
	}
	request.System, request.Messages = r.config.opening(prompt.React, values, view)
	request.Stop = []string{observationTag}
	return request, nil
}

// updateTools adds tools that have come into view, so that their calls are read like all others. The model has read
// their documentation in an observation.
func (r *react) updateTools(view *task.View) { r.reader = reply.NewReader(view.Tools) }

func (r *react) read(response *model.Reply, labels []string) decision {
	s := reply.ReadReact(r.reader, labels, response)
	d := decision{thought: s.Thoughts.String(), unparsed: s.Unparsed}
	r.reminds = ""
	if s.Action != nil {
		d.actions = []task.Action{*s.Action}
	} else {
		d.silent = strings.TrimSpace(s.Text) == "" && len(response.Message.ToolCalls) == 0
		d.unread = unreadAct(s.Unparsed)
		r.reminds = r.config.texts().Text(prompt.ReactReminder, prompt.Values{})
	}
	d.history = s.History(&response.Message)
	return d
}

func (r *react) observe(seen []task.Observation) ([]model.Message, error) {
	if r.reminds != "" {
		return []model.Message{{Role: model.RoleUser, Content: r.reminds}}, nil
	}
	var lines []string
	for i := range seen {
		text, err := r.config.render(&seen[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, r.config.texts().Text(prompt.ReactObservation, prompt.Values{"observation": text}))
	}
	return []model.Message{{Role: model.RoleUser, Content: strings.Join(lines, "\n")}}, nil
}
