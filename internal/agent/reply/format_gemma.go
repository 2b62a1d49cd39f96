package reply

import "regexp"

// gemma writes a call as call:NAME{…}, with bare keys, and strings between tokens instead of quotes.
var gemma = &format{
	name:   "gemma",
	models: "Gemma 4, FunctionGemma",
	source: "the chat templates of Gemma 4 and FunctionGemma",
	mark:   regexp.MustCompile(`<\|tool_call>|<start_function_call>|(?:^|\n)(call:[\pL_][\pL\pN_.-]*\{)`),
	read:   (*reading).envelope,
}
