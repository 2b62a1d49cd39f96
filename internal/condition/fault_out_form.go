package condition

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// form is what out.wrapped-unit, out.labelled, out.explained and out.number-format have in common: the values of one
// field are written as text in another form. The kinds differ in how one value is written.
type form struct {
	target
	Column int    `json:"column"`
	Field  string `json:"field"`
	With   string `json:"with"` // the unit, the label or the locale; "" for a sentence
}

// Forms of numbers, by their locale: what stands between groups of three digits, and before the fraction.
var locales = map[string]struct{ group, point string }{
	"de-DE": {".", ","},
	"fr-FR": {" ", ","},
	"pt-BR": {".", ","},
}

const (
	kindWrapped   = "out.wrapped-unit"
	kindLabelled  = "out.labelled"
	kindExplained = "out.explained"
	kindNumber    = "out.number-format"

	fieldLocale = "locale"
)

func (f *form) place(p *placement) *Refusal {
	switch f.name {
	case kindWrapped:
		f.With = p.pick("unit", "USD", "EUR", "kg", "km", "h")
	case kindLabelled:
		f.With = p.pick("label", "Answer", "Result", "Value")
	case kindNumber:
		f.With = p.pick("locale", "de-DE", "fr-FR", "pt-BR")
	}
	missing := reasonNoColumn
	if f.name == kindWrapped || f.name == kindNumber {
		missing = reasonNoNumber
	}
	s, column, refused := p.chooseColumn(missing, func(s *site, c task.Column, values []task.Value) bool {
		if missing == reasonNoNumber && !isNumeric(c, values) {
			return false
		}
		if values == nil {
			return f.name != kindNumber || c.Type == task.TypeNumber
		}
		return slices.ContainsFunc(values, func(v task.Value) bool {
			written, differs := f.write(c.Name, v)
			return differs && written != string(task.AppendValue(nil, v)) // text that is the number reads as the number
		})
	})
	if refused != nil {
		return refused
	}
	f.Tool, f.Column, f.Field = s.tool.Name, column, p.columns(s)[column].Name
	return nil
}

func (f *form) inBounds() bool { return f.Column >= 0 }

func (f *form) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, fields: []Field{f.lookalike()}})
		return nil
	}
	m.step(f)
	return nil
}

// lookalike is a field that speaks of another form, over values in their plain one.
func (f *form) lookalike() Field {
	switch f.name {
	case kindWrapped:
		return Field{"unit", detail(Field{f.Field, jsonText(f.With)})}
	case kindLabelled:
		return Field{"label", jsonText(f.With)}
	case kindExplained:
		return Field{"explanation", jsonText("Each record is one finding; the values are given as they are.")}
	default:
		return Field{fieldLocale, jsonText("en-US; numbers are given as JSON numbers")}
	}
}

// ChangeResult is that of [ResultStep].
func (f *form) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	name := ""
	if f.Column < len(p.Result.Columns) {
		name = p.Result.Columns[f.Column]
	}
	p, changed := p.mapColumn(f.Column, func(v task.Value) (task.Value, bool) { return f.write(name, v) })
	if changed == 0 {
		return p, &Decision{}
	}
	p.Columns = slices.Clone(p.Columns)
	p.Columns[f.Column].Type = task.TypeText
	if f.name == kindNumber {
		p = p.with(fieldLocale, jsonText(f.With))
	}
	return p, applied(Field{"field", jsonText(f.Field)}, Field{"values", number(changed)})
}

// write gives a value in the other form, and whether it differs. Missing values and binary data stay.
func (f *form) write(name string, v task.Value) (task.Value, bool) {
	switch f.name {
	case kindWrapped:
		if isNumber(v) {
			return f.With + " " + string(task.AppendValue(nil, v)), true
		}
	case kindNumber:
		if isNumber(v) {
			return formatNumber(v, f.With), true
		}
	case kindLabelled:
		if s, ok := plainText(v); ok {
			return f.With + ": " + s, true
		}
	case kindExplained:
		if _, ok := plainText(v); ok {
			return "The value of " + name + " in this record is " + string(task.AppendValue(nil, v)) + ".", true
		}
	}
	return v, false
}

// isNumber says whether a value is a number that decimal digits can write.
func isNumber(v task.Value) bool {
	switch v := v.(type) {
	case int64:
		return true
	case float64:
		return !math.IsInf(v, 0) && !math.IsNaN(v)
	default:
		return false
	}
}

// plainText writes a number or a text as it is read aloud.
func plainText(v task.Value) (string, bool) {
	if s, ok := v.(string); ok {
		return s, true
	}
	return string(task.AppendValue(nil, v)), isNumber(v)
}

// formatNumber writes a number as a locale does: whole numbers without a fraction, reals with one.
func formatNumber(v task.Value, locale string) string {
	l := locales[locale]
	var digits string
	switch v := v.(type) {
	case int64:
		digits = strconv.FormatInt(v, 10)
	case float64:
		digits = strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(digits, ".") {
			digits += ".0"
		}
	}
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	whole, fraction, real := strings.Cut(digits, ".")
	var b strings.Builder
	b.WriteString(sign)
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteString(l.group)
		}
		b.WriteRune(digit)
	}
	if real {
		b.WriteString(l.point)
		b.WriteString(fraction)
	}
	return b.String()
}
