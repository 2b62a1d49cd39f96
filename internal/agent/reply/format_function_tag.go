package reply

import "regexp"

// functionTags name the function in a tag. Arguments are in their own tags or in JSON.
var functionTags = &format{
	name:   "function-tags",
	models: "Llama 3.1, Qwen3-Coder, functionary 3.1, Claude in text, Step 3, Grok",
	source: "the chat templates of Qwen3-Coder and Step 3; Meta's prompt format of Llama 3.1",
	mark:   regexp.MustCompile(functionTagForm),
	read:   func(p *reading, text string, start, _ int) claim { return p.envelope(text, start, start) },
}
