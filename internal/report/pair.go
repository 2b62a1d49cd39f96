package report

// Units of pairing.
const (
	UnitInstance = "instance"
	UnitTask     = "task"
)

// Pair compares a subject of one run with a subject of another on what both were tried on. Subjects that stand in both
// runs are paired with themselves; where there is none, every subject of one run is paired with every one of the other.
// The unit is the instance; where the runs share none, because they come from different suites, it is the task.
type Pair struct {
	A     Subject `json:"a"`
	B     Subject `json:"b"`
	Unit  string  `json:"unit"`
	Units int     `json:"units"` // with a valid episode on both sides
	Tasks int     `json:"tasks"`
	OnlyA int     `json:"only_a"` // units left out, because the other side has no valid episode of them
	OnlyB int     `json:"only_b"`
	// RateA and RateB are means over the shared units of the share of valid episodes that succeeded.
	RateA *float64 `json:"rate_a"`
	RateB *float64 `json:"rate_b"`
	// Difference is RateB less RateA; its interval is over tasks, as that of rates.
	Difference *float64    `json:"paired_difference"`
	CI95       *[2]float64 `json:"ci95"`
	Method     string      `json:"ci95_method,omitempty"`
	// AOnly and BOnly count the units in which one side alone succeeded, in the first trial that is valid on both; the
	// exact test of McNemar is over them.
	AOnly    int     `json:"a_only"`
	BOnly    int     `json:"b_only"`
	McNemarP float64 `json:"mcnemar_p"`
}

func paired(a, b []group, o Options) []Pair {
	var pairs []Pair
	for i := range a {
		for j := range b {
			s, t := a[i].subject, b[j].subject
			if s.Agent == t.Agent && s.Protocol == t.Protocol && s.Arm == t.Arm {
				pairs = append(pairs, pair(&a[i], &b[j], o))
			}
		}
	}
	if pairs != nil {
		return pairs
	}
	for i := range a {
		for j := range b {
			pairs = append(pairs, pair(&a[i], &b[j], o))
		}
	}
	return pairs
}

func pair(a, b *group, o Options) Pair {
	p := Pair{A: a.subject, B: b.subject, Unit: UnitInstance}
	key := func(r *Row) string { return r.Grade.Instance }
	keys, mine := partition(a.rows, key)
	others, theirs := partition(b.rows, key)
	shared := false
	for _, k := range keys {
		shared = shared || theirs[k] != nil
	}
	if !shared {
		p.Unit = UnitTask
		key = func(r *Row) string { return r.Grade.Task }
		keys, mine = partition(a.rows, key)
		others, theirs = partition(b.rows, key)
	}
	byTask := map[string]cluster{}
	var sumA, sumB float64
	for _, k := range keys {
		rateA, okA := successRate(mine[k])
		rateB, okB := successRate(theirs[k])
		if !okA || !okB {
			if okA {
				p.OnlyA++
			}
			continue
		}
		p.Units++
		sumA, sumB = sumA+rateA, sumB+rateB
		task := mine[k][0].Grade.Task
		c := byTask[task]
		byTask[task] = cluster{sum: c.sum + rateB - rateA, weight: c.weight + 1}
		p.countDiscordant(mine[k], theirs[k])
	}
	for _, k := range others {
		_, okA := successRate(mine[k])
		if _, okB := successRate(theirs[k]); okB && !okA {
			p.OnlyB++
		}
	}
	p.Tasks = len(byTask)
	p.RateA, p.RateB, p.Difference = share(sumA, p.Units), share(sumB, p.Units), ratio(byTask)
	names := append(a.subject.names("pair"), b.subject.names()...)
	p.CI95, p.Method = interval(byTask, -1, o, names)
	p.McNemarP = mcnemar(p.AOnly, p.BOnly)
	return p
}

// countDiscordant compares the first trial that both have a valid episode of. Rows are in the order of their trials
// within an instance.
func (p *Pair) countDiscordant(a, b []Row) {
	switch first, second, ok := firstShared(a, b); {
	case !ok || first == second:
	case first:
		p.AOnly++
	default:
		p.BOnly++
	}
}
