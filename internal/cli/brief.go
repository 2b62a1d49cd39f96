package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/table"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/spf13/cobra"
)

// briefWidth is the widest line of a short answer, in columns.
const briefWidth = 80

func (a *app) fullFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.full, "full", false, "print everything instead of a short answer")
}

// printBrief prints the short answer of a report: a table, what else ended episodes, paired differences, and how to get
// the rest.
func (a *app) printBrief(r *report.Report, runs []report.Run, paths []string) {
	var rows []report.Row
	for _, run := range runs {
		for _, row := range run.Rows {
			if len(runs) > 1 {
				row.Grade.Agent = run.Name + ": " + row.Grade.Agent
			}
			rows = append(rows, row)
		}
	}
	list := tallies(rows)
	a.printf("%s", briefTable(list, a.width()))
	if slices.ContainsFunc(list, func(t tally) bool { return tookEffect(&t) }) {
		a.printf("\nRecovered, noticed and not noticed are shares of the faults that took effect.\n")
	}
	if ends := endings(rows); ends != "" {
		a.printf("\nWithout an answer: %s\n", ends)
	}
	for i, text := range pairSentences(r.Pairs) {
		if i == 0 {
			a.printf("\n")
		}
		a.printf("%s\n", text)
	}
	for _, note := range r.Notes {
		a.printf("\n%s\n", note)
	}
	a.printf("\nIntervals, causes, hazards and kinds: seatrial report %s --full\n", strings.Join(paths, " "))
}

// endings counts the valid episodes that ended in neither an answer nor a judgement, and the invalid ones by reason.
func endings(rows []report.Row) string {
	counts := map[string]int{}
	for i := range rows {
		switch g := &rows[i].Grade; {
		case !g.Valid:
			counts["invalid ("+strings.ReplaceAll(g.Invalid, "_", " ")+")"]++
		case g.Outcome == grade.OutcomeSilent, g.Outcome == grade.OutcomeCrashed, g.Outcome == grade.OutcomeOutOfBudget,
			g.Outcome == grade.OutcomeDeclined, g.Outcome == grade.OutcomeUnread, g.Outcome == grade.OutcomeRefused:
			counts[strings.ReplaceAll(g.Outcome, "_", " ")]++
		}
	}
	return countList(counts)
}

// maxSentences is how many paired differences the short answer states.
const maxSentences = 6

// pairSentences states the paired differences between runs or agents over all kinds.
func pairSentences(pairs []report.Pair) []string {
	var list []string
	for i := range pairs {
		p := &pairs[i]
		if p.Kind != "" || p.Difference == nil || p.CI95 == nil {
			continue
		}
		if len(list) == maxSentences {
			return append(list, "More differences: --full")
		}
		text := fmt.Sprintf("%s less %s, %s: %s points [%s, %s] over %d pairs", p.B.ID(), p.A.ID(), p.Part,
			table.Points(*p.Difference), table.Points(p.CI95[0]), table.Points(p.CI95[1]), p.Units)
		switch {
		case p.Test.P == nil:
		case *p.Test.P < 0.001:
			text += ", p < 0.001"
		default:
			text += fmt.Sprintf(", p = %.3f", *p.Test.P)
		}
		list = append(list, text)
	}
	return list
}

// tally is one agent's line of the short answer. The last three counts add up to landed.
type tally struct {
	agent                                  string
	clean, faulted, other                  share
	landed, recovered, noticed, notNoticed int
	invalid                                int
}

// share is a number of right answers among valid episodes.
type share struct{ right, of int }

func (s *share) add(right bool) {
	s.of++
	if right {
		s.right++
	}
}

func (s share) String() string {
	if s.of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", s.right, s.of)
}

// isClean and isFault choose the episodes that the short answer compares: of a task as it is, and of the same task with
// a fault that can be survived. Look-alikes, mirrors, controls and hopeless instances are neither.
func isClean(r *report.Row) bool { return r.Role == condition.RoleClean && r.Condition == "" }

func isFault(r *report.Row) bool {
	return r.Strike != nil && r.Role == condition.RoleFault && r.Strike.Variant == fault.VariantFault
}

