package condition

import "github.com/seatrial/seatrial/internal/task"

// unavailable is exec.unavailable: the tool fails for good, and another path of the task does without it.
type unavailable struct {
	target
}

const (
	unavailableMessage = "The tool is unavailable, and trying again will not help. Use another tool."
	retiringNote       = "This tool will be withdrawn in a later version. It still answers, and the answer is complete."
)

func (f *unavailable) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		for _, path := range p.paths(false) {
			if !crosses(path, p.taken, s.tool.Name) {
				return ""
			}
		}
		return reasonNoOtherPath
	})
	if refused != nil {
		return refused
	}
	f.Tool = s.tool.Name
	return nil
}

// crosses says whether a path uses one of the tools.
func crosses(path []string, taken map[string]bool, name string) bool {
	for _, tool := range path {
		if taken[tool] || tool == name {
			return true
		}
	}
	return false
}

func (f *unavailable) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, note: retiringNote})
		return nil
	}
	m.step(f)
	return nil
}

// Refuse is that of [Refuser].
func (f *unavailable) Refuse(c *Call) (*task.ToolError, *Decision) {
	if !f.hits(c) {
		return nil, nil
	}
	return refuseForGood()
}

func refuseForGood() (*task.ToolError, *Decision) {
	return &task.ToolError{Code: CodeUnavailable, Message: unavailableMessage}, applied()
}
