package report

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"github.com/seatrial/seatrial/internal/task"
)

// Terminal says what text is written for. The zero value is a pipe: any width, no colours.
type Terminal struct {
	Width  int // in cells; 0 means no limit
	Colour bool
}

// JSON writes the report in the encoding of artefacts, with a newline at the end.
func (r *Report) JSON() ([]byte, error) {
	text, err := task.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(text, '\n'), nil
}

// Text writes the report as aligned tables. Where the terminal is too narrow, columns are left out, those that matter
// least first, and named below the table.
func (r *Report) Text(terminal Terminal) string {
	var b strings.Builder
	for i, t := range r.Tables() {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.text(&b, terminal)
	}
	for _, note := range r.Notes {
		b.WriteString("\n" + note + "\n")
	}
	return b.String()
}

// gap stands between columns.
const gap = "  "

func (t *Table) text(b *strings.Builder, terminal Terminal) {
	shown, left := t.present().fitting(terminal.Width)
	widths := shown.widths()
	bold := func(s string) string {
		if terminal.Colour && s != "" {
			return "\x1b[1m" + s + "\x1b[0m"
		}
		return s
	}
	b.WriteString(bold(t.Title) + "\n\n")
	header := make([]string, len(shown.Columns))
	for i, c := range shown.Columns {
		header[i] = c.Name
	}
	b.WriteString(bold(shown.line(header, widths)) + "\n")
	for _, row := range shown.Cells {
		b.WriteString(shown.line(row, widths) + "\n")
	}
	notes := t.Notes
	if len(left) > 0 {
		notes = append(slices.Clone(notes), "Left out for want of room: "+strings.Join(left, ", ")+".")
	}
	if len(notes) > 0 {
		b.WriteByte('\n')
	}
	for _, note := range notes {
		for _, line := range wrapped(note, terminal.Width) {
			b.WriteString(line + "\n")
		}
	}
}

