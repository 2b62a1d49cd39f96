package reply

import "regexp"

// otherToken matches any other token that mentions tools, functions, calls, actions or plugins.
var otherToken = &format{
	name:   "other-token",
	models: "Granite 3, Apertus, Inkling, Phi-4, and formats that nobody has described yet",
	source: "the chat templates of these models",
	mark:   regexp.MustCompile(`(?i:` + callToken + `)`),
	read:   (*reading).envelope,
}
