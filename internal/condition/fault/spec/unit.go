package spec

import (
	"math"
	"strconv"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// Unit is spec.unit: the name of the field or a `units` field says that it is scaled.
var Unit = &fault.Kind{
	Name: "spec.unit", Summary: "a field of numbers is scaled",
	Survival: fault.Survival{
		Hazard:  fault.HazardSpecification,
		Visible: "the name of the field, or a field units beside the records", By: "converting back",
		Parameters: "tool; column; field; factor; sign: name or field", Lookalike: "units of ones",
	},
	New: func() fault.Fault { return &unit{} },
	Proxy: &fault.Proxy{
		Says: "The numbers of a field come in another unit, and the result says so.", Class: fault.ClassResult,
		Settings: []fault.Setting{
			fault.SetField,
			{Name: "factor", Form: fault.FormChoice, Choices: []string{"10", "100", "1000"},
				Says: "The factor of the numbers, 100 by default."},
			{Name: "sign", Form: fault.FormChoice, Choices: []string{signName, signField},
				Says: "Whether the name of the field or a field `units` says so."},
		},
		Make: func(s fault.Settings) fault.Fault {
			factor, _ := strconv.Atoi(s.Text("factor", "100")) // one of the choices
			return &unit{ColumnTarget: fault.ProxyColumn(s), Factor: factor, Sign: s.Text("sign", signField)}
		},
	},
}

type unit struct {
	fault.ColumnTarget
	Factor int    `json:"factor"` // 10, 100 or 1000
	Sign   string `json:"sign"`   // signName or signField
}

const (
	signName  = "name"
	signField = "field"
)

// unitNames are the names of the field that names units.
var unitNames = fault.Phrases{
	"units",
	"unit",
	"scales",
	"units_by_field",
	"field_units",
	"scale",
}

var unitWords = map[int]string{10: "tenths", 100: "hundredths", 1000: "thousandths"}

func (f *unit) Place(p *fault.Placement) string {
	f.Factor = [...]int{10, 100, 1000}[p.Draw("factor").IntN(3)]
	f.Sign = p.Pick("sign", signName, signField)
	return p.ChooseColumn(&f.ColumnTarget, fault.ReasonNoNumber,
		func(_ *fault.Site, c task.Column, values []task.Value) bool {
			if !fault.IsNumeric(c, values) {
				return false
			}
			some := values == nil
			for _, v := range values {
				scaled, ok := f.scale(v)
				if ok && !f.restores(v, scaled) {
					return false // dividing would not return the same value
				}
				some = some || ok
			}
			return some
		})
}

// scale multiplies a number. It leaves zero, and numbers whose product JSON readers would not keep exactly.
func (f *unit) scale(v task.Value) (task.Value, bool) {
	switch v := v.(type) {
	case int64:
		if v == 0 || v > fault.MaxExact/1000 || v < -fault.MaxExact/1000 {
			return v, false
		}
		return v * int64(f.Factor), true
	case float64:
		scaled := v * float64(f.Factor)
		if v == 0 || math.IsInf(scaled, 0) || math.IsNaN(scaled) {
			return v, false
		}
		return scaled, true
	default:
		return v, false
	}
}

func (f *unit) restores(v, scaled task.Value) bool {
	x, real := v.(float64)
	return !real || scaled.(float64)/float64(f.Factor) == x
}

// InBounds reports whether the parameters can be used.
func (f *unit) InBounds() bool { return f.ColumnTarget.InBounds() && unitWords[f.Factor] != "" }

func (f *unit) Double() []fault.Step {
	return f.Fields(fault.Nested(f.Word(unitNames), fault.String(f.Field, "ones")))
}

// ChangeResult implements [fault.ResultStep].
func (f *unit) ChangeResult(c *fault.Call, p fault.Payload) (fault.Payload, *fault.Decision) {
	if !f.Hits(c) {
		return p, nil
	}
	p, changed := p.MapColumn(f.Column, f.scale)
	if changed == 0 {
		return p, &fault.Decision{}
	}
	word, name := unitWords[f.Factor], p.Result.Columns[f.Column]
	if f.Sign == signName {
		p = p.Renamed(f.Column, name+"_in_"+word)
	} else {
		p = p.With(fault.Nested(f.Word(unitNames), fault.String(name, word)))
	}
	return p, fault.Applied(fault.String("field", f.Field), fault.Int("factor", f.Factor), fault.Int("values", changed))
}

func (f *unit) Hint(*fault.Adviser) (string, error) {
	where := "the name of the field then ends in the unit"
	if f.Sign == signField {
		where = fault.Code(f.Word(unitNames)) + " beside the records then names the unit"
	}
	return "The numbers of " + fault.Code(f.Field) + " in the records of " + fault.Code(f.Tool) + " may be scaled: " +
		where + ". Check for it before you use them. Convert back, dividing tenths by ten, hundredths by a hundred and " +
		"thousandths by a thousand; leave zero as it is. Write the converted numbers into later calls and into the " +
		"answer in place of a reference. Where no unit is named, or the unit is ones, nothing is wrong.", nil
}
