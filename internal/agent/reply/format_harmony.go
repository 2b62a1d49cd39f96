package reply

import (
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
	"github.com/seatrial/seatrial/internal/task/pattern"
)

// messageMark begins a part of a reply.
var messageMark = pattern.New(`(?:<\|start\|>[ ]?(?:assistant)?)?[ ]?(?:to=([\w.:-]+)[ ]?)?` +
	`(?:<\|channel\|>[ ]?(\w+)[ ]?)?(?:to=([\w.:-]+)[ ]?)?(?:(?:<\|constrain\|>)?[ ]?(?:json|code)[ ]?)?<\|message\|>`)

// harmony writes a reply as messages with a header: a channel and, for a call, its recipient. The analysis channel is a
// thought, the final channel an answer in prose.
var harmony = &format{
	name:   "harmony",
	models: "gpt-oss, Glimmer",
	source: "OpenAI's harmony response format",
	mark:   messageMark,
	read:   readMessage,
}

// messageEnd matches the end of a message. A call may lack it.
var messageEnd = pattern.New(`<\|(?:end|eom|eot|call|return)\|>|<\|start\|>`)

func readMessage(p *reading, text string, start, _ int) claim {
	m := messageMark.FindStringSubmatchIndex(text[start:])
	header := text[start:]
	recipient, channel := submatch(header, m, 1)+submatch(header, m, 3), submatch(header, m, 2)
	c := claim{Span: literal.Span{Start: start, End: start + m[1]}}
	body := strings.TrimLeft(text[c.End:], " \t\r\n")
	at := len(text) - len(body)
	switch {
	case callsFirst.MatchString(body):
		c = p.envelope(text, start, at)
	case recipient != "" && recipient != "user" && recipient != "self" && recipient != "all":
		v := p.values(text, at)
		n, err := v.Value()
		object, ok := asArguments(n)
		arguments, unwritable := object.AppendJSON(nil)
		if err != nil || !ok || unwritable != nil {
			c.End = len(text)
			c.unparsed = []task.Unparse{{Reason: reasonOf(err, ReasonTag), Text: text[start:]}}
			return c
		}
		c.calls = []Call{{Tool: p.tools.resolve(recipient), Arguments: arguments}}
		c.unparsed, c.End = v.Notes, v.Pos
	case channel == "analysis" || recipient == "self":
		end := len(text)
		if next := messageEnd.FindStringIndex(text[c.End:]); next != nil {
			end = c.End + next[0]
		}
		c.thought, c.End = text[c.End:end], end
	default:
		return c // prose follows
	}
	if end := messageEnd.FindStringIndex(text[c.End:]); end != nil && strings.TrimSpace(text[c.End:c.End+end[0]]) == "" {
		if !strings.HasSuffix(text[:c.End+end[1]], "start|>") {
			c.End += end[1]
		}
	}
	return c
}

// callsFirst matches a text that begins with a mark of calls.
var callsFirst = pattern.New(`^(?:(?i:` + wrapTag + `|` + callToken + `)|` + functionTagForm + `)`)
