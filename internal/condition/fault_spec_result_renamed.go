package condition

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// resultRenamed is spec.result-renamed: a field of the records has a new name. It is placed where a later call reads
// the field, and hurts who refers to it by name: a plan that refers to the only field of a result without naming it is
// spelt out by [ByName]. The look-alike renames a field that no call reads, and the specification says so from the
// start.
type resultRenamed struct {
	target
	Column  int    `json:"column"` // from 0
	Field   string `json:"field"`
	NewName string `json:"new_name"`
}

func (f *resultRenamed) place(p *placement) *Refusal {
	s, column, refused := p.chooseColumn(reasonNoReference, func(s *site, c task.Column, _ []task.Value) bool {
		if s.tool.Body.Engine != task.EngineSQLite || !isNameable(c.Name) {
			return false
		}
		if p.variant != VariantFault {
			return len(s.uses) == 0
		}
		return slices.ContainsFunc(s.uses, func(u use) bool {
			only := len(s.tool.Body.Columns) == 1 && u.binding != nil && u.binding.Kind != task.BindTable
			return u.column == c.Name || u.column == "" && only
		})
	})
	if refused != nil {
		return refused
	}
	columns := p.columns(s)
	f.Tool, f.Column, f.Field = s.tool.Name, column, columns[column].Name
	f.NewName = f.Field + p.pick("name", "_value", "_out", "_found", "_result")
	for slices.ContainsFunc(columns, func(c task.Column) bool { return c.Name == f.NewName }) {
		f.NewName += "_2"
	}
	return nil
}

// isNameable says whether a reference can name a column.
func isNameable(column string) bool { return column != "" && !strings.Contains(column, "$") }

// ByName gives a plan that means the same and refers to fields by their names: a reference to the only field of a
// result, `$call_1$`, is spelt out as `$call_1.name$`. It is what shows that spec.result-renamed lands. The plan given
// is not changed.
func ByName(plan *task.Plan, tools []*task.Tool) *task.Plan {
	in := FaultInput{Tools: tools}
	fields, called := map[string]string{}, map[string]*task.Tool{}
	for i := range plan.Calls {
		c := &plan.Calls[i]
		t := in.tool(c.Tool)
		if t == nil || t.Body == nil {
			continue
		}
		called[c.Label] = t
		if columns := t.Body.Columns; t.Body.Engine == task.EngineSQLite && len(columns) == 1 && isNameable(columns[0].Name) {
			fields[c.Label] = columns[0].Name
		}
	}
	spelt := *plan
	spelt.Calls = slices.Clone(plan.Calls)
	for i := range spelt.Calls {
		c := &spelt.Calls[i]
		arguments := make(map[string]any, len(c.Arguments))
		for name, v := range c.Arguments {
			b := bindingOf(called[c.Label], name)
			if b != nil && b.Kind != task.BindTable {
				v = spellOut(v, fields)
			}
			arguments[name] = v
		}
		c.Arguments = arguments
	}
	return &spelt
}

// spellOut names the field in a reference, and in each of a list.
func spellOut(v any, fields map[string]string) any {
	switch v := v.(type) {
	case string:
		if ref, ok := task.ParseReference(v); ok && ref.Column == "" && fields[ref.Label] != "" {
			return task.Reference{Label: ref.Label, Column: fields[ref.Label]}.String()
		}
	case []any:
		spelt := make([]any, len(v))
		for i := range v {
			spelt[i] = spellOut(v[i], fields)
		}
		return spelt
	}
	return v
}

func (f *resultRenamed) inBounds() bool { return f.Column >= 0 }

func (f *resultRenamed) make(_ FaultInput, m *made) error {
	m.asked = true
	if f.Variant != VariantControl {
		m.step(f)
	}
	return nil
}

// ChangeResult is that of [ResultStep].
func (f *resultRenamed) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return p, nil
	}
	if f.Column >= len(p.Result.Columns) {
		return p, &Decision{}
	}
	names := slices.Clone(p.Result.Columns)
	names[f.Column] = f.NewName
	p.Result = &task.Result{Columns: names, Rows: p.Result.Rows}
	return p, f.applied(Field{"renamed", jsonText(f.Field)}, Field{"to", jsonText(f.NewName)})
}

// Specify is that of [SpecificationStep].
func (f *resultRenamed) Specify(t *task.Tool) *task.Tool {
	return f.returning(t, func(p *task.Property) {
		if p.Name == f.Field {
			p.Name = f.NewName
		}
	})
}

// Documented is that of [SpecificationStep]: that of the look-alike is.
func (f *resultRenamed) Documented() bool { return f.Variant == VariantLookalike }

// returning copies the specification of the tool with the fields of its records changed.
func (t *target) returning(tool *task.Tool, change func(p *task.Property)) *task.Tool {
	if tool.Name != t.Tool || tool.Returns == nil || tool.Returns.Items == nil {
		return tool
	}
	changed, returns, items := *tool, *tool.Returns, *tool.Returns.Items
	items.Properties = slices.Clone(items.Properties)
	for i := range items.Properties {
		change(&items.Properties[i])
	}
	returns.Items, changed.Returns = &items, &returns
	return &changed
}
