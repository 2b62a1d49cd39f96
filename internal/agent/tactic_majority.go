package agent

var majorityTactic = &tactic{
	TacticInfo: TacticInfo{"majority", "two more sources are named: asks them until two agree, and trusts these"},
	judge: func(s *sign) (verdict, bool) {
		if len(s.f.sources()) < 2 {
			return verdict{}, false
		}
		first, known := s.p.second(s, 0)
		if first == nil && known.ask != "" {
			return known, true
		}
		if first != nil && sameRows(s.f, first.finding) {
			return verdict{}, true
		}
		second, known := s.p.second(s, 1)
		if second == nil && known.ask != "" {
			return known, true
		}
		if first != nil && second != nil && sameRows(first.finding, second.finding) {
			return verdict{take: first}, true
		}
		return verdict{}, true
	},
}
