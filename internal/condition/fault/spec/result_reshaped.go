package spec

import "github.com/seatrial/seatrial/internal/condition/fault"

// ResultReshaped is spec.result-reshaped. Later calls cannot refer to the reshaped records.
var ResultReshaped = &fault.Kind{
	Name: "spec.result-reshaped", Summary: "records are nested in an envelope or turned column-wise",
	Survival: fault.Survival{
		Hazard:  fault.HazardSpecification,
		Visible: "the payload", By: "reading what is there",
		Parameters: "tool; shape: envelope or columns", Lookalike: "a version beside records in their old form",
	},
	New: func() fault.Fault { return &resultReshaped{} },
	Proxy: &fault.Proxy{
		Says: "The result is wrapped.", Class: fault.ClassResult,
		Settings: []fault.Setting{{
			Name: "shape", Form: fault.FormChoice, Choices: []string{fault.ShapeEnvelope, fault.ShapeColumns},
			Required: true, Says: "Records nested in an envelope, or turned column-wise.",
		}},
		Make: func(s fault.Settings) fault.Fault { return &resultReshaped{Shape: s.Text("shape", "")} },
	},
}

type resultReshaped struct {
	fault.Target
	Shape string `json:"shape"`
}

func (f *resultReshaped) Place(p *fault.Placement) string {
	s, reason := p.Choose(func(s *fault.Site) string {
		if !s.Delivers() {
			return fault.ReasonNoRows
		}
		return ""
	})
	if reason == "" {
		f.Tool, f.Shape = s.Tool.Name, p.Pick("shape", fault.ShapeEnvelope, fault.ShapeColumns)
	}
	return reason
}

func (f *resultReshaped) Double() []fault.Step { return f.Fields(fault.Int("format_version", 2)) }

// ChangeResult implements [fault.ResultStep].
func (f *resultReshaped) ChangeResult(c *fault.Call, p fault.Payload) (fault.Payload, *fault.Decision) {
	if !f.Hits(c) {
		return p, nil
	}
	p.Shape = f.Shape
	return p, fault.Applied(fault.String("shape", f.Shape))
}

func (f *resultReshaped) Hint(*fault.Adviser) (string, error) {
	where := "nested in an object: the list is under " + fault.Code(fault.FieldData) + ", in " +
		fault.Code(fault.FieldItems)
	if f.Shape == fault.ShapeColumns {
		where = "turned column-wise: under " + fault.Code(fault.FieldColumns) +
			" each field has a list of its values, in the order of the records"
	}
	return "The records of " + fault.Code(f.Tool) + " may come " + where + ". Check the outermost form of the result. " +
		"Nothing is lost, but references do not reach in there: read the values where they are, and write them into " +
		"later calls and into the answer yourself. Where a plain list of records came, whatever stands beside it, " +
		"nothing is wrong.", nil
}
