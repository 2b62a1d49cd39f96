package protocol

import (
	"fmt"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/action"
	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/reply/verdict"
	"github.com/seatrial/seatrial/internal/task"
)

// feasible asks before any call whether a request can be met (Incomplete Conditions, "Task Formulation" and figure 22):
// at once, after brief reasoning (figure 23), or after the five steps of Structured Verification (figures 6 and 24).
// The one reply is a judgement. Examples precede the question, each as an exchange.
type feasible struct {
	config Config
	manner *manner
}

// manner is how a judgement is reached.
type manner struct {
	how    string // said of the way to it
	form   string // of the reply
	reason func(*Example) string
}

const (
	promptFeasible = `A user asks for something, and a set of tools is all there is to work with. Decide beforehand ` +
		`whether what ` +
		`is known is enough to get the user what was asked for by calling these tools. There may be several calls, and a ` +
		`call ` +
		`may work on what an earlier one returned. There are no other tools, and nobody can be asked for more.`

	promptYesNo = `Say "Yes" if it is enough. Say "No" if it is not.`

	formVerdict = `Reply with that one word and nothing else.`

	howBriefly  = `Think it over in a few sentences before you decide.`
	formThought = "Keep to this form:\nThought: what you considered\nAnswer: Yes or No, one of the two"

	howVerify = `Work through five steps before you decide, and write each of them down:
1. Goal: what does the user want to have in the end?
2. Needs: which data, and which operations on them, does that take?
3. Tools: for each of these needs, which of the listed tools provides it? Name it, or state that none does.
4. Details: for each tool that would be called, does the conversation, or the result of a call before it, supply every ` +
		`argument that the tool requires? Name those that are not supplied. A detail that nobody gave and no tool can ` +
		`find out ` +
		`settles the matter: the request cannot be met as it stands.
5. Verdict: Yes if steps 3 and 4 left nothing open, No if they did.`
	formSteps = "Keep to this form:\nThought: the five steps, a numbered line each\nAnswer: Yes or No, one of the two"

	askFeasible = `Can the request be met now, with these tools and with what is known?`
)

func newFeasible(config Config) dialect {
	return &feasible{config, &manner{form: formVerdict, reason: func(*Example) string { return "" }}}
}

func newFeasibleThought(config Config) dialect {
	return &feasible{config, &manner{howBriefly, formThought, (*Example).thought}}
}

func newFeasibleVerify(config Config) dialect {
	return &feasible{config, &manner{howVerify, formSteps, (*Example).steps}}
}

func (f *feasible) open(view *task.View) (model.Request, error) {
	request := model.Request{System: paragraphs(promptFeasible, promptYesNo, f.manner.how, f.manner.form)}
	for i := range f.config.Examples {
		e := &f.config.Examples[i]
		asked, err := situation(e.View, f.config.Specs)
		if err != nil {
			return request, fmt.Errorf("example %d: %w", i+1, err)
		}
		verdict := "No"
		if e.Feasible {
			verdict = "Yes"
		}
		if reason := f.manner.reason(e); reason != "" {
			verdict = "Thought:" + reason + "\nAnswer: " + verdict
		}
		request.Messages = append(request.Messages,
			model.Message{Role: model.RoleUser, Content: paragraphs(asked, askFeasible)},
			model.Message{Role: model.RoleAssistant, Content: verdict})
	}
	asked, err := situation(view, f.config.Specs)
	request.Messages = append(request.Messages, model.Message{Role: model.RoleUser, Content: paragraphs(asked,
		askFeasible)})
	return request, err
}

func (f *feasible) read(reply *model.Reply, _ []string) decision { return judgement(reply) }

func (f *feasible) observe([]task.Observation) ([]model.Message, error) { return nil, nil }

// judgement turns the reply to a yes-or-no question into an act. A reply that says neither makes none.
func judgement(response *model.Reply) decision {
	r := verdict.Read(response)
	d := decision{thought: r.Thought, unparsed: r.Unparsed, silent: !r.Known, unread: unreadAct(r.Unparsed)}
	if r.Known {
		d.actions = []task.Action{task.Judge(r.Said, r.Explanation)}
	}
	return d
}

// Headings of the parts of a situation.
const (
	headConversation = "The conversation so far:"
	headTools        = "The tools, a specification a line:"
	evidenceHead     = "Good to know: "
)

// situation describes a request from outside: the conversation, the corpus's evidence, the starting tables, and the
// tools.
func situation(view *task.View, specs *Specs) (string, error) {
	var lines []string
	for _, m := range view.Messages {
		lines = append(lines, speakers[m.Role]+m.Content)
	}
	if view.Evidence != "" {
		lines = append(lines, evidenceHead+view.Evidence)
	}
	if view.Hint != "" {
		lines = append(lines, action.Advice+view.Hint)
	}
	listing, err := specs.listing(view.Tools)
	if listing == "" {
		listing = "(There are none.)"
	}
	starts := ""
	if len(view.Starts) > 0 {
		starts = paragraphs(promptTables, startsOf(view))
	}
	return paragraphs(headConversation+"\n"+strings.Join(lines, "\n"), starts, headTools+"\n"+listing), err
}

// speakers say who speaks, by the role.
var speakers = map[string]string{model.RoleUser: "User: ", model.RoleAssistant: "Assistant: ",
	"system": "Instructions: "}
