package exec

import (
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// settlesPaths marks the kinds that decide which paths fail for good.
const settlesPaths = "paths"

// Unavailable is exec.unavailable.
var Unavailable = &fault.Kind{
	Name: "exec.unavailable", Summary: "a tool fails for good",
	Survival: fault.Survival{
		Hazard:  fault.HazardExecution,
		Visible: "an error that says to use another tool", By: "another plan",
		Parameters: "tool", Lookalike: "a note that the tool will be withdrawn later",
	},
	Settles: settlesPaths, NeedsPaths: true,
	New: func() fault.Fault { return &unavailable{} },
	Proxy: &fault.Proxy{
		Says: "The tool fails, and says that trying again will not help.", Settings: fault.Refusing(), Status: 503,
		Make: func(fault.Settings) fault.Fault { return &unavailable{} },
	},
}

type unavailable struct{ fault.Target }

const (
	unavailableMessage = "The tool is unavailable, and trying again will not help. Use another tool."
	retiringNote       = "This tool will be withdrawn in a later version. It still answers, and the answer is complete."
	hintRetiring       = ", even with a note that it will be withdrawn, its answer is complete and nothing is to be done."
)

func (f *unavailable) Place(p *fault.Placement) string {
	s, reason := p.Choose(func(s *fault.Site) string {
		for _, path := range p.Paths(false) {
			if !slices.ContainsFunc(path, func(tool string) bool { return p.Taken[tool] || tool == s.Tool.Name }) {
				return ""
			}
		}
		return fault.ReasonNoOtherPath
	})
	if reason == "" {
		f.Tool = s.Tool.Name
	}
	return reason
}

func (f *unavailable) Double() []fault.Step { return f.Note(retiringNote) }

// Refuse implements [fault.Refuser].
func (f *unavailable) Refuse(c *fault.Call) (*task.ToolError, *fault.Decision) {
	if !f.Hits(c) {
		return nil, nil
	}
	return refuseForGood()
}

func refuseForGood() (*task.ToolError, *fault.Decision) {
	return &task.ToolError{Code: fault.CodeUnavailable, Message: unavailableMessage}, fault.Applied()
}

func (f *unavailable) Hint(a *fault.Adviser) (string, error) {
	all := a.Sound()
	at := slices.IndexFunc(all, func(tools []string) bool {
		return !slices.ContainsFunc(tools, func(tool string) bool { return a.Gone[tool] })
	})
	if at < 0 {
		return "", fmt.Errorf("no path avoids %q", f.Tool)
	}
	return fault.Code(f.Tool) + " may fail with the error " + fault.Code(fault.CodeUnavailable) +
		". That does not pass: " +
		"do not call it again, whatever the arguments. The same can be had in another way: " + fault.Path(all[at]) +
		". Switch at the first such error, and check by the specifications of the tools you turn to that your calls cover " +
		"every condition of the request. Where " + fault.Code(f.Tool) + " answers" + hintRetiring, nil
}

// FailsForGood implements the question of [fault.Adviser.Gone].
func (f *unavailable) FailsForGood() {}
