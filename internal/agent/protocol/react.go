package protocol

import (
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/reply"
	"github.com/seatrial/seatrial/internal/task"
)

// react is the loop of thoughts, actions and observations in text (NL2API appendix G): one action a reply, ten
// replies by default. Its tags are the paper's; `Decline:` is added, so that declining is an act.
type react struct {
	config  Config
	reader  *reply.Reader
	reminds string // the message to a model whose reply had no act
}

func newReact(config Config) dialect { return &react{config: config} }

const (
	promptReact = `You answer a request by calling tools, one call at a time. After each call you are shown what ` +
		`came back, and you go on from there.`

	promptReactTools = "These are the tools, one specification a line:"

	promptReactForm = `Write every reply in one of three forms. To call a tool:
Thought: what you make of the situation and what you will do next
Action: the name of one tool
Action Input: its arguments as a JSON object

To answer:
Thought: why you are done
Final Answer: the answer as JSON

To decline:
Thought: why it cannot be done
Decline: the reason

End your reply after these lines. The line that starts with "Observation:" is written for you and shows the result ` +
		`or the error of your call.`

	promptReactLabels = `Calls are labelled call_1, call_2 and so on in the order in which you make them; each ` +
		`observation shows the label.`

	remindReact = `Observation: nothing was done, because the reply had no "Action:", no "Final Answer:" and no ` +
		`"Decline:" that could be read.`
)

// observationTag begins the environment's part.
const observationTag = "Observation:"

func (r *react) open(view *task.View) (model.Request, error) {
	r.reader = reply.NewReader(view.Tools)
	var request model.Request
	listing, err := r.config.Specs.listing(view.Tools)
	if err != nil {
		return request, err
	}
	results, references := promptOf(view)
	system := paragraphs(promptReact, results, promptReactLabels, references, promptAnswer, promptDecline,
		promptErrors, promptReactTools+"\n"+listing, promptReactForm, repliesLeft(view, r.config.Loops))
	request.System, request.Messages = conversationOf(view, system)
	request.Stop = []string{observationTag}
	return request, nil
}

// grow adds tools that have come into view, so that their calls are read like all others. The model has read their
// documentation in an observation.
func (r *react) grow(view *task.View) { r.reader = reply.NewReader(view.Tools) }

func (r *react) read(response *model.Reply, labels []string) decision {
	s := reply.ReadReact(r.reader, labels, response)
	d := decision{thought: s.Thoughts.String(), unparsed: s.Unparsed}
	r.reminds = ""
	if s.Action != nil {
		d.actions = []task.Action{*s.Action}
	} else {
		d.silent = strings.TrimSpace(s.Text) == "" && len(response.Message.ToolCalls) == 0
		d.unread = unreadAct(s.Unparsed)
		r.reminds = remindReact
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
		text, err := render(&seen[i])
		if err != nil {
			return nil, err
		}
		lines = append(lines, observationTag+" "+text)
	}
	return []model.Message{{Role: model.RoleUser, Content: strings.Join(lines, "\n")}}, nil
}
