package reply

import "regexp"

// mistral puts a list of calls after [TOOL_CALLS], or, since 2025, a name, [ARGS] and an object for each call.
var mistral = &format{
	name:   "mistral",
	models: "Mistral, Magistral, Devstral, LM Studio's [TOOL_REQUEST]",
	source: "the chat templates and tokenizers of Mistral Small 3.1 and Magistral",
	mark:   regexp.MustCompile(`(?i:\[(?:TOOL_CALLS?|TOOL_REQUEST|FUNCTION_CALLS?)\])`),
	read:   (*reading).envelope,
}
