package condition

import "github.com/seatrial/seatrial/internal/task"

// Plant puts two kinds into the catalogue that no certificate may pass, and gives a function that takes them out again.
func Plant() (names []string, remove func()) {
	was := catalogue
	catalogue = append(append([]entry{}, was...),
		execution("exec.planted-fatal", "every tool fails for good", func() fault { return &plantedFatal{} }, 1, Survival{
			Visible: "an error", By: "nothing", Parameters: "tool",
		}),
		output("out.planted-nothing", "nothing is changed", func() fault { return &plantedNothing{} }, Survival{
			Visible: "nothing", By: "nothing", Parameters: "tool",
		}),
	)
	return []string{"exec.planted-fatal", "out.planted-nothing"}, func() { catalogue = was }
}

// plantedFatal cannot be survived, and does not say that it is hopeless.
type plantedFatal struct{ target }

func (f *plantedFatal) place(p *placement) *Refusal {
	f.Tool = p.Plan.Calls[0].Tool
	return nil
}

func (f *plantedFatal) make(_ FaultInput, m *made) error {
	m.step(f)
	return nil
}

func (*plantedFatal) hint(*adviser) (string, error) { return "Nothing helps.", nil }

func (f *plantedFatal) Refuse(*Call) (*task.ToolError, *Decision) { return refuseForGood() }

// plantedNothing never lands, and says that it was applied.
type plantedNothing struct{ target }

func (f *plantedNothing) place(p *placement) *Refusal {
	f.Tool = p.Plan.Calls[0].Tool
	return nil
}

func (f *plantedNothing) make(_ FaultInput, m *made) error {
	m.step(f)
	return nil
}

func (f *plantedNothing) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	return p, applied()
}

func (*plantedNothing) hint(*adviser) (string, error) { return "Nothing happens.", nil }
