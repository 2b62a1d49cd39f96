package condition

import (
	"slices"

	"github.com/seatrial/seatrial/internal/universe"
)

// resultRenamed is spec.result-renamed: a field of the records has a new name. Its look-alike renames a field that
// nothing refers to by name, and the specification says so from the start.
type resultRenamed struct {
	target
	Column  int    `json:"column"` // from 0
	Field   string `json:"field"`
	NewName string `json:"new_name"`
}

func (f *resultRenamed) place(p *placement) *Refusal {
	named := func(s *site, column string) bool {
		return slices.ContainsFunc(s.uses, func(u use) bool { return u.column == column })
	}
	s, column, refused := p.chooseColumn(reasonNoReference, func(s *site, c universe.Column, _ []universe.Value) bool {
		if s.tool.Body.Engine != universe.EngineSQLite {
			return false
		}
		return named(s, c.Name) == (p.variant == VariantFault)
	})
	if refused != nil {
		return refused
	}
	columns := p.columns(s)
	f.Tool, f.Column, f.Field = s.tool.Name, column, columns[column].Name
	f.NewName = f.Field + p.pick("name", "_value", "_out", "_found", "_result")
	for slices.ContainsFunc(columns, func(c universe.Column) bool { return c.Name == f.NewName }) {
		f.NewName += "_2"
	}
	return nil
}

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
	p.Result = &universe.Result{Columns: names, Rows: p.Result.Rows}
	return p, applied(Field{"renamed", jsonText(f.Field)}, Field{"to", jsonText(f.NewName)})
}

// Specify is that of [SpecificationStep].
func (f *resultRenamed) Specify(t *universe.Tool) *universe.Tool {
	return f.returning(t, func(p *universe.Property) {
		if p.Name == f.Field {
			p.Name = f.NewName
		}
	})
}

// Documented is that of [SpecificationStep]: that of the look-alike is.
func (f *resultRenamed) Documented() bool { return f.Variant == VariantLookalike }

// returning copies the specification of the tool with the fields of its records changed.
func (t *target) returning(tool *universe.Tool, change func(p *universe.Property)) *universe.Tool {
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
