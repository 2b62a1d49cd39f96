package reply

import "regexp"

// hermes puts calls between <tool_call> tags or similar ones: as JSON, as code, in <function=…> or <invoke …> tags, or
// as a name with pairs of <arg_key> and <arg_value>.
var hermes = &format{
	name: "tool-call-tags",
	models: "Hermes, Qwen 2.5 and 3, Granite 20B, GLM-4.5 to 4.7, MiniMax-M2, Seed-OSS, Hunyuan, OLMo 3, LongCat, " +
		"Nemotron",
	source: "NL2API appendix H; the chat templates of these models",
	mark:   regexp.MustCompile(`(?i:<` + namespace + `(?:\w+_)?(?:tool_?calls?|function_?calls?|tool_use|tool_code)>)`),
	read:   (*reading).envelope,
}
