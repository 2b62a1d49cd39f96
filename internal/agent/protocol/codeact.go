package protocol

import (
	"cmp"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/notebook"
	"github.com/seatrial/seatrial/internal/agent/reply"
	"github.com/seatrial/seatrial/internal/task"
)

// codeAct is the loop of thoughts and blocks of Python (Hell or High Water §3.3, appendix D): one block a reply, in a
// session that keeps its variables; tools are functions. The paper's tags are kept. That declining is an act, here a
// function, is added.
type codeAct struct {
	config  Config
	coder   *notebook.Notebook
	calls   *reply.Reader // finds calls in replies without a block
	reminds string        // the message to a model whose reply had no block
}

func newCodeAct(config Config) dialect { return &codeAct{config: config, calls: reply.NewReader(nil)} }

const (
	promptCodeAct = `You answer a request by writing Python. Your code runs block by block, as in a notebook: ` +
		`variables, ` +
		`imports and functions of earlier blocks stay. After each block you are shown what it printed, the value of its ` +
		`last expression, and the traceback where an exception was raised.`

	promptCodeActTools = `The tools below are Python functions that are there already. Each returns a list of records ` +
		`(dicts), even when there is only one value to return. Where a tool cannot do what it was asked, it raises ToolError.`

	promptCodeActTables = `The tools below are Python functions that are there already. They work on tables, whose ` +
		`columns ` +
		`are called keys. A function that filters, sorts, groups or changes a table makes a new one, whose rows are not ` +
		`returned: it returns a dict that stands for the table, and that other functions take in its place. A function ` +
		`that ` +
		`returns values gives a list of records (dicts). Where a tool cannot do what it was asked, it raises ToolError.`

	promptCodeActForm = `Write every reply in one of two forms. To run code:
<thought> what you make of the situation and what you will do next </thought>
<execute>
rows = some_function(city="Bergen")
print(rows)
</execute>

To answer, run code that leaves the answer in the variable solution:
<thought> why you are done </thought>
<solution>
solution = [row["name"] for row in rows]
</solution>

End your reply after the block; what comes of it is written for you. The function in this example is invented.`

	promptCodeActAnswer = `The solution is data: the value, the list of values, or the records that were asked for, and ` +
		`nothing around them.`

	promptCodeActDecline = `If these tools cannot settle the request, or it leaves out something you would need, say ` +
		`so: ` +
		`run decline("the reason"). Declining ends the task; saying nothing does not count as declining.`

	promptCodeActAsk = `You may ask the user: ask_user("the question") returns the reply.`

	remindCodeAct = `Nothing was done, because the reply had no <execute> block and no <solution> block.`
)

func (c *codeAct) open(view *task.View) (model.Request, error) {
	c.coder = notebook.New(c.config.Python, c.config.PythonLimits, view)
	c.calls = reply.NewReader(view.Tools)
	tools, starts := promptCodeActTools, ""
	if len(view.Starts) > 0 {
		tools, starts = promptCodeActTables, startsOf(view)
	}
	ask := ""
	if view.Questions > 0 {
		ask = promptCodeActAsk
	}
	stubs := make([]string, len(view.Tools))
	for i, t := range view.Tools {
		stubs[i] = c.config.Specs.stub(c.coder.Names, t)
	}
	system := paragraphs(promptCodeAct, tools, starts, promptCodeActAnswer, promptCodeActDecline, ask, promptErrors,
		headTools, strings.Join(stubs, "\n\n"), promptCodeActForm, repliesLeft(view, c.config.Loops))
	var request model.Request
	request.System, request.Messages = conversationOf(view, system)
	request.Stop = []string{"</execute>", "</solution>"}
	return request, nil
}

// read takes the first block of a reply: the one between its tags, or, without tags, the only fence of Python. It names
// the text after the block, and does not keep an observation that the model made up.
func (c *codeAct) read(response *model.Reply, _ []string) decision {
	text := response.Message.Content
	parts := reply.ReadCode(text)
	found, kept := parts.Found, text[:parts.End]
	d := decision{unparsed: parts.Left}
	if found == nil {
		found = cmp.Or(reply.OtherBlock(text), reply.OnlyFence(text),
			reply.CodeInCall(c.calls.Read(&response.Message, nil).Calls))
	}
	if found != nil && response.Finish == model.FinishLength &&
		(parts.Open || strings.HasSuffix(strings.TrimSpace(text), strings.TrimSpace(found.Text))) {
		d.unparsed = append(d.unparsed, task.Unparse{Reason: reply.ReasonTruncated, Text: text})
		found = nil
	}
	d.thought = parts.Thoughts.String()
	c.reminds = ""
	if found != nil {
		found.Text = reply.Unfenced(found.Text)
		d.block = found
	} else {
		d.silent = strings.TrimSpace(text) == ""
		c.reminds = remindCodeAct
		if !d.silent {
			reason := reply.ReasonNoAct
			if r := c.calls.Read(&response.Message, nil); len(r.Calls) > 0 || unreadAct(r.Unparsed) {
				reason = reply.ReasonUnknownFormat // a call, but not in Python
			}
			d.unparsed = append(d.unparsed, task.Unparse{Reason: reason, Text: text})
			d.unread = unreadAct(d.unparsed)
		}
	}
	m := model.Message{Role: model.RoleAssistant, Content: strings.TrimSpace(kept), Raw: response.Message.Raw}
	if kept != text {
		m.Raw = nil
	}
	if m.Content != "" {
		d.history = []model.Message{m}
	}
	return d
}

// observe repeats the form to a model whose reply had no block. The model sees what a block printed after the block has
// ended.
func (c *codeAct) observe([]task.Observation) ([]model.Message, error) {
	if c.reminds == "" {
		return nil, nil
	}
	text := c.reminds
	c.reminds = ""
	return []model.Message{{Role: model.RoleUser, Content: text}}, nil
}

// observed tells the model what a block showed.
func (c *codeAct) observed(b *task.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: notebook.Told(b, c.coder.Notices)}
}
