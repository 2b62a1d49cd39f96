package protocol

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/reply"
	"github.com/seatrial/seatrial/internal/task"
)

// explain asks for a judgement and its reason, in one reply (Incomplete Conditions, "Can Tool-augmented LLMs Correctly
// Explain Incomplete Conditions?", figure 25). Explanations are assessed if the judgement is a correct no.
type explain struct {
	config Config
}

func newExplain(config Config) dialect { return &explain{config} }

const (
	howExplain = `Give your decision first and explain it then. If it is No, the explanation names what is missing (a ` +
		`tool that ` +
		`does what, or which detail of the request) and nothing that is not.`
	formExplain = "Keep to this form:\nDecision: Yes or No, one of the two\nExplanation: why"
)

func (e *explain) open(view *task.View) (model.Request, error) {
	asked, err := situation(view, e.config.Specs)
	return model.Request{
		System:   paragraphs(promptFeasible, promptYesNo, howExplain, formExplain),
		Messages: []model.Message{{Role: model.RoleUser, Content: paragraphs(asked, askFeasible)}},
	}, err
}

func (e *explain) read(reply *model.Reply, _ []string) decision { return judgement(reply) }

func (e *explain) observe([]task.Observation) ([]model.Message, error) { return nil, nil }

// Opinion is a judge model's opinion of an explanation.
type Opinion struct {
	Known bool // a word of the two could be read
	Right bool
	Reply string
	Usage task.Usage
	Model string // as the provider names it
}

// ExplanationJudge asks a model whether the explanation of a correct no is right (figure 26 in other words). The model
// knows that the request cannot be met, but not what is missing.
type ExplanationJudge struct {
	Client      model.Client
	Model       string // as the provider names it; "" leaves the client's own
	Temperature *float64
	MaxTokens   int
	Specs       *Specs
}

const (
	promptJudge = `Somebody was shown a conversation and a set of tools, and was asked whether the request can be ` +
		`met. It cannot: ` +
		`a tool or a detail is missing, and they said so. You judge whether their explanation is right. It is right if ` +
		`it says ` +
		`what really is missing. It is wrong if it says that something is missing which the tools or the conversation ` +
		`provide, ` +
		`if it demands something that is not needed, or if it does not say what is missing.`

	wordCorrect = "Correct"
	wordWrong   = "Wrong"
	formJudge   = `Reply with one word: "` + wordCorrect + `" if the explanation is right, "` + wordWrong +
		`" if it is not.`

	headExplanation = "The explanation:"
)

// judgeQuestion asks about one explanation.
func judgeQuestion(view *task.View, specs *Specs, explanation string) (string, error) {
	shown, err := situation(view, specs)
	return paragraphs(shown, headExplanation+"\n"+explanation, formJudge), err
}

// Assess returns the model's opinion of one explanation. Four invented examples precede it. Errors are the client's.
func (j *ExplanationJudge) Assess(ctx context.Context, view *task.View, explanation string) (Opinion, error) {
	messages, err := judgedMessages(j.Specs)
	if err != nil {
		return Opinion{}, err
	}
	asked, err := judgeQuestion(view, j.Specs, explanation)
	if err != nil {
		return Opinion{}, err
	}
	reply, err := j.Client.Complete(ctx, model.Request{
		Model: j.Model, Temperature: j.Temperature, MaxTokens: j.MaxTokens, System: paragraphs(promptJudge, formJudge),
		Messages: append(messages, model.Message{Role: model.RoleUser, Content: asked}),
	})
	if err != nil {
		return Opinion{}, fmt.Errorf("judge: %w", err)
	}
	o := Opinion{Reply: reply.Message.Content, Usage: reply.Usage, Model: reply.Model}
	o.Right, o.Known = opinionIn(reply.Message.Content)
	return o, nil
}

var opinionWord = regexp.MustCompile(`(?i)\b(correct|right|wrong|incorrect|not correct|not right)\b`)

// opinionIn reads the word of a judge: the first word of the reply after its reasoning, or the only one in it.
func opinionIn(text string) (right, known bool) {
	_, rest := reply.SplitThoughts(text)
	text = strings.TrimSpace(rest)
	positive := func(word string) bool {
		word = strings.ToLower(word)
		return word == "correct" || word == "right"
	}
	found := opinionWord.FindAllStringIndex(text, -1)
	if len(found) == 0 {
		return false, false
	}
	first := text[found[0][0]:found[0][1]]
	if strings.Trim(text[:found[0][0]], " \t\r\n\"'`*_#>({[-") == "" {
		return positive(first), true
	}
	for _, at := range found {
		if positive(text[at[0]:at[1]]) != positive(first) {
			return false, false
		}
	}
	return positive(first), true
}
