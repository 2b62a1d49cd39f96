package condition

import (
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// firstTried is exec.first-tried (Hell or High Water §3.1 and appendix A): the first call of the episode, by its
// position in the message, to a tool of any right path makes that tool fail for good, whatever the arguments; another
// whole path stays up. Target.Tool is the tool of the primary plan that is called first.
type firstTried struct {
	target
	Paths [][]string `json:"paths"` // right paths, each by its tools

	right map[string]bool
}

func (f *firstTried) place(p *placement) *Refusal {
	if p.onHandles() {
		return refusal(reasonOpenPaths)
	}
	f.Paths = p.paths(true)
	sound := p.paths(false)
	f.Tool = p.Plan.Calls[0].Tool
	for _, path := range f.Paths {
		for _, tool := range path {
			if !slices.ContainsFunc(sound, func(other []string) bool { return !slices.Contains(other, tool) }) {
				return refusal(reasonNoOtherPath)
			}
		}
	}
	return nil
}

func (f *firstTried) make(_ FaultInput, m *made) error {
	f.right = toolsOf(f.Paths)
	if f.Variant == VariantLookalike {
		f.retire(m, f.right)
		return nil
	}
	m.step(f)
	return nil
}

// retire has tools say that they will be withdrawn later.
func (t *target) retire(m *made, tools map[string]bool) {
	for _, tool := range sortedKeys(tools) {
		m.step(&remark{target: &target{Tool: tool, name: t.name}, note: retiringNote})
	}
}

func toolsOf(paths [][]string) map[string]bool {
	tools := map[string]bool{}
	for _, path := range paths {
		for _, tool := range path {
			tools[tool] = true
		}
	}
	return tools
}

// Refuse is that of [Refuser].
func (f *firstTried) Refuse(c *Call) (*task.ToolError, *Decision) {
	if !f.right[c.Tool.Name] {
		return nil, nil
	}
	for _, earlier := range c.Earlier {
		if !f.right[earlier] {
			continue
		}
		if earlier != c.Tool.Name {
			return nil, &Decision{}
		}
		break
	}
	return refuseForGood()
}

// allUnavailable is exec.all-unavailable (Hell or High Water §1): every tool of every right path fails for good, so
// that declining is right. Target.Tool is the tool of the primary plan that is called first.
type allUnavailable struct {
	target
	Paths [][]string `json:"paths"`

	right map[string]bool
}

func (f *allUnavailable) place(p *placement) *Refusal {
	if p.onHandles() {
		return refusal(reasonOpenPaths)
	}
	f.Paths, f.Tool = p.paths(true), p.Plan.Calls[0].Tool
	return nil
}

func (f *allUnavailable) make(_ FaultInput, m *made) error {
	f.right = toolsOf(f.Paths)
	switch f.Variant {
	case VariantLookalike:
		f.retire(m, f.right)
	case VariantFault:
		m.step(f)
	}
	return nil
}

// Refuse is that of [Refuser].
func (f *allUnavailable) Refuse(c *Call) (*task.ToolError, *Decision) {
	if !f.right[c.Tool.Name] {
		return nil, nil
	}
	return refuseForGood()
}

// StrikesFirst lists the tools of which an adaptive fault strikes the one that is called first, in their order; nil for
// other conditions.
func (c Condition) StrikesFirst() []string {
	var f firstTried
	if c.Name != "exec.first-tried" || task.DecodeStrict(c.Parameters, &f) != nil || f.Variant != VariantFault {
		return nil
	}
	return sortedKeys(toolsOf(f.Paths))
}
