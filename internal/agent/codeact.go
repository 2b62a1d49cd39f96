package agent

import (
	"regexp"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// codeAct is the loop of thoughts and blocks of Python (Hell or High Water §3.3, appendix D): one block a reply, in a
// session that keeps its variables; tools are functions. The paper's tags are kept. That declining is an act, here a
// function, is added.
type codeAct struct {
	config  ProtocolConfig
	coder   *coder
	reminds string // what the model is told where its reply held no block
}

func newCodeAct(config ProtocolConfig) dialect { return &codeAct{config: config} }

const (
	promptCodeAct = `You answer a request by writing Python. Your code runs block by block, as in a notebook: variables, ` +
		`imports and functions of earlier blocks stay. After each block you are shown what it printed, the value of its ` +
		`last expression, and the traceback where an exception was raised.`

	promptCodeActTools = `The tools below are Python functions that are there already. Each returns a list of records ` +
		`(dicts), even when there is only one value to return. Where a tool cannot do what it was asked, it raises ToolError.`

	promptCodeActTables = `The tools below are Python functions that are there already. They work on tables, whose columns ` +
		`are called keys. A function that filters, sorts, groups or changes a table makes a new one, whose rows are not ` +
		`returned: it returns a dict that stands for the table, and that other functions take in its place. A function that ` +
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

	promptCodeActDecline = `If these tools cannot settle the request, or it leaves out something you would need, say so: ` +
		`run decline("the reason"). Declining ends the task; saying nothing does not count as declining.`

	promptCodeActAsk = `You may ask the user: ask_user("the question") returns the reply.`

	remindCodeAct = `Nothing was done, because the reply had no <execute> block and no <solution> block.`
)

// codeTag opens a block of code; codeClose closes one.
var (
	codeTag   = regexp.MustCompile(`(?i)<(execute|solution)(?:\s[^<>\n]*)?>`)
	codeClose = regexp.MustCompile(`(?i)</(?:execute|solution)\s*>`)
	// codeLine is a tag that opens another block where the one before was not closed: no line of Python looks like it.
	codeLine = regexp.MustCompile(`(?im)^[ \t]*<(?:execute|solution|thought)>[ \t]*$`)
)

func (c *codeAct) open(view *task.View) (model.Request, error) {
	c.coder = newCoder(c.config.Python, c.config.PythonLimits, view)
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
		stubs[i] = c.config.Specs.stub(c.coder.names, t)
	}
	system := paragraphs(promptCodeAct, tools, starts, promptCodeActAnswer, promptCodeActDecline, ask, promptErrors,
		headTools, strings.Join(stubs, "\n\n"), promptCodeActForm, repliesLeft(view, c.config.Loops))
	var request model.Request
	request.System, request.Messages = conversationOf(view, system)
	request.Stop = []string{"</execute>", "</solution>"}
	return request, nil
}

// codeBlock is the code of a reply, and whether it leaves the solution.
type codeBlock struct {
	code     string
	solution bool
}

// codeParts is what a reply is made of.
type codeParts struct {
	thoughts musings
	found    *codeBlock
	left     []task.Unparse // behind the block
	end      int            // of the block with its tags
}

// prose takes what stands outside of blocks and thoughts.
func (p *codeParts) prose(text string) {
	if p.found != nil {
		p.left = appendLeft(p.left, text)
		return
	}
	p.thoughts.add(text)
}

