package report

import (
	"maps"
	"slices"
	"strconv"
)

// Checks is what comparing a subject's calls with right ones showed, where tools cannot be run: of one part of a
// corpus, or with an empty Part of all of them. Episodes are the valid ones that were so compared, under no condition
// of the environment. Errors and rates are those of the first calls, by the rules of the Berkeley Function Calling
// Leaderboard.
type Checks struct {
	Subject
	Part     string   `json:"part,omitempty"`
	Episodes int      `json:"episodes"`
	Strict   *float64 `json:"strict"`  // share of episodes that are right by the official rules
	Matched  *float64 `json:"matched"` // the same, where parallel calls are assigned to possible answers as well as can be
	Lenient  *float64 `json:"lenient"` // the same, with the listed rules for other spellings
	// Classes counts the mistakes of episodes that are not strictly right (RFC §3.2, table 2): syntax, function, count and
	// parameter. Forgiven counts those among them that are right leniently.
	Classes  map[string]int `json:"classes"`
	Forgiven map[string]int `json:"forgiven"`
	Errors   map[string]int `json:"errors,omitempty"` // by the leaderboard's names
	Rules    map[string]int `json:"rules,omitempty"`  // of lenient matching, by episodes that they made right
}

// mistakeClasses are the classes in the order of tables.
var mistakeClasses = []string{"syntax", "function", "count", "parameter"}

// checks summarises the episodes of a subject whose calls were compared with right ones: all of them, and then by part
// where there are several.
func (g *group) checks() []Checks {
	compared := slices.DeleteFunc(slices.Clone(g.rows), func(r Row) bool { return r.Grade.Check == nil })
	if len(compared) == 0 {
		return nil
	}
	list := []Checks{checksOf(g.subject, "", compared)}
	parts, byPart := partition(compared, func(r *Row) string { return r.Grade.Check.Part })
	if len(parts) > 1 {
		for _, part := range parts {
			list = append(list, checksOf(g.subject, part, byPart[part]))
		}
	}
	return list
}

func checksOf(s Subject, part string, rows []Row) Checks {
	c := Checks{Subject: s, Part: part, Episodes: len(rows), Classes: map[string]int{}, Forgiven: map[string]int{}}
	strict, matched, lenient := 0, 0, 0
	for i := range rows {
		g := &rows[i].Grade
		if g.Success {
			strict++
		}
		if g.Check.Matched {
			matched++
		}
		if g.Lenient {
			lenient++
		}
		if g.Check.Error == "" {
			continue
		}
		c.Classes[g.Check.Class]++
		if g.Lenient {
			c.Forgiven[g.Check.Class]++
		}
		c.Errors = counting(c.Errors, g.Check.Error)
		for _, rule := range g.Check.Rules {
			c.Rules = counting(c.Rules, rule)
		}
	}
	c.Strict, c.Matched = share(float64(strict), len(rows)), share(float64(matched), len(rows))
	c.Lenient = share(float64(lenient), len(rows))
	return c
}

func counting(m map[string]int, name string) map[string]int {
	if m == nil {
		m = map[string]int{}
	}
	m[name]++
	return m
}

// checkTables gives the tables of compared calls: rates with classes of mistakes, errors by name, and lenient rules.
func (r *Report) checkTables() []Table {
	if len(r.Checks) == 0 {
		return nil
	}
	rates := Table{
		Title: "Calls compared with right ones",
		Columns: append(subjectColumns(), Column{Name: "part"}, Column{Name: "episodes", Right: true, Rank: 1},
			Column{Name: "strict", Right: true}, Column{Name: "matched", Right: true, Rank: 3}, Column{Name: "lenient",
				Right: true}),
		Notes: []string{"strict: by the leaderboard's rules. matched: with the best assignment of parallel calls. lenient: with other " +
			"spellings of a value. Then mistakes by class, and in brackets how many of them lenient matching forgives."},
	}
	for _, class := range mistakeClasses {
		rates.Columns = append(rates.Columns, Column{Name: class, Right: true})
	}
	causes := Table{
		Title:   "Mistakes in calls",
		Columns: append(subjectColumns(), Column{Name: "error"}, Column{Name: "episodes", Right: true}),
	}
	rules := Table{
		Title:   "Rules that made calls right leniently",
		Columns: append(subjectColumns(), Column{Name: "rule"}, Column{Name: "episodes", Right: true}),
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		part := c.Part
		if part == "" {
			part = "all"
		}
		cells := append(c.cells(), part, strconv.Itoa(c.Episodes), percent(c.Strict), percent(c.Matched), percent(c.Lenient))
		for _, class := range mistakeClasses {
			cell := strconv.Itoa(c.Classes[class])
			if n := c.Forgiven[class]; n > 0 {
				cell += " (" + strconv.Itoa(n) + ")"
			}
			cells = append(cells, cell)
		}
		rates.Cells = append(rates.Cells, cells)
		if c.Part != "" {
			continue
		}
		for _, e := range counted(c.Errors) {
			causes.Cells = append(causes.Cells, append(c.cells(), e.name, strconv.Itoa(e.count)))
		}
		for _, e := range counted(c.Rules) {
			rules.Cells = append(rules.Cells, append(c.cells(), e.name, strconv.Itoa(e.count)))
		}
	}
	tables := []Table{rates}
	for _, t := range []Table{causes, rules} {
		if len(t.Cells) > 0 {
			tables = append(tables, t)
		}
	}
	return tables
}

// checkColumns are those that lines about compared calls add to a report's CSV.
func checkColumns() []string {
	columns := []string{"part", "strict", "matched", "lenient"}
	for _, class := range mistakeClasses {
		columns = append(columns, class, class+"_forgiven")
	}
	return append(columns, "error", "rule")
}

// csvLines writes rates and classes, and a line for each error and each rule.
func (c *Checks) csvLines() []map[string]string {
	line := func() map[string]string {
		l := csvLine("checks", c.Subject)
		l["part"], l["episodes"] = c.Part, strconv.Itoa(c.Episodes)
		return l
	}
	l := line()
	l["strict"], l["matched"], l["lenient"] = exact(c.Strict), exact(c.Matched), exact(c.Lenient)
	for _, class := range mistakeClasses {
		l[class], l[class+"_forgiven"] = strconv.Itoa(c.Classes[class]), strconv.Itoa(c.Forgiven[class])
	}
	lines := []map[string]string{l}
	for _, list := range []struct {
		column string
		counts map[string]int
	}{{"error", c.Errors}, {"rule", c.Rules}} {
		for _, name := range slices.Sorted(maps.Keys(list.counts)) {
			l := line()
			l["table"], l[list.column], l["episodes"] = "checks_"+list.column, name, strconv.Itoa(list.counts[name])
			lines = append(lines, l)
		}
	}
	return lines
}
