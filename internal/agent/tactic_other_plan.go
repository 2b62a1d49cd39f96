package agent

var otherPlanTactic = &tactic{
	TacticInfo: TacticInfo{"other-plan",
		"a tool fails for good, or a result cannot be understood or trusted: goes another way to the answer"},
	heal: func(s *sign) (remedy, bool) {
		return remedy{give: s.err.Error()}, true
	},
}