func (t *Table) line(cells []string, widths []int) string {
	var b strings.Builder
	for i, c := range cells {
		if i > 0 {
			b.WriteString(gap)
		}
		pad := strings.Repeat(" ", max(0, widths[i]-displayWidth(c)))
		if t.Columns[i].Right {
			b.WriteString(pad + c)
		} else {
			b.WriteString(c + pad)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = displayWidth(c.Name)
		for _, row := range t.Cells {
			widths[i] = max(widths[i], displayWidth(row[i]))
		}
	}
	return widths
}

// fitting leaves out columns until the table is no wider than limit, and shortens names where that is not enough. It
// gives the names of the columns that it left out.
func (t Table) fitting(limit int) (Table, []string) {
	var left []string
	if limit <= 0 {
		return t, nil
	}
	for t.width() > limit {
		worst := 0
		for i, c := range t.Columns {
			if c.Rank > 0 && c.Rank >= t.Columns[worst].Rank {
				worst = i
			}
		}
		if len(t.Columns) == 0 || t.Columns[worst].Rank == 0 {
			break
		}
		left = append(left, t.Columns[worst].Name)
		t = t.keeping(func(i int) bool { return i != worst })
	}
	t.shorten(limit)
	slices.Reverse(left)
	return t, left
}

func (t *Table) width() int {
	total := 0
	for i, w := range t.widths() {
		if i > 0 {
			total += len(gap)
		}
		total += w
	}
	return total
}

// minName is the width below which no name is shortened.
const minName = 8

// shorten cuts the widest left-aligned cells until the table fits or nothing is left to cut.
func (t *Table) shorten(limit int) {
	cells := make([][]string, len(t.Cells))
	for i := range cells {
		cells[i] = slices.Clone(t.Cells[i])
	}
	t.Cells = cells
	for excess := t.width() - limit; excess > 0; excess = t.width() - limit {
		widths, widest := t.widths(), -1
		for i, c := range t.Columns {
			if !c.Right && widths[i] > max(minName, displayWidth(c.Name)) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		target := max(minName, displayWidth(t.Columns[widest].Name), widths[widest]-excess)
		for _, row := range t.Cells {
			row[widest] = cut(row[widest], target)
		}
	}
}

// cut shortens a text to a width, with an ellipsis at its end.
func cut(s string, limit int) string {
	if displayWidth(s) <= limit {
		return s
	}
	used := 1
	for i, r := range s {
		if used += runeWidth(r); used > limit {
			return s[:i] + "…"
		}
	}
	return s
}

// displayWidth is the number of cells that a text takes on a terminal (Unicode Standard Annex 11).
func displayWidth(s string) int {
	total := 0
	for _, r := range s {
		total += runeWidth(r)
	}
	return total
}

func runeWidth(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// clean makes a name safe to print: control characters could otherwise steer a terminal or break a row.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

func wrapped(text string, limit int) []string {
	if limit <= 0 {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case displayWidth(line)+1+displayWidth(word) <= limit:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}

// Markdown writes the report as Markdown tables.
func (r *Report) Markdown() string {
	var b strings.Builder
	for i, t := range r.Tables() {
		if i > 0 {
			b.WriteByte('\n')
		}
		t.markdown(&b)
	}
	for _, note := range r.Notes {
		b.WriteString("\n" + note + "\n")
	}
	return b.String()
}

func (t *Table) markdown(b *strings.Builder) {
	shown := t.present()
	b.WriteString("## " + t.Title + "\n\n")
	for _, c := range shown.Columns {
		b.WriteString("| " + markdownText(c.Name) + " ")
	}
	b.WriteString("|\n")
	for _, c := range shown.Columns {
		if c.Right {
			b.WriteString("|---:")
		} else {
			b.WriteString("|---")
		}
	}
	b.WriteString("|\n")
	for _, row := range shown.Cells {
		for _, c := range row {
			b.WriteString("| " + markdownText(strings.TrimSpace(c)) + " ")
		}
		b.WriteString("|\n")
	}
	for _, note := range t.Notes {
		b.WriteString("\n" + markdownText(note) + "\n")
	}
}

var markdownEscapes = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`", "<", "&lt;", "[", `\[`, "^", `\^`)

func markdownText(s string) string { return markdownEscapes.Replace(s) }

// csvHeader names the columns of the CSV form: one for every table, so that one file holds the report.
var csvHeader = []string{
	"table", "run", "agent", "protocol", "arm", "workflow", "condition", "role", "k", "other_run", "other_agent",
	"other_protocol", "other_arm", "episodes", "valid", "successes", "tasks", "rate", "ci95_low", "ci95_high",
	"ci95_method", "lenient_rate", "turns", "calls", "tokens", "cost_usd", "total_cost_usd",
	"invalid_provider", "invalid_internal", "invalid_interrupted", "landed", "recovered", "unlanded_successes",
	"paired_difference", "paired_low", "paired_high", "paired_method", "paired_units", "a_only", "b_only", "mcnemar_p",
	"between_trial_variance",
}

// CSV writes every number of the report, unrounded, one line a row of JSON's lists (and one for each pass^k). Fields
// that a line does not have are empty. Where there are faults, further columns follow those of every report.
func (r *Report) CSV() (string, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	header := csvHeader
	var lines, struck []map[string]string
	if r.Robustness != nil {
		var columns []string
		struck, columns = r.Robustness.csvLines()
		header = slices.Concat(csvHeader, columns)
	}
	if len(r.Checks) > 0 {
		header = slices.Concat(header, checkColumns())
	}
	if err := w.Write(header); err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	for i := range r.Agents {
		lines = append(lines, r.Agents[i].csvLines()...)
	}
	for i := range r.Workflows {
		l := csvLine("workflows", r.Workflows[i].Subject)
		l["workflow"] = r.Workflows[i].Workflow
		r.Workflows[i].csvFields(l)
		lines = append(lines, l)
	}
	for i := range r.Conditions {
		lines = append(lines, r.Conditions[i].csvLine())
	}
	for i := range r.Checks {
		lines = append(lines, r.Checks[i].csvLines()...)
	}
	for i := range r.Pairs {
		lines = append(lines, r.Pairs[i].csvLine())
	}
	for _, l := range append(lines, struck...) {
		record := make([]string, len(header))
		for i, name := range header {
			record[i] = l[name]
		}
		if err := w.Write(record); err != nil {
			return "", fmt.Errorf("report: %w", err)
		}
	}
	w.Flush()
	return b.String(), w.Error()
}

func csvLine(table string, s Subject) map[string]string {
	return map[string]string{"table": table, "run": s.Run, "agent": s.Agent, "protocol": s.Protocol, "arm": s.Arm}
}

func (s *Summary) csvFields(l map[string]string) {
	l["episodes"], l["valid"] = strconv.Itoa(s.Episodes), strconv.Itoa(s.Valid)
	l["successes"], l["tasks"] = strconv.Itoa(s.Successes), strconv.Itoa(s.Tasks)
	l["rate"], l["lenient_rate"] = exact(s.Rate), exact(s.LenientRate)
	l["ci95_low"], l["ci95_high"] = exactInterval(s.CI95)
	l["ci95_method"] = s.Method
	l["turns"], l["calls"] = exact(s.Turns), exact(s.Calls)
	l["tokens"], l["cost_usd"] = exact(s.Tokens), exact(s.CostUSD)
	for _, kind := range []string{"provider", "internal", "interrupted"} {
		l["invalid_"+kind] = strconv.Itoa(s.Invalid[kind])
	}
}

func (a *Agent) csvLines() []map[string]string {
	l := csvLine("agents", a.Subject)
	a.csvFields(l)
	l["total_cost_usd"] = exact(&a.TotalCostUSD)
	l["between_trial_variance"] = exact(a.BetweenTrialVariance)
	lines := []map[string]string{l}
	for _, p := range a.PassHatK {
		l := csvLine("pass_hat_k", a.Subject)
		l["k"], l["rate"], l["paired_units"] = strconv.Itoa(p.K), exact(&p.Estimate), strconv.Itoa(p.Instances)
		lines = append(lines, l)
	}
	return lines
}

func (c *Condition) csvLine() map[string]string {
	l := csvLine("conditions", c.Subject)
	c.csvFields(l)
	l["condition"], l["role"] = c.Condition, c.Role
	l["landed"], l["recovered"] = strconv.Itoa(c.Landed), strconv.Itoa(c.Recovered)
	l["unlanded_successes"] = strconv.Itoa(c.UnlandedSuccesses)
	l["paired_difference"], l["paired_method"] = exact(c.PairedDifference), c.PairedMethod
	l["paired_low"], l["paired_high"] = exactInterval(c.PairedCI95)
	l["paired_units"] = strconv.Itoa(c.PairedTasks)
	return l
}

func (p *Pair) csvLine() map[string]string {
	l := csvLine("pairs", p.A)
	l["other_run"], l["other_agent"], l["other_protocol"], l["other_arm"] = p.B.Run, p.B.Agent, p.B.Protocol, p.B.Arm
	l["tasks"], l["paired_units"] = strconv.Itoa(p.Tasks), strconv.Itoa(p.Units)
	l["paired_difference"], l["paired_method"] = exact(p.Difference), p.Method
	l["paired_low"], l["paired_high"] = exactInterval(p.CI95)
	l["a_only"], l["b_only"], l["mcnemar_p"] = strconv.Itoa(p.AOnly), strconv.Itoa(p.BOnly), exact(&p.McNemarP)
	return l
}

func exact(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

func exactInterval(ci *[2]float64) (low, high string) {
	if ci == nil {
		return "", ""
	}
	return exact(&ci[0]), exact(&ci[1])
}
