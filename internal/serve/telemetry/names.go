package telemetry

// The names of OpenTelemetry's conventions for generative AI and MCP are unstable, so all that are used are in this
// file. They follow the repository semantic-conventions-genai.
const (
	schemaURL = "https://opentelemetry.io/schemas/gen-ai/1.42.0"

	genOperation       = "gen_ai.operation.name"
	genAgent           = "gen_ai.agent.name"
	genConversation    = "gen_ai.conversation.id"
	genProvider        = "gen_ai.provider.name"
	genRequestModel    = "gen_ai.request.model"
	genResponseModel   = "gen_ai.response.model"
	genInputTokens     = "gen_ai.usage.input_tokens"            //nolint:gosec // no credential
	genOutputTokens    = "gen_ai.usage.output_tokens"           //nolint:gosec // no credential
	genReasoningTokens = "gen_ai.usage.reasoning.output_tokens" //nolint:gosec // no credential
	genCachedTokens    = "gen_ai.usage.cache_read.input_tokens" //nolint:gosec // no credential
	genTool            = "gen_ai.tool.name"
	genToolCall        = "gen_ai.tool.call.id"
	genToolType        = "gen_ai.tool.type"
	genTokenType       = "gen_ai.token.type" //nolint:gosec // no credential
	genEvaluation      = "gen_ai.evaluation.name"
	genEvaluationScore = "gen_ai.evaluation.score.value"
	genEvaluationLabel = "gen_ai.evaluation.score.label"
	genEvaluationWhy   = "gen_ai.evaluation.explanation"
	mcpMethod          = "mcp.method.name"
	rpcRequest         = "jsonrpc.request.id"
	errorType          = "error.type"

	eventEvaluation = "gen_ai.evaluation.result"
	eventFault      = "seatrial.fault" // there is no convention for injected faults

	operationAgent = "invoke_agent"
	operationChat  = "chat"
	operationTool  = "execute_tool"
	methodCall     = "tools/call"

	failedTool = "tool_error" // the error.type of a call whose result says that it failed

	metricDuration = "gen_ai.client.operation.duration" // s
	metricTokens   = "gen_ai.client.token.usage"        //nolint:gosec // no credential
	metricEpisodes = "seatrial.episodes"
)

// Seatrial's own attributes.
const (
	ownSuite      = "seatrial.suite"
	ownInstance   = "seatrial.instance"
	ownTask       = "seatrial.task"
	ownProtocol   = "seatrial.protocol"
	ownArm        = "seatrial.arm"
	ownTrial      = "seatrial.trial"
	ownEnd        = "seatrial.end"
	ownOutcome    = "seatrial.outcome"
	ownValid      = "seatrial.valid"
	ownTurn       = "seatrial.turn"
	ownCost       = "seatrial.cost_usd"
	ownRetry      = "seatrial.retry"
	ownCondition  = "seatrial.fault.condition"
	ownApplied    = "seatrial.fault.applied"
	ownDetail     = "seatrial.fault.detail"
	ownTookEffect = "seatrial.fault.took_effect"
	ownRule       = "seatrial.fault.rule"
	ownSession    = "seatrial.session"

	noAnswer = "no_answer" // the error.type of a call that nothing answered
)
