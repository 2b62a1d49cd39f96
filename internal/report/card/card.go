// Package card is the one page that says what a run measured, how, at what cost, and what it does not show. It must
// never open a run.
package card

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/table"
	"github.com/seatrial/seatrial/internal/suite"
)

// Format is the version of the JSON form.
const Format = "seatrial.card/1"

// Card describes a run.
type Card struct {
	Format   string                     `json:"format"`
	Suite    string                     `json:"suite"`
	Digest   string                     `json:"suite_digest"`
	Harness  string                     `json:"harness"` // the Seatrial that built the suite
	Seed     uint64                     `json:"suite_seed"`
	Corpora  []suite.Corpus             `json:"corpora"`
	Counts   suite.Counts               `json:"counts"`
	Settings map[string]json.RawMessage `json:"settings"` // of the run; empty ones are left out
	CostUSD  float64                    `json:"total_cost_usd"`
	Report   *report.Report             `json:"report"`
	Limits   []string                   `json:"limits"`
}

// Of makes the card of a run from its suite, its settings and its report.
func Of(m *suite.Manifest, settings map[string]json.RawMessage, r *report.Report) *Card {
	c := &Card{
		Format: Format, Suite: m.Name, Digest: m.Digest, Harness: m.Generator, Seed: m.Seed, Corpora: m.Corpora,
		Counts: m.Counts, Settings: map[string]json.RawMessage{}, Report: r, Limits: slices.Clone(r.Notes),
	}
	for name, value := range settings {
		if text := string(value); !slices.Contains([]string{`""`, "0", "[]", "false", "null"}, text) {
			c.Settings[name] = value
		}
	}
	for i := range r.Agents {
		a := &r.Agents[i]
		c.CostUSD += a.TotalCostUSD
		if note := report.InvalidNote(a.ID().String(), &a.Summary); note != "" {
			c.Limits = append(c.Limits, note)
		}
		if a.Trials == 1 {
			c.Limits = append(c.Limits, a.ID().String()+": one trial of each instance, so the run does not show how much its "+
				"outcomes vary from trial to trial.")
		}
	}
	if m.Counts.Rejected > 0 {
		c.Limits = append(c.Limits, fmt.Sprintf("%d of %d examples of the corpora are not in the suite, because their "+
			"answers could not be proven.", m.Counts.Rejected, m.Counts.Read))
	}
	if r.Robustness == nil {
		c.Limits = append(c.Limits, "The run has no episode under faults.")
	}
	c.Limits = append(c.Limits, "Tools only read. Results say nothing about tools that write, or about other domains.")
	return c
}

// Markdown writes the card.
func (c *Card) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Card of a run on %s\n\n## What was measured\n\n", table.Escape(table.Clean(c.Suite)))
	fmt.Fprintf(&b, "- suite `%s`, seed %d, built by %s\n", c.Digest, c.Seed, table.Escape(c.Harness))
	for _, corpus := range c.Corpora {
		fmt.Fprintf(&b, "- corpus %s (%s), licence %s, %d examples, digest `%s`\n", table.Escape(corpus.Name), corpus.Kind,
			table.Escape(corpus.Licence), corpus.Examples, corpus.Digest)
	}
	fmt.Fprintf(&b, "- %d examples proven by execution, %d checked without execution; grades need no model\n",
		c.Counts.Proven, c.Counts.Static)
	fmt.Fprintf(&b, "- cost: $%.4f\n\n## Settings\n\n", c.CostUSD)
	for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
		value := strings.ReplaceAll(table.Clean(string(c.Settings[name])), "`", "'")
		fmt.Fprintf(&b, "- %s: `%s`\n", table.Words(name), value)
	}
	b.WriteString("\n")
	for _, t := range c.Report.Tables() {
		b.WriteString(t.Markdown() + "\n")
	}
	b.WriteString("## Validity and limits\n\n")
	for _, limit := range c.Limits {
		b.WriteString("- " + table.Escape(table.Clean(limit)) + "\n")
	}
	return b.String()
}
