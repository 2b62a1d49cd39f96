package recovery

import (
	"math"
)

var checksumTactic = &tactic{
	TacticInfo: TacticInfo{"checksum",
		"the result states a count or a sum: checks it, and takes another source if the rows differ"},
	judge: func(s *sign) (verdict, bool) {
		fits, stated := s.f.addsUp()
		if !stated {
			return verdict{}, false
		}
		if fits {
			return verdict{}, true
		}
		other, known := s.p.second(s, 0)
		if other == nil && known.ask != "" {
			return known, true
		}
		if other != nil {
			if fits, _ := other.finding.addsUp(); fits {
				return verdict{take: other}, true
			}
		}
		return verdict{doubt: "what it says of its rows does not fit them"}, true
	},
}

// addsUp compares the rows with their stated number and sums. It also reports whether anything is stated.
func (f *finding) addsUp() (fits, stated bool) {
	fits = true
	for _, m := range f.beside("row_count", "total_rows", "num_rows") {
		if n, ok := m.Value.(int64); ok {
			fits, stated = fits && n == int64(len(f.rows)), true
		}
	}
	for column := range f.names {
		total, ok := f.ofColumn(column, "control_sum", "checksum")
		if !ok {
			continue
		}
		fits, stated = fits && f.sumIs(column, total), true
	}
	return fits, stated
}

// sumTolerance is the relative difference up to which two sums of reals are equal: values that were scaled and scaled
// back may differ in their last digit.
const sumTolerance = 1e-12

func (f *finding) sumIs(column int, total any) bool {
	whole, real, magnitude, reals := int64(0), 0.0, 0.0, false
	for _, row := range f.rows {
		switch v := row[column].(type) {
		case int64:
			whole += v
			real += float64(v)
			magnitude += math.Abs(float64(v))
		case float64:
			real += v
			magnitude += math.Abs(v)
			reals = true
		}
	}
	switch total := total.(type) {
	case int64:
		if !reals {
			return total == whole
		}
		return math.Abs(float64(total)-real) <= sumTolerance*magnitude
	case float64:
		return total == real || math.Abs(total-real) <= sumTolerance*magnitude
	default:
		return true
	}
}
