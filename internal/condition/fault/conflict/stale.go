package conflict

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/condition/fault"
)

// asOfNames are the names of the date.
var asOfNames = fault.Phrases{
	"as_of",
	"updated_at",
	"data_as_of",
	"last_updated",
	"snapshot_date",
	"valid_at",
}

// Stale is conflict.stale.
var Stale = conflicting(fault.Kind{
	Name: "conflict.stale", Summary: "a source answers from an older state",
	Survival: fault.Survival{
		Visible: "the dates beside the answers of two sources (as_of) differ", By: "trusting the newer",
		Parameters: "tool; mine and others: the tools of the sources; change; mine_as_of; others_as_of",
		Lookalike:  "dates that differ over equal values",
	},
	New: func() fault.Fault { return &stale{} },
	Proxy: &fault.Proxy{ // the proxy keeps the first result itself
		Says:  "The result is that of the first such call of the session, and says so in `as_of`.",
		Class: fault.ClassResult, Alone: true,
	},
})

type stale struct {
	conflict
	MineAsOf  string `json:"mine_as_of"`
	OtherAsOf string `json:"others_as_of"`
}

func (f *stale) Place(p *fault.Placement) string {
	if _, reason := f.place(p, 0, nil); reason != "" {
		return reason
	}
	r := p.Draw("dates")
	// Both are later than the records of the corpora: no source knows of what came after its date.
	date := func(year int) string { return fmt.Sprintf("%d-%02d-%02d", year, 1+r.IntN(9), 1+r.IntN(28)) }
	older, newer := date(2025), date(2026)
	f.MineAsOf, f.OtherAsOf = older, newer
	if p.Variant == fault.VariantMirror || p.Variant == fault.VariantLookalike && r.IntN(2) == 0 {
		f.MineAsOf, f.OtherAsOf = newer, older
	}
	if p.Variant == fault.VariantControl {
		f.MineAsOf = newer
	}
	return ""
}

// ChangeResult implements [fault.ResultStep].
func (f *stale) ChangeResult(c *fault.Call, p fault.Payload) (fault.Payload, *fault.Decision) {
	mine, other, wrong := f.side(c)
	if !mine && !other {
		return p, nil
	}
	changed := 0
	if wrong {
		p, changed = f.apply(p)
	}
	asOf := f.OtherAsOf
	if mine {
		asOf = f.MineAsOf
	}
	return p.With(fault.String(f.Word(asOfNames), asOf), f.othersOf(c.Tool.Name)), f.decision(wrong, changed)
}

func (f *stale) Hint(*fault.Adviser) (string, error) {
	return "There are two sources for the same: " + f.sources() + hintSources + fault.Code(
		f.Word(othersNames),
	) + ". One may " +
		"answer from an older state. Check before you answer: ask both, and compare the records and the date in " +
		fault.Code(
			f.Word(asOfNames),
		) + ". Where the records differ, switch to the source with the later date and use its " +
		"records alone. Where they are the same, the dates mean nothing, and nothing is wrong.", nil
}
