package recovery

var readTogetherTactic = &tactic{
	TacticInfo: TacticInfo{"read-together",
		"fields come from separate lists: checks with a source that reads them together, and trusts that"},
	judge: func(s *sign) (verdict, bool) {
		from, ok := s.f.text("fields_from", "assembl", "joined_by", "put_together")
		if !ok {
			return verdict{}, false
		}
		if !isApart(from) {
			return verdict{}, true
		}
		other, known := s.p.second(s, 0)
		if other == nil {
			return known, known != verdict{}
		}
		if theirs, ok := other.finding.text("fields_from", "assembl", "joined_by", "put_together"); ok && !isApart(theirs) {
			return verdict{take: other}, true
		}
		return verdict{}, false
	},
}

// isApart reports whether fields were read separately.
func isApart(from string) bool {
	return contains(from, "separate", "position", "different lists", "independent")
}