// codePartsOf reads a reply from left to right, so that code may hold the tags of thoughts, and thoughts those of code.
func codePartsOf(text string) *codeParts {
	p := &codeParts{end: len(text)}
	at := 0
	// Chat templates open the thought themselves, so that only its end is in the reply.
	if end := reasoningEnd.FindStringIndex(text); end != nil && !reasoningTag.MatchString(text[:end[0]]) {
		opens, closes := codeTag.FindAllStringIndex(text[:end[0]], -1), codeClose.FindAllStringIndex(text[:end[0]], -1)
		if len(opens) <= len(closes) {
			p.thoughts.add(text[:end[0]])
			at = end[1]
		}
	}
	for {
		rest := text[at:]
		thought, code := reasoningTag.FindStringIndex(rest), codeTag.FindStringSubmatchIndex(rest)
		if p.found != nil {
			code = nil
		}
		switch {
		case thought == nil && code == nil:
			p.prose(rest)
			return p
		case code == nil || thought != nil && thought[0] < code[0]:
			p.prose(rest[:thought[0]])
			inner := rest[thought[1]:]
			until, next := len(inner), len(inner)
			if end := reasoningEnd.FindStringIndex(inner); end != nil {
				until, next = end[0], end[1]
			}
			// A thought that is not closed ends where a block begins.
			if again := reasoningTag.FindStringIndex(inner[:until]); next == len(inner) && until == next || again != nil {
				if code := codeTag.FindStringIndex(inner[:until]); code != nil && (again == nil || code[0] < again[0]) {
					until, next = code[0], code[0]
				}
			}
			p.thoughts.add(inner[:until])
			at += thought[1] + next
		default:
			p.prose(rest[:code[0]])
			p.found = &codeBlock{solution: strings.EqualFold(rest[code[2]:code[3]], "solution")}
			inner := rest[code[1]:]
			until, next := len(inner), len(inner)
			if end := codeClose.FindStringIndex(inner); end != nil {
				until, next = end[0], end[1]
			} else if end := reasoningEnd.FindStringIndex(inner); end != nil {
				until, next = end[0], end[1]
			}
			if line := codeLine.FindStringIndex(inner[:until]); line != nil {
				until, next = line[0], line[0]
			}
			p.found.code = inner[:until]
			at += code[1] + next
			p.end = at
		}
	}
}

// read takes the first block of a reply: between its tags, or, where there is no tag, in the only fence of Python. What
// stands behind it is named; the observation that models go on to make up is not kept.
func (c *codeAct) read(reply *model.Reply, _ []string) decision {
	text := reply.Message.Content
	parts := codePartsOf(text)
	found, kept := parts.found, text[:parts.end]
	d := decision{unparsed: parts.left}
	if found == nil {
		found = onlyFence(text)
	}
	d.thought = parts.thoughts.String()
	c.reminds = ""
	if found != nil {
		found.code = unfenced(found.code)
		d.block = found
	} else {
		d.silent = strings.TrimSpace(text) == ""
		c.reminds = remindCodeAct
		if !d.silent {
			d.unparsed = append(d.unparsed, task.Unparse{Reason: ReasonNoAct, Text: text})
		}
	}
	m := model.Message{Role: model.RoleAssistant, Content: strings.TrimSpace(kept), Raw: reply.Message.Raw}
	if kept != text {
		m.Raw = nil
	}
	if m.Content != "" {
		d.history = []model.Message{m}
	}
	return d
}

// appendLeft names what stands behind the block.
func appendLeft(list []task.Unparse, text string) []task.Unparse {
	if text = strings.TrimSpace(text); text == "" {
		return list
	}
	return append(list, task.Unparse{Reason: ReasonAfterAct, Text: text})
}

// onlyFence gives the code of a reply without tags that has exactly one fence of Python.
func onlyFence(text string) *codeBlock {
	var found *codeBlock
	for _, m := range fence.FindAllStringSubmatchIndex(text, -1) {
		if foreignLanguage(fenceLanguage(text, m)) != "" {
			continue
		}
		if found != nil {
			return nil
		}
		found = &codeBlock{code: text[m[6]:m[7]]}
	}
	return found
}

// unfenced takes the fences off code that begins with one. Of several, what is in them counts, as in a notebook's
// cells.
func unfenced(code string) string {
	trimmed := strings.TrimSpace(code)
	if !strings.HasPrefix(trimmed, "```") {
		return strings.Trim(code, "\n")
	}
	if m := fenceAround(trimmed); m != nil {
		return trimmed[m[6]:m[7]]
	}
	var cells []string
	for _, m := range fence.FindAllStringSubmatchIndex(trimmed, -1) {
		cells = append(cells, strings.Trim(trimmed[m[6]:m[7]], "\n"))
	}
	return strings.Join(cells, "\n")
}

// observe reminds the model of the form where its reply held no block. What a block shows is told when it has ended.
func (c *codeAct) observe([]task.Observation) ([]model.Message, error) {
	if c.reminds == "" {
		return nil, nil
	}
	text := c.reminds
	c.reminds = ""
	return []model.Message{{Role: model.RoleUser, Content: text}}, nil
}

// observed tells the model what a block has shown.
func (c *codeAct) observed(b *task.Block) model.Message {
	return model.Message{Role: model.RoleUser, Content: told(b, c.coder.notices)}
}