// tallies counts rows by agent, in the order of first; the others follow by name.
func tallies(rows []report.Row, first ...string) []tally {
	byAgent := map[string]*tally{}
	var names []string
	for i := range rows {
		r := &rows[i]
		name := strings.TrimSpace(r.Grade.Agent + " " + r.Grade.Protocol + " " + r.Grade.Arm)
		t := byAgent[name]
		if t == nil {
			t = &tally{agent: name}
			byAgent[name] = t
			names = append(names, name)
		}
		switch g := &r.Grade; {
		case !g.Valid:
			t.invalid++
		case isClean(r):
			t.clean.add(g.Success)
		case isFault(r):
			t.faulted.add(g.Success)
			t.take(g)
		default:
			t.other.add(g.Success)
		}
	}
	slices.SortFunc(names, func(x, y string) int {
		place := func(name string) int {
			if at := slices.Index(first, name); at >= 0 {
				return at
			}
			return len(first)
		}
		return cmp.Or(cmp.Compare(place(x), place(y)), strings.Compare(x, y))
	})
	list := make([]tally, len(names))
	for i, name := range names {
		list[i] = *byAgent[name]
	}
	return list
}

// take counts what the agent did about a fault that took effect.
func (t *tally) take(g *grade.Grade) {
	if !g.Landed {
		return
	}
	t.landed++
	switch {
	case g.Success:
		t.recovered++
	case g.Reaction == nil || g.Reaction.Class == grade.ReactionUnnoticed:
		t.notNoticed++
	default:
		t.noticed++
	}
}

// briefColumn is a column of the short answer: it is shown if any agent has something to show in it.
type briefColumn struct {
	heading string
	cell    func(*tally) string
	used    func(*tally) bool
}

var briefColumns = []briefColumn{
	{"clean", func(t *tally) string { return t.clean.String() }, func(t *tally) bool { return t.clean.of > 0 }},
	{"faulted", func(t *tally) string { return t.faulted.String() }, func(t *tally) bool { return t.faulted.of > 0 }},
	{"took effect", func(t *tally) string { return fmt.Sprint(t.landed) }, tookEffect},
	{"recovered", func(t *tally) string { return t.ofLanded(t.recovered) }, tookEffect},
	{"noticed", func(t *tally) string { return t.ofLanded(t.noticed) }, tookEffect},
	{"not noticed", func(t *tally) string { return t.ofLanded(t.notNoticed) }, tookEffect},
	{"others", func(t *tally) string { return t.other.String() }, func(t *tally) bool { return t.other.of > 0 }},
	{"invalid", func(t *tally) string { return fmt.Sprint(t.invalid) }, func(t *tally) bool { return t.invalid > 0 }},
}

func tookEffect(t *tally) bool { return t.landed > 0 }

func (t *tally) ofLanded(n int) string {
	if t.landed == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(t.landed))
}

// briefTable writes the short answer: a line for each agent, or several lines if one is too wide for the terminal.
func briefTable(list []tally, width int) string {
	var columns []briefColumn
	for _, c := range briefColumns {
		if slices.ContainsFunc(list, func(t tally) bool { return c.used(&t) }) {
			columns = append(columns, c)
		}
	}
	first, wide := len("agent"), 0
	for i := range list {
		first = max(first, utf8.RuneCountInString(list[i].agent))
	}
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = len(c.heading)
		for k := range list {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.cell(&list[k])))
		}
		wide += 2 + widths[i]
	}
	var b strings.Builder
	cells := func(text func(briefColumn) string) {
		for i, c := range columns {
			b.WriteString("  " + pad(text(c), widths[i]))
		}
		b.WriteString("\n")
	}
	switch apart := wide+min(first, 16) > width; {
	case wide > width: // a line for each value
		for i := range list {
			b.WriteString(shorten(list[i].agent, width) + "\n")
			for _, c := range columns {
				fmt.Fprintf(&b, "  %-12s  %s\n", c.heading, c.cell(&list[i]))
			}
		}
	case apart: // names on lines of their own
		cells(func(c briefColumn) string { return c.heading })
		for i := range list {
			b.WriteString(shorten(list[i].agent, width) + "\n")
			cells(func(c briefColumn) string { return c.cell(&list[i]) })
		}
	default:
		first = min(first, width-wide)
		b.WriteString(pad("agent", -first))
		cells(func(c briefColumn) string { return c.heading })
		for i := range list {
			b.WriteString(pad(shorten(list[i].agent, first), -first))
			cells(func(c briefColumn) string { return c.cell(&list[i]) })
		}
	}
	return b.String()
}

