package condition

// missingTools is distractors-only (Hell or High Water §5): the toolkit of the instance has none of the right tools, so
// that declining is right. It does nothing to a call; what is shown is the instance's own toolkit. Target.Tool is the
// tool of the primary plan that is called first.
type missingTools struct {
	target
}

func (f *missingTools) place(p *placement) *Refusal {
	if p.onHandles() {
		return refusal(reasonOpenPaths)
	}
	f.Tool = p.Plan.Calls[0].Tool
	return nil
}

func (f *missingTools) make(FaultInput, *made) error { return nil }
