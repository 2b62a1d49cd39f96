package agent

import (
	"regexp"
	"strings"
)

// fence is a fenced block; its first two groups are the language, its third what is inside. A block without its end goes
// on to the end of the text. On a single line only a language that is known is told from what is inside.
var fence = regexp.MustCompile(
	"(?s)```(?:[ \t]*([\\w+-]*)[ \t]*\r?\n|[ \t]*((?:jsonl?|python|py|xml|tool_calls?|tool_code)\\b)?)(.*?)(?:```|\\z)")

// callLanguages are the languages of fences in which a call is expected, so that a block without one is named.
var callLanguages = map[string]bool{
	"json": true, "jsonl": true, "json5": true, "python": true, "py": true, "tool_call": true, "tool_calls": true,
	"tool_code": true, "xml": true,
}

// readFenced reads calls in fenced blocks. A block that holds data, such as a list of records, is prose: it may be an
// answer.
func readFenced(p *reading) {
	if len(p.native) > 0 {
		return
	}
	for _, s := range p.free() {
		for _, m := range fence.FindAllStringSubmatchIndex(p.text[s.start:s.end], -1) {
			free := p.text[s.start:s.end]
			language := strings.ToLower(submatch(free, m, 1) + submatch(free, m, 2))
			inner := span{s.start + m[6], s.start + m[7]}
			c := p.block(p.text[:inner.end], inner.start, ReasonFence)
			if len(c.calls) == 0 && (!callLanguages[language] || p.isData(inner) || len(c.unparsed) == 0) {
				continue
			}
			c.span = span{s.start + m[0], s.start + m[1]}
			p.claims = append(p.claims, c)
		}
	}
}

// isData says whether that part of the text is a value of JSON, or as models write it, and nothing else.
func (p *reading) isData(s span) bool {
	v := newValueReader(p.text[:s.end], false)
	v.pos = s.start
	_, err := v.value()
	v.space()
	return err == nil && v.atEnd() == nil
}
