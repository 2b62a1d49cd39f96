package agent

import "regexp"

var newestTactic = &tactic{
	TacticInfo: TacticInfo{"newest",
		"a date stands beside the rows, and another source is named: asks it too, and trusts the newer where they differ"},
	judge: func(s *sign) (verdict, bool) {
		mine, dated := s.f.date()
		if !dated || len(s.f.sources()) == 0 {
			return verdict{}, false
		}
		other, known := s.p.second(s, 0)
		if other == nil {
			return known, known.ask != ""
		}
		theirs, dated := other.finding.date()
		if !dated || sameRows(s.f, other.finding) {
			return verdict{}, dated
		}
		if theirs > mine {
			return verdict{take: other}, true
		}
		return verdict{}, true
	},
}

var isoDate = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)

// date gives the date of a result, as an ISO date: later ones are greater.
func (f *finding) date() (string, bool) {
	for _, m := range f.beside("as_of", "updated", "timestamp", "valid_at", "snapshot") {
		if text, ok := m.value.(string); ok && isoDate.MatchString(text) {
			return text, true
		}
	}
	return "", false
}

// sources lists the other sources that stand beside the rows, by their tools.
func (f *finding) sources() []string {
	var names []string
	for _, m := range f.beside("other_source", "also_from", "alternative") {
		list, _ := m.value.([]any)
		for _, v := range list {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}