// pad fills a text with blanks to a number of characters, on the left or, below zero, on the right.
func pad(text string, width int) string {
	n := utf8.RuneCountInString(text)
	if width < 0 {
		return text + strings.Repeat(" ", max(-width-n, 0))
	}
	return strings.Repeat(" ", max(width-n, 0)) + text
}

// shorten cuts a text to a number of characters, on one line.
func shorten(text string, width int) string {
	runes := []rune(strings.Join(strings.Fields(text), " "))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:max(width-1, 0)]) + "…"
}

// width is how wide a short answer may be: at most 80 columns, and less on a narrower terminal.
func (a *app) width() int {
	if width, terminal := a.Width(a.Out); terminal && width > 0 {
		return min(width, briefWidth)
	}
	return briefWidth
}

// storyOf chooses the episode to tell: a fault that took effect and was not noticed, of an agent that looks at results,
// whose answer to the same task is right without the fault. The clean episode comes first. Both are nil if no episode
// fits.
func storyOf(rows []report.Row, agents ...string) (clean, faulted *report.Row) {
	type key struct{ agent, task, arm string }
	solved := map[key]*report.Row{}
	for i := range rows {
		r := &rows[i]
		if isClean(r) && r.Grade.Success && r.Grade.Calls > 0 {
			solved[key{r.Grade.Agent, r.Grade.Task, r.Grade.Arm}] = r
		}
	}
	best := -1
	for i := range rows {
		r := &rows[i]
		twin := solved[key{r.Grade.Agent, r.Grade.Task, r.Grade.Arm}]
		at := slices.Index(agents, r.Grade.Agent)
		if twin == nil || at < 0 || !isFault(r) || !r.Grade.Landed || r.Grade.Success || r.Grade.Reaction == nil {
			continue
		}
		score := 100 - at
		if r.Grade.Reaction.Class == grade.ReactionUnnoticed {
			score += 1000
		}
		if r.Grade.Difference == task.DiffValues {
			score += 500 // the answer has the right form, and is wrong
		}
		score -= 5 * (r.Grade.Calls + twin.Grade.Calls)
		if score > best {
			best, clean, faulted = score, twin, r
		}
	}
	return clean, faulted
}

// printStory tells an episode in six lines beside the clean episode of the same agent and task.
func (a *app) printStory(ctx context.Context, store *episode.Store, clean, faulted *report.Row, request string) error {
	left, err := store.Episode(ctx, clean.Grade.Episode)
	if err != nil {
		return err
	}
	right, err := store.Episode(ctx, faulted.Grade.Episode)
	if err != nil {
		return err
	}
	l, r := report.Scenes(left.Transcript), report.Scenes(right.Transcript)
	at := 0
	for at+1 < min(len(l), len(r)) && l[at] == r[at] {
		at++
	}
	width := a.width()
	const label = 10
	half := (width - label - 2) / 2
	line := func(name, was, is string) {
		a.printf("%s%s  %s\n", pad(name, -label), pad(shorten(was, half), -half), shorten(is, half))
	}
	kind := strings.Join(faulted.Strike.Kinds, "+")
	a.printf("%s\n", shorten(fmt.Sprintf("One episode of %s: %q", faulted.Grade.Agent, request), width))
	line("", "without a fault", "under "+kind)
	line("call", l[at].Call, r[at].Call)
	line("result", l[at].Result, r[at].Result)
	line("answer", report.AnswerText(left.Transcript), report.AnswerText(right.Transcript))
	line("grade", "right", strings.ReplaceAll(faulted.Grade.Cause, "_", " ")+", "+noticedAs(&faulted.Grade))
	return nil
}

func noticedAs(g *grade.Grade) string {
	if g.Reaction != nil && g.Reaction.Class != grade.ReactionUnnoticed {
		return "noticed"
	}
	return "not noticed"
}
