package condition

import (
	"math"
	"slices"

	"github.com/seatrial/seatrial/internal/task"
)

// unit is spec.unit: a field of numbers is scaled, and the name of the field or a `units` field says so.
type unit struct {
	target
	Column int    `json:"column"`
	Field  string `json:"field"`
	Factor int    `json:"factor"` // 10, 100 or 1000
	Sign   string `json:"sign"`   // signName or signField
}

const (
	signName  = "name"
	signField = "field"

	fieldUnits = "units"
)

var unitWords = map[int]string{10: "tenths", 100: "hundredths", 1000: "thousandths"}

func (f *unit) place(p *placement) *Refusal {
	f.Factor = [...]int{10, 100, 1000}[p.draw("factor").IntN(3)]
	s, column, refused := p.chooseColumn(reasonNoNumber, func(_ *site, c task.Column, values []task.Value) bool {
		if !isNumeric(c, values) {
			return false
		}
		some := values == nil
		for _, v := range values {
			scaled, ok := f.scale(v)
			if ok && !f.restores(v, scaled) {
				return false // dividing would not give the value again
			}
			some = some || ok
		}
		return some
	})
	if refused != nil {
		return refused
	}
	f.Tool, f.Column, f.Field = s.tool.Name, column, p.columns(s)[column].Name
	f.Sign = p.pick("sign", signName, signField)
	return nil
}

// scale multiplies a number; zero, and what would leave the numbers that JSON readers keep exactly, stay.
func (f *unit) scale(v task.Value) (task.Value, bool) {
	switch v := v.(type) {
	case int64:
		if v == 0 || v > maxExact/1000 || v < -maxExact/1000 {
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

// maxExact bounds the whole numbers that every JSON reader keeps exactly.
const maxExact = 1 << 53

func (f *unit) restores(v, scaled task.Value) bool {
	x, real := v.(float64)
	return !real || scaled.(float64)/float64(f.Factor) == x
}

func (f *unit) inBounds() bool { return f.Column >= 0 && unitWords[f.Factor] != "" }

func (f *unit) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, fields: []Field{{fieldUnits, detail(Field{f.Field, jsonText("ones")})}}})
		return nil
	}
	m.step(f)
	return nil
}

// ChangeResult is that of [ResultStep].
func (f *unit) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	p, changed := p.mapColumn(f.Column, f.scale)
	if changed == 0 {
		return p, &Decision{}
	}
	word := unitWords[f.Factor]
	name := p.Result.Columns[f.Column]
	if f.Sign == signName {
		names := slices.Clone(p.Result.Columns)
		names[f.Column] = name + "_in_" + word
		p.Result = &task.Result{Columns: names, Rows: p.Result.Rows}
	} else {
		p = p.with(fieldUnits, detail(Field{name, jsonText(word)}))
	}
	return p, applied(Field{"field", jsonText(f.Field)}, Field{"factor", number(f.Factor)},
		Field{"values", number(changed)})
}
