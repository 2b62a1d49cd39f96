package reply

import "regexp"

// kimi writes a call as functions.NAME:NUMBER, a token and the arguments, in a section of calls.
var kimi = &format{
	name:   "kimi",
	models: "Kimi K2",
	source: "the tool calling guide of Kimi-K2",
	mark:   regexp.MustCompile(`<\|tool_calls?(?:_section)?_begin\|>`),
	read:   (*reading).envelope,
}
