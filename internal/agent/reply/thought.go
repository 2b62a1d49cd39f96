package reply

import (
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
	"github.com/seatrial/seatrial/internal/task/pattern"
)

// reasoningTags are around a block in which a model thinks. Chat templates open the block themselves, and the reply
// contains only its end. Beside tags, models use brackets (Mistral), tokens (Command R and Gemma 4) and triangles
// (Kimi).
var reasoningTags = tagsOf(`(?i)<(?:\w+:)?(?:think|thinking|thought|reasoning|scratchpad)>|\[THINK\]`+
	`|<\|START_THINKING\|>|<\|channel>thought\n?|◁think▷`,
	`(?i)</(?:\w+:)?(?:think|thinking|thought|reasoning|scratchpad)>|\[/THINK\]`+
		`|<\|END_THINKING\|>|<channel\|>|◁/think▷`)

// plainChannels matches a thought of gpt-oss before its answer, from servers that drop special tokens.
var plainChannels = pattern.New(`(?s)^analysis.*?(assistantfinal|assistantcommentary to=)`)

// readReasoning claims the blocks in which a model thinks: it weighs the calls in them and does not make them.
func readReasoning(p *reading) {
	if len(p.native) > 0 {
		return
	}
	opens := reasoningTags.all(p.text)
	at := 0
	if m := plainChannels.FindStringSubmatchIndex(p.text); m != nil {
		if at = m[2]; strings.HasSuffix(p.text[:m[3]], "final") {
			at = m[3]
		}
		p.claims = append(p.claims, claim{Span: literal.Span{End: at}, thought: p.text[:at]})
	}
	for _, closing := range reasoningTags.closing.FindAllStringIndex(p.text, -1) {
		if isInMarkedString(p.text[at:closing[0]]) {
			continue
		}
		// Without an opening tag, the block began with the reply or after the previous block.
		start, inner := at, at
		if opens = from(opens, at); len(opens) > 0 && opens[0].Start < closing[0] {
			start, inner = opens[0].Start, opens[0].End
		}
		p.claims = append(p.claims, claim{Span: literal.Span{Start: start, End: closing[1]},
			thought: p.text[inner:closing[0]]})
		at = closing[1]
	}
	if opens = from(opens, at); len(opens) == 0 {
		if last := len(p.claims) - 1; last >= 0 && strings.TrimSpace(silentMark.ReplaceAllString(p.text[at:], "")) == "" &&
			p.attemptsCall(p.claims[last].thought, p.claims[last].Start) {
			p.claims[last].unparsed = []task.Unparse{{Reason: ReasonOpenThought, Text: p.claims[last].thought}}
		}
		return
	}
	// A thought without an end: the tokens of a call end it; other calls in it are refused.
	c := claim{Span: literal.Span{Start: opens[0].Start, End: len(p.text)}}
	inner := p.text[opens[0].End:]
	token := tokenMark.FindStringIndex(inner)
	if token != nil && silentMark.MatchString(inner[token[0]:token[1]]) {
		token = nil // the end of a call
	}
	if token != nil {
		inner, c.End = inner[:token[0]], opens[0].End+token[0]
	} else if p.attemptsCall(inner, opens[0].End) {
		c.unparsed = []task.Unparse{{Reason: ReasonOpenThought, Text: strings.TrimSpace(inner)}}
	}
	c.thought = inner
	p.claims = append(p.claims, c)
}

// attemptsCall reports whether a thought that begins at start has a mark of calls, or a tool's name used as in a call.
func (p *reading) attemptsCall(thought string, start int) bool {
	return p.tools != nil && (unknownMark.MatchString(thought) || attemptAnywhere.MatchString(thought) ||
		p.attemptedTool(thought, start) >= 0)
}

// isInMarkedString reports whether a text ends inside a quoted string after a mark of calls: the tag of a thought there
// belongs to an argument.
func isInMarkedString(text string) bool {
	mark := tokenMark.FindStringIndex(text)
	if mark == nil {
		return false
	}
	after := strings.NewReplacer(`\\`, "", `\"`, "").Replace(text[mark[1]:])
	return strings.Count(after, `"`)%2 == 1
}

// tokenMark matches a mark of calls that only a vocabulary token of the model can write.
var tokenMark = pattern.New(`(?i:` + callToken + `|<\|tool_call>)`)

// Thoughts are the parts of a reply that the model thinks and does not say.
type Thoughts []string

// Add adds a thought, unless it is only space.
func (m *Thoughts) Add(text string) {
	if text = strings.TrimSpace(text); text != "" {
		*m = append(*m, text)
	}
}

func (m Thoughts) String() string { return strings.Join(m, "\n") }

// SplitThoughts returns the content of the blocks in which a model thinks, and the remaining pieces joined by line
// ends.
func SplitThoughts(text string) (thoughts Thoughts, rest string) {
	set := &reading{text: text}
	readReasoning(set)
	for i := range set.claims {
		thoughts.Add(set.claims[i].thought)
	}
	var pieces []string
	for _, free := range set.free() {
		pieces = append(pieces, text[free.Start:free.End])
	}
	return thoughts, strings.Join(pieces, "\n")
}

// from drops the tags that begin before at.
func from(list []tag, at int) []tag {
	for len(list) > 0 && list[0].Start < at {
		list = list[1:]
	}
	return list
}
