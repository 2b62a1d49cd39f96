package prompt

import "slices"

// Variable is a variable of a text.
type Variable struct {
	Name  string `json:"name"`
	About string `json:"about"`
}

// Text is one text of a set, in a file of its name.
type Text struct {
	Name      string     `json:"name"`
	About     string     `json:"about"`
	Empty     string     `json:"empty,omitempty"`    // what an empty file means; "" for nothing special
	Sections  []string   `json:"sections,omitempty"` // in their usual order; may come several times; nil for none
	Variables []Variable `json:"variables,omitempty"`
}

// The texts that other packages name.
const (
	OneShot          = "one-shot"
	WorkedExample    = "one-shot-example"
	SQL              = "sql"
	Tools            = "tools"
	ToolsReminder    = "tools-reminder"
	ToolsNotRun      = "tools-not-run"
	React            = "react"
	ReactObservation = "react-observation"
	ReactReminder    = "react-reminder"
	CodeAct          = "codeact"
	CodeObservation  = "codeact-observation"
	CodeNotice       = "codeact-notice"
	CodeReminder     = "codeact-reminder"
	Feasible         = "feasible"
	FeasibleCot      = "feasible-cot"
	FeasibleVerify   = "feasible-verify"
	CotExample       = "feasible-cot-example"
	VerifyExample    = "feasible-verify-example"
	FreeForm         = "free-form"
	FeedbackError    = "feedback-error"
	FeedbackInvented = "feedback-invented"
	Explain          = "explain"
	Judge            = "judge"
	Turn             = "turn"
	Observation      = "observation"
	Unread           = "unread"
	Account          = "account"
	ActAnswer        = "act-answer"
	ActDecline       = "act-decline"

	WriteParaphrase    = "write-paraphrase"
	WriteRestatement   = "write-restatement"
	WriteDrop          = "write-drop"
	WriteNearRequest   = "write-near-request"
	WriteTool          = "write-tool"
	WriteRemoval       = "write-removal"
	WriteDocumentation = "write-documentation"
	ReadRequest        = "read-request"
	ReadDocumentation  = "read-documentation"
	WriteEndpoint      = "write-endpoint"
	JudgeEndpoint      = "judge-endpoint"
	JudgeForm          = "judge-form"
)

var (
	chat     = []string{System, User}
	dialogue = []string{System, User, Assistant}
)

// Variables that several texts share.
var (
	ofRequest = []Variable{
		{"request", "what the user asked last"},
		{"evidence", "the corpus's note that explains the request, or nothing"},
		{"advice", "advice on problems with the tools, in arms with hints, or nothing"},
	}
	ofTools = []Variable{
		{"tools", "the tools, a JSON object a line: name, description, parameters"},
		{"tool_names", "their names, with commas between them"},
		{"described", "yes if none of the tools can be run"},
		{"tables", "yes if tools work on tables that begin under a label"},
		{"starts", "the starting tables, a line each"},
		{"start", "the reference of the first starting table, $label$"},
		{"several", "yes if there are several"},
	}
	ofReplies   = []Variable{{"replies", "how many replies there are, or nothing if there is no limit"}}
	ofSituation = slices.Concat([]Variable{{"conversation", "the conversation, made of the text `" + Turn + "`"}},
		ofRequest[1:], ofTools)
	ofCalls       = slices.Concat(ofRequest, ofTools, ofReplies)
	declineByTool = Variable{"decline", "the name of the tool by which to decline, or nothing if there is none: see `" +
		ActDecline + "`"}
	answerByTool = Variable{"answer", "the name of the tool by which to answer"}
	ofVerdicts   = []Variable{
		{"feasible", "yes if the request of the example can be met"},
		{"goal", "its request"},
		{"calls", "the calls that meet it"},
		{"several", "how many calls, if more than one"},
		{"details", "the details that the request leaves out, or nothing"},
		{"detail", "yes if a detail alone is missing, and no tool"},
		{"lacks", "what is missing: no tool that would …, no value for …"},
	}
)

