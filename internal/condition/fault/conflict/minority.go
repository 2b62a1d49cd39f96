package conflict

import "github.com/seatrial/seatrial/internal/condition/fault"

// Minority is conflict.minority.
var Minority = conflicting(fault.Kind{
	Name: "conflict.minority", Summary: "one of three sources differs",
	Survival: fault.Survival{
		Visible: "two other sources are named (other_sources), and asking them shows the difference", By: "the majority",
		Parameters: "tool; mine and others: the tools of the sources; change; wrong: the source that is wrong in the mirror",
		Lookalike:  "three sources that agree",
	},
	New: func() fault.Fault { return &minority{} },
})

type minority struct{ conflict }

func (f *minority) Place(p *fault.Placement) string {
	if _, reason := f.place(p, 2, nil); reason != "" {
		return reason
	}
	// The wrong one is drawn, so that asking only the first source named does not do.
	f.Wrong = f.Others[p.Draw("wrong").IntN(len(f.Others))]
	return ""
}

// ChangeResult implements [fault.ResultStep].
func (f *minority) ChangeResult(c *fault.Call, p fault.Payload) (fault.Payload, *fault.Decision) {
	mine, other, wrong := f.side(c)
	if !mine && !other {
		return p, nil
	}
	changed := 0
	if wrong {
		p, changed = f.changeOne(p)
	}
	return p.With(f.othersOf(c.Tool.Name)), f.decision(wrong, changed)
}

func (f *minority) Hint(*fault.Adviser) (string, error) {
	return "There are three sources for the same: " + f.sources() + hintSources + fault.Code(
		f.Word(othersNames),
	) + ". One " +
		"may differ. Check before you use a result: make the same call to all of them and compare the records. Where one " +
		"differs from the others, use what the other two agree on. Where all agree, nothing is wrong.", nil
}
