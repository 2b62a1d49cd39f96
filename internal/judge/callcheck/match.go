package callcheck

// greedy assigns to each possible answer, in order, the first remaining call that fits it. If the official checker
// stops with an exception on a pair that it reaches, greedy leaves the rest unjudged.
func (e *Entry) greedy(calls []Call, check func(*target, *Call) Verdict) Verdict {
	taken := make([]bool, len(calls))
	for t := range e.targets {
		var failed Verdict
		found := false
		for c := range calls {
			if taken[c] {
				continue
			}
			v := check(&e.targets[t], &calls[c])
			if v.Right {
				taken[c], found = true, true
				break
			}
			if v.Error == Exception {
				return v
			}
			failed = nearer(failed, v)
		}
		if !found {
			return unmatched(failed)
		}
	}
	return right
}

// nearer returns the verdict that better explains why an answer has no call: the first that fails for more than the
// name.
func nearer(a, b Verdict) Verdict {
	if a.Error == "" || a.Error == WrongName && b.Error != WrongName {
		return b
	}
	return a
}

func unmatched(failed Verdict) Verdict {
	return Verdict{Error: NoMatch, Cause: failed.Error, Parameter: failed.Parameter}
}

// assign looks for an assignment of calls to possible answers in which every pair is right: augmenting paths, as in the
// Hungarian method for bipartite graphs. Pairs that need no rule of lenient matching are tried first.
func (e *Entry) assign(calls []Call, check func(*target, *Call) Verdict) Verdict {
	n := len(calls)
	pairs := make([]Verdict, n*n)
	for t := range e.targets {
		for c := range calls {
			pairs[t*n+c] = check(&e.targets[t], &calls[c])
		}
	}
	holder := make([]int, n) // the answer that a call is assigned to, from 1; 0 if unassigned
	seen := make([]bool, n)
	for t := range e.targets {
		clear(seen)
		if !augment(t, n, pairs, holder, seen) {
			var failed Verdict
			for c := range calls {
				if v := pairs[t*n+c]; !v.Right {
					failed = nearer(failed, v)
				}
			}
			return unmatched(failed)
		}
	}
	v := right
	for c, t := range holder {
		v.Rules |= pairs[(t-1)*n+c].Rules
	}
	return v
}

func augment(t, n int, pairs []Verdict, holder []int, seen []bool) bool {
	for _, plain := range []bool{true, false} {
		for c := range n {
			v := &pairs[t*n+c]
			if !v.Right || seen[c] || (v.Rules == 0) != plain {
				continue
			}
			seen[c] = true
			if holder[c] == 0 || augment(holder[c]-1, n, pairs, holder, seen) {
				holder[c] = t + 1
				return true
			}
		}
	}
	return false
}
