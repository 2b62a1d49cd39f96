package reply

import "regexp"

// words introduces a list of calls with a word: functools[…], or GigaChat's "function call".
var words = &format{
	name:   "announced",
	models: "Phi-4-mini, FireFunction, GigaChat, HyperCLOVA X",
	source: "the chat templates of Phi-4-mini and GigaChat 3",
	mark:   regexp.MustCompile(`\bfunctools\s*(\[)|function call<\|role_sep\|>|-> ?tool/function_call\n`),
	read:   (*reading).envelope,
}
