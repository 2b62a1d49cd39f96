package reply

import (
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
	"github.com/seatrial/seatrial/internal/task/pattern"
)

// recipientMark begins a part of a reply.
var recipientMark = pattern.New(`>>>([\pL_][\w.-]*)\r?\n|` +
	`(?:<\|from\|>\s*assistant\s*)?<\|recipient\|>\s*([\pL_][\w.-]*)\s*<\|content\|>`)

// functionary names the recipient of each part of a reply: a function, or "all" for the user.
var functionary = &format{
	name:   "functionary",
	models: "functionary 2 and 3",
	source: "the prompt templates of functionary v2 and v3",
	mark:   recipientMark,
	read:   readRecipient,
}

func readRecipient(p *reading, text string, start, _ int) claim {
	m := recipientMark.FindStringSubmatchIndex(text[start:])
	name := submatch(text[start:], m, 1) + submatch(text[start:], m, 2)
	c := claim{Span: literal.Span{Start: start, End: start + m[1]}}
	if name == "all" {
		return c
	}
	v := p.values(text, c.End)
	n, err := v.Value()
	if object, ok := asArguments(n); err == nil && ok {
		if arguments, err := object.AppendJSON(nil); err == nil {
			c.End = v.Pos
			c.calls = []Call{{Tool: p.tools.resolve(name), Arguments: arguments}}
			c.unparsed = v.Notes
			c.End += len(skipped.FindString(text[c.End:]))
			return c
		}
	}
	c.End = len(text)
	c.unparsed = []task.Unparse{{Reason: ReasonTag, Text: text[start:]}}
	return c
}
