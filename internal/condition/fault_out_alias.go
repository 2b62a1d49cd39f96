package condition

import (
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// alias is out.alias: the values of a field come as codes, and a legend beside the records says what each stands for.
type alias struct {
	target
	Column int    `json:"column"`
	Field  string `json:"field"`
	Prefix string `json:"prefix"` // of the codes
}

const fieldLegend = "legend"

func (f *alias) place(p *placement) *Refusal {
	s, column, refused := p.chooseColumn(reasonNoColumn, func(_ *site, _ task.Column, values []task.Value) bool {
		return values == nil || slices.ContainsFunc(values, func(v task.Value) bool {
			_, ok := plainText(v)
			return ok
		})
	})
	if refused != nil {
		return refused
	}
	f.Tool, f.Column, f.Field = s.tool.Name, column, p.columns(s)[column].Name
	f.Prefix = p.pick("prefix", "C", "K", "V", "Z")
	return nil
}

func (f *alias) inBounds() bool { return f.Column >= 0 && f.Prefix != "" }

func (f *alias) make(_ FaultInput, m *made) error {
	if f.Variant == VariantLookalike {
		m.step(&remark{target: &f.target, fields: []Field{
			{fieldLegend, detail(Field{f.Field, detail(Field{f.Prefix + "-0", jsonText("not yet assigned")})})},
		}})
		return nil
	}
	m.step(f)
	return nil
}

// ChangeResult is that of [ResultStep].
func (f *alias) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	if f.Column >= len(p.Result.Columns) {
		return p, &Decision{}
	}
	prefix := f.unused(p.Result)
	codes := map[task.Value]string{}
	var legend []Field
	p, changed := p.mapColumn(f.Column, func(v task.Value) (task.Value, bool) {
		if _, ok := plainText(v); !ok {
			return v, false
		}
		code, known := codes[v]
		if !known {
			code = prefix + strconv.Itoa(len(codes)+1)
			codes[v] = code
			legend = append(legend, Field{code, task.AppendValue(nil, v)})
		}
		return code, true
	})
	if changed == 0 {
		return p, &Decision{}
	}
	p.Columns = slices.Clone(p.Columns)
	p.Columns[f.Column].Type = task.TypeText
	p = p.with(fieldLegend, detail(Field{p.Result.Columns[f.Column], detail(legend...)}))
	return p, applied(Field{"field", jsonText(f.Field)}, Field{"codes", number(len(codes))})
}

// unused gives a prefix with which no value of the column begins.
func (f *alias) unused(r *task.Result) string {
	prefix := f.Prefix
	for slices.ContainsFunc(r.Rows, func(row task.Row) bool {
		s, ok := row[f.Column].(string)
		return ok && strings.HasPrefix(s, prefix)
	}) {
		prefix += f.Prefix
	}
	return prefix
}