// texts is the table of all texts, in the order in which they are listed.
var texts = []Text{
	{Name: OneShot, About: "Opens the protocols one-shot and one-shot-native: one reply with all calls.", Sections: chat,
		Variables: slices.Concat(ofCalls, []Variable{declineByTool,
			{"native", "yes if tools are offered through the provider's interface"},
			{"examples", "the worked examples, made of the text `" + WorkedExample + "`, or nothing"}})},
	{Name: WorkedExample, About: "One worked example of one-shot, of another database.", Variables: []Variable{
		{"number", "1, 2, …"}, {"database", "the name of its database"}, {"tables", "what its starting table is made of"},
		{"keys", "the keys of that table, a line each"}, {"request", "what is asked"},
		{"calls", "the calls, a JSON list with a line for each"},
		{"tools", "the specifications of the tools that are called, a JSON list"},
		{"key_list", "the keys and their descriptions, a JSON list"},
		{"answer", "the right answer, as JSON"},
	}},
	{Name: SQL, About: "Opens the protocol sql: one query in place of calls.", Sections: chat,
		Variables: slices.Concat(ofRequest, []Variable{{"database", "the database's schema"}})},
	{Name: Tools, About: "Opens the protocol tools: native calls in a loop.", Sections: chat,
		Variables: slices.Concat(ofCalls, []Variable{answerByTool, declineByTool})},
	{Name: ToolsReminder, About: "Follows a reply of the protocol tools without a call.",
		Variables: []Variable{answerByTool, declineByTool,
			{"unread", "yes if the reply had something that looked like a call"}}},
	{Name: ToolsNotRun, About: "The result of a native call that was not carried out, as JSON."},
	{Name: React, About: "Opens the protocol react: Thought, Action, Action Input and Observation.", Sections: chat,
		Variables: ofCalls},
	{Name: ReactObservation, About: "Shows the result of a call under react. Replies end before \"Observation:\".",
		Variables: []Variable{{"observation", "the result, made of the text `" + Observation + "`"}}},
	{Name: ReactReminder, About: "Follows a reply of the protocol react without an act."},
	{Name: CodeAct, About: "Opens the protocol codeact: thoughts and blocks of Python.", Sections: chat,
		Variables: slices.Concat(ofCalls, []Variable{
			{"stubs", "the tools as Python functions: signature and docstring"},
			{"documentation", "the tools as entries NAME: JSON, in the form of OpenAI's functions"},
			{"open", "yes if tools have to be found by search_tools and get_info"},
			{"asks", "yes if ask_user is there"}})},
	{Name: CodeObservation, About: "Shows what a block of Python printed. Newlines at its end are dropped.",
		Variables: []Variable{
			{"output", "what was printed"}, {"cut", "yes if more was printed than is kept"}, {"value", "of the last expression"},
			{"traceback", "of an exception"},
			{"lost", "why the session was lost: time, memory, exit, crash, bridge or killed; or nothing"},
			{"notices", "notes and advice, made of the text `" + CodeNotice + "`"}}},
	{Name: CodeNotice, About: "A note or advice that came with the result of a function.", Variables: []Variable{
		{"tool", "the function"}, {"note", "the environment's note, or nothing"}, {"advice", "or nothing"}}},
	{Name: CodeReminder, About: "Follows a reply of the protocol codeact without a block."},
	{Name: Feasible, About: "The protocol feasible: yes or no.", Sections: chat, Variables: ofSituation},
	{Name: FeasibleCot, About: "The protocol feasible-cot: yes or no after brief reasoning.", Sections: chat,
		Variables: ofSituation},
	{Name: CotExample, About: "The reply of an example that precedes the question of feasible-cot.",
		Variables: ofVerdicts},
	{Name: FeasibleVerify, About: "The protocol feasible-verify: yes or no after five steps.", Sections: chat,
		Variables: ofSituation},
	{Name: VerifyExample, About: "The reply of an example that precedes the question of feasible-verify.",
		Variables: ofVerdicts},
	{Name: FreeForm, About: "The protocol free-form: a reply to the user, with a call or without.", Sections: chat,
		Variables: slices.Concat(ofRequest, ofTools, []Variable{
			{"conversation", "the whole conversation, made of the text `" + Turn + "`"}})},
	{Name: FeedbackError, About: "The protocol feedback after a call that failed.", Sections: chat,
		Variables: slices.Concat(ofSituation, ofAttempt)},
	{Name: FeedbackInvented, About: "The protocol feedback after a call whose arguments and result are made up.",
		Sections: chat, Variables: slices.Concat(ofSituation, ofAttempt)},
	{Name: Explain, About: "The protocol explain: yes or no, and why.", Sections: chat, Variables: ofSituation},
	{Name: Judge, About: "Asks a judge model whether an explanation is right, with examples before the question.",
		Sections:  dialogue,
		Variables: slices.Concat(ofSituation, []Variable{{"explanation", "that is judged"}})},
	{Name: Turn, About: "One message of a conversation that is described.", Variables: []Variable{
		{"content", "what is said"}, {"user", "yes if the user says it"}, {"assistant", "yes if the assistant does"},
		{"system", "yes if they are instructions"}}},
	{Name: Observation, About: "The result of a call in the protocols tools and react.", Variables: []Variable{
		{"json", "label, tool, and result or error, as one line of JSON"},
		{"label", "of the result"}, {"tool", "that was called"},
		{"result", "the records, as JSON, or nothing"}, {"note", "the environment's note, or nothing"},
		{"error", "code and message, or nothing"}, {"advice", "or nothing"}}},
	{Name: Unread, About: "Tells a model which part of its reply could not be read.",
		Empty: "models are not told, and a protocol of one reply ends.", Variables: []Variable{
			{"text", "that part, cut to 300 bytes"}, {"part", "yes if the rest was carried out"},
			{"again", "yes if the protocol has one reply, and the model may write it once more"},
			{"reason", "truncated, not_json, not_a_call, bad_arguments, expression, positional, open_thought, no_verdict, " +
				"two_verdicts, or another"}}},
	{Name: Account, About: "Tells a model of its failed attempt, in an informed retry.", Variables: []Variable{
		{"turns", "what was done, turn by turn, or nothing"}, {"hidden", "the mark in the place of what is left out"},
		{"end", "how it ended: final, silent, budget, crashed, called, or nothing"}}},
	{Name: ActAnswer, About: "The tool by which a model answers in the protocol tools, and its argument.",
		Sections: []string{Tool, Argument}},
	{Name: ActDecline, About: "The tool by which a model declines in the protocols tools and one-shot, and its argument.",
		Empty: "there is no such tool.", Sections: []string{Tool, Argument}},

	{Name: WriteParaphrase, About: "Asks a writer for a request in other words, with every value as it is.",
		Sections: dialogue, Variables: []Variable{asked,
			{"kept", "the values that have to stay, a line each, or nothing"},
			{"guarded", "other parts that may be values of tools that cannot be run, or nothing"}, complaint}},
	{Name: WriteRestatement, About: "Asks a writer for a request in other words, with values in other forms.",
		Sections: dialogue, Variables: []Variable{asked, complaint}},
	{Name: WriteDrop, About: "Asks a writer to word a request that leaves a detail open.", Sections: dialogue,
		Variables: []Variable{asked, {"phrase", "the words that leave the detail open"}, complaint}},
	{Name: WriteNearRequest, About: "Asks a writer for a request near to another one, for a tool to be added.",
		Sections: dialogue, Variables: []Variable{asked, {"tool", "that serves it, as JSON"},
			{"number", "2, 3, … of the same request; nothing for the first"}, complaint}},
	{Name: WriteTool, About: "Asks a writer for the tool of a near request.", Sections: dialogue,
		Variables: []Variable{asked, {"example", "the tool of another request, as JSON"}, complaint}},
	{Name: WriteRemoval, About: "Asks a writer to leave out of a request what its calls need. The reply is the " +
		"message, or an object with the conversation as \"answer\".", Sections: dialogue,
		Variables: []Variable{asked, {"before", "the conversation before it, a line a message, or nothing"},
			{"tools", "the tools that are needed, a JSON object a line"}, complaint}},
	{Name: WriteDocumentation, About: "Asks a writer for the documentation of a tool.", Sections: dialogue,
		Variables: []Variable{{"function", "its name, code, derived description, parameters and result, as JSON"},
			{"database", "the name of its database"}, {"tables", "the tables of the database"}, complaint}},
	{Name: WriteEndpoint, About: "Asks a writer to propose the endpoint of a query.", Sections: dialogue,
		Variables: []Variable{{"function", "its name, code, derived description, parameters and result, as JSON"},
			{"database", "the name of its database"}, {"tables", "the tables of the database"}, complaint}},
	{Name: JudgeEndpoint, About: "Asks a judge whether the text of an endpoint describes what its code returns.",
		Sections: dialogue, Variables: []Variable{{"code", "the SQL of the endpoint"},
			{"database", "the name of its database"}, {"tables", "the tables of the database"},
			{"documentation", "the written name, description and parameters, as JSON"}}},
	{Name: ReadRequest, About: "Asks a reader which request a written text is.", Sections: dialogue,
		Variables: []Variable{{"text", "that was written"}, {"requests", "numbered requests, a line each"}}},
	{Name: ReadDocumentation, About: "Asks a reader to call a tool by its written documentation.", Sections: dialogue,
		Variables: []Variable{{"documentation", "name, description and parameters, as JSON"},
			{"requests", "numbered requests, a line each"}}},
	{Name: JudgeForm, About: "Asks a judge whether two texts say the same name, number or date in two forms.",
		Sections: dialogue, Variables: []Variable{{"marked", "a text with [[ and ]] around one of them"},
			{"other", "the other text"}}},
}

var (
	asked     = Variable{"request", "what a user asks"}
	complaint = Variable{"complaint", "why the last text was refused; nothing at first. Without it a writer is asked once"}
)

var ofAttempt = []Variable{{"call", "the call, as JSON"}, {"came", "what came back, as JSON"}}

// Texts lists all texts.
func Texts() []Text { return slices.Clone(texts) }

func textNamed(name string) *Text {
	for i := range texts {
		if texts[i].Name == name {
			return &texts[i]
		}
	}
	return nil
}
