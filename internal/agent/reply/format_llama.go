package reply

import "regexp"

// llama writes JSON or code after a token that starts Python or a tool call, such as <|python_tag|>.
var llama = &format{
	name:   "llama",
	models: "Llama 3.1, 3.2, 4, LFM2",
	source: "Meta's prompt formats of Llama 3.2 and Llama 4; the chat template of LFM2",
	mark:   regexp.MustCompile(`<\|python_(?:tag|start)\|>|<\|tool_call_start\|>`),
	read:   (*reading).envelope,
}
