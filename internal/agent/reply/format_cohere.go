package reply

import "regexp"

// cohere puts a list of calls between action tokens.
var cohere = &format{
	name:   "cohere",
	models: "Command R7B, Command A, InternLM2",
	source: "the chat templates of Command R7B and InternLM2",
	mark:   regexp.MustCompile(`<\|START_ACTION\|>|<\|action_start\|>\s*(?:<\|plugin\|>)?`),
	read:   (*reading).envelope,
}
