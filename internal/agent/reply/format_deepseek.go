package reply

import "regexp"

// deepSeek puts each call between tokens with wide bars: a name, a token and the arguments, fenced or not. Version 3.2
// prefixes <invoke> and <parameter> tags with a namespace in such bars.
var deepSeek = &format{
	name:   "deepseek",
	models: "DeepSeek V3, R1, V3.1, V3.2, Step 3",
	source: "the chat templates of DeepSeek-V3, DeepSeek-R1 and DeepSeek-V3.1; the encoding of DeepSeek-V3.2",
	mark:   regexp.MustCompile(`<｜tool[▁_]calls?[▁_]begin｜>|<｜DSML｜(?:function_calls|tool_calls)>`),
	read:   (*reading).envelope,
}
