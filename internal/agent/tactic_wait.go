package agent

import (
	"regexp"
	"strconv"
)

var waitTactic = &tactic{
	TacticInfo: TacticInfo{"wait", "an error states a wait in turns: lets them pass, doing other work, and makes the call again"},
	heal: func(s *sign) (remedy, bool) {
		turns, ok := waitIn(s.err.Message)
		return remedy{wait: turns}, ok
	},
}

var waitPattern = regexp.MustCompile(`(?i)\b(\d{1,3}) (?:more )?(?:turns?|steps?|rounds?)\b`)

// maxWait bounds the turns that the policy waits at once.
const maxWait = 20

// waitIn reads how many turns an error asks to wait.
func waitIn(message string) (int, bool) {
	m := waitPattern.FindStringSubmatch(message)
	if m == nil || !holds(message, "again", "wait", "after", "retry", "quota", "rate") {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return max(n, 1), err == nil && n <= maxWait
}
