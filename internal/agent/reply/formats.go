package reply

import "github.com/seatrial/seatrial/internal/task/pattern"

// format is one way in which models mark calls in text. To add one, add a row to [formats], in a file of its own if it
// has code, and a writer to the tests, which render calls in it and read them back.
type format struct {
	name   string
	models string // some models that use it
	source string // where the format is documented
	mark   *pattern.Pattern
	// read reads a marked call. The mark is text[start:inner], and read consumes at least the mark. If mark has a
	// group, inner is where the group starts.
	read func(p *reading, text string, start, inner int) claim
	// readNamed reads, in place of read, a call whose mark is the name of an offered tool: the group of mark. It
	// returns an empty claim if the text is not a call.
	readNamed func(p *reading, tool, text string, start, inner int) claim
}

// formats is the table of formats. Marked formats come first: if two marks match at the same position, the earlier row
// wins, and the last of these rows matches any other token that mentions calls, so that an unknown format is read if
// possible, and named otherwise. Then follow the formats that are recognised by the name of an offered tool.
var formats = []*format{
	harmony,
	{
		// Each call is between tokens with wide bars: a name, a token and the arguments, fenced or not. Version 3.2
		// prefixes <invoke> and <parameter> tags with a namespace in such bars.
		name:   "deepseek",
		models: "DeepSeek V3, R1, V3.1, V3.2, Step 3",
		source: "the chat templates of DeepSeek-V3, DeepSeek-R1 and DeepSeek-V3.1; the encoding of DeepSeek-V3.2",
		mark:   pattern.New(`<｜tool[▁_]calls?[▁_]begin｜>|<｜DSML｜(?:function_calls|tool_calls)>`),
		read:   (*reading).envelope,
	}, {
		// A call is functions.NAME:NUMBER, a token and the arguments, in a section of calls.
		name:   "kimi",
		models: "Kimi K2",
		source: "the tool calling guide of Kimi-K2",
		mark:   pattern.New(`<\|tool_calls?(?:_section)?_begin\|>`),
		read:   (*reading).envelope,
	}, {
		// A call is call:NAME{…}, with bare keys, and strings between tokens instead of quotes.
		name:   "gemma",
		models: "Gemma 4, FunctionGemma",
		source: "the chat templates of Gemma 4 and FunctionGemma",
		mark:   pattern.New(`<\|tool_call>|<start_function_call>|(?:^|\n)(call:[\pL_][\pL\pN_.-]*\{)`),
		read:   (*reading).envelope,
	}, {
		// A list of calls follows [TOOL_CALLS], or, since 2025, a name, [ARGS] and an object for each call.
		name:   "mistral",
		models: "Mistral, Magistral, Devstral, LM Studio's [TOOL_REQUEST]",
		source: "the chat templates and tokenizers of Mistral Small 3.1 and Magistral",
		mark:   pattern.New(`(?i:\[(?:TOOL_CALLS?|TOOL_REQUEST|FUNCTION_CALLS?)\])`),
		read:   (*reading).envelope,
	}, {
		// Calls are between <tool_call> tags or similar ones: as JSON, as code, in <function=…> or <invoke …> tags, as a
		// name with pairs of <arg_key> and <arg_value>, or as a name and arguments in tags of their own.
		name: "tool-call-tags",
		models: "Hermes, Qwen 2.5 and 3, Granite 20B, GLM-4.5 to 4.7, MiniMax-M2, Seed-OSS, Hunyuan, OLMo 3, LongCat, " +
			"Nemotron, Claude 2, clients of MCP in text",
		source: "NL2API appendix H; the chat templates of these models",
		mark: pattern.New(`(?i:<` + namespace +
			`(?:\w+_)?` + markWords + tagSuffix + `>|<(?:antml:)?invoke>)`),
		read: (*reading).envelope,
	}, {
		// The function is named in a tag. Arguments are in their own tags or in JSON.
		name:   "function-tags",
		models: "Llama 3.1, Qwen3-Coder, functionary 3.1, Claude in text, Step 3, Grok",
		source: "the chat templates of Qwen3-Coder and Step 3; Meta's prompt format of Llama 3.1",
		mark:   pattern.New(functionTagForm),
		read:   func(p *reading, text string, start, _ int) claim { return p.envelope(text, start, start) },
	}, {
		// JSON or code follows a token that starts Python or a tool call, such as <|python_tag|>.
		name:   "llama",
		models: "Llama 3.1, 3.2, 4, LFM2, Gorilla",
		source: "Meta's prompt formats of Llama 3.2 and Llama 4; the chat template of LFM2; Gorilla OpenFunctions",
		mark:   pattern.New(`<\|python_(?:tag|start)\|>|<\|tool_call_start\|>|<<function>>`),
		read:   (*reading).envelope,
	}, {
		// A list of calls is between action tokens.
		name:   "cohere",
		models: "Command R7B, Command A, InternLM2",
		source: "the chat templates of Command R7B and InternLM2",
		mark:   pattern.New(`<\|START_ACTION\|>|<\|action_start\|>\s*(?:<\|plugin\|>)?`),
		read:   (*reading).envelope,
	},
	functionary,
	{
		// A word introduces a list of calls: functools[…], or GigaChat's "function call".
		name:   "announced",
		models: "Phi-4-mini, FireFunction, GigaChat, HyperCLOVA X, openPangu",
		source: "the chat templates of Phi-4-mini and GigaChat 3; openPangu's tokens as servers decode them",
		mark:   pattern.New(`\bfunctools\s*(\[)|function call<\|role_sep\|>|-> ?tool/function_call\n|\[unused11\]`),
		read:   (*reading).envelope,
	}, {
		name:   "other-token",
		models: "Granite 3, Apertus, Inkling, Phi-4, Solar, and formats that are not described here",
		source: "the chat templates of these models",
		mark:   pattern.New(`(?i:` + callToken + `)`),
		read:   (*reading).envelope,
	}, {
		name:   "recipient",
		models: "gpt-oss, from servers that drop its special tokens",
		source: "OpenAI's harmony response format",
		mark: pattern.New(`(?:assistant)?(?:commentary|analysis)?[ ]?to=` + toolNameForm +
			`[ ]?(?:commentary|analysis|code|json|[ ])*\{`),
		readNamed: (*reading).namedObject,
	}, {
		// A name, on its own line or not, and an object, possibly fenced.
		name:   "name-object",
		models: "GLM-4, and models of many marked formats, from servers that drop their special tokens",
		source: "the chat template of GLM-4",
		mark: pattern.New("(?:" + lineStart + `(?:\d+[.)][ \t]*)?|:[ \t]*|` + afterObject + "|(?i:" +
			endToken + ")\\s*)" + nextWord + "?" + nameOfObject + "(?:\\r?\\n\\s*)?(?:```(?:json)?\\s*)?\\{"),
		readNamed: (*reading).namedObject,
	}, {
		// Labelled lines: Action and Action Input, Tool and Input, Function and Arguments.
		name:   "labelled-lines",
		models: "Qwen 1 and 2, models trained on ReAct",
		source: "ReAct; the function calling template of Qwen2",
		mark: pattern.New("(?i:" + lineStart + `✿?(?:action|tool|function|(?:tool|function)[ _]name|tool[ _]call)` +
			"[✿*_`]*[ \\t]*[:：][ \\t*`\"']*" + toolNameForm + "[*`\"' \\t]*\\r?\\n[\\s>*+#✿-]*" +
			`(?:(?:action|tool)[ _])?(?:inputs?|args|arguments?|param(?:eter)?s)` +
			"[✿*_`]*[ \\t]*[:：][ \\t*`]*(?:\\r?\\n\\s*)?(?:```(?:json)?\\s*|`)?)\\{"),
		readNamed: (*reading).namedObject,
	}, {
		name:      "tool-call-code",
		models:    "ChatGLM3",
		source:    "the chat template of ChatGLM3",
		mark:      pattern.New(lineStart + toolNameForm + "[ \\t]*\\r?\\n\\s*(?:```(?:python)?\\s*)?tool_call\\("),
		readNamed: readToolCallCode,
	}, {
		name:      "name-tag",
		models:    "Amazon Nova, models trained on Cline and Roo Code",
		source:    "the prompts of Cline",
		mark:      pattern.New(`<` + toolNameForm + `(?:\s+[\w.-]+="[^"<>]*")*\s*/?>`),
		readNamed: readNameTag,
	},
}
