package reply

import (
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
	"github.com/seatrial/seatrial/internal/task/pattern"
)

// Other forms in which models write the references `$label$` and `$label.column$` (NL2API appendix H.1 shows the
// first).
var looseReferences = []*pattern.Pattern{
	pattern.New(`^\$\{\s*([A-Za-z_]\w*)(?:\.([^$}]+?))?\s*\}\$?$`), // ${label}, ${label.column}
	pattern.New(`^\$([A-Za-z_]\w*)\$\.([^$]+)$`),                   // $label$.column
	pattern.New(`^\$([A-Za-z_]\w*)(?:\.([^$]+))?$`),                // $label, $label.column
}

var (
	bareLabel = pattern.New(`^[A-Za-z_]\w*$`)
	// givenLabel matches a label that the environment assigns to a call without one.
	givenLabel = pattern.New(`^call_[0-9]+$`)
)

// mend puts calls into the form that the environment accepts. If a label appears among the arguments of a tool that has
// no such argument, mend moves it to the call: the model forgot a bracket. It rewrites references in other forms whose
// label names an earlier result, and adds dollar signs to a bare label where the argument can only be a reference.
func (x *ToolIndex) mend(calls []Call, existing []string) {
	known := make(map[string]bool, len(existing)+len(calls))
	for _, label := range existing {
		known[label] = true
	}
	for i := range calls {
		c := &calls[i]
		v := literal.NewReader(string(c.Arguments), false)
		n, err := v.Value()
		if err == nil && n.Kind == literal.ObjectKind {
			changed := x.labelAmong(c, &n)
			for j := range n.Fields {
				f := &n.Fields[j]
				changed = mendReference(&f.Value, known, x.refersOnly(c.Tool, f.Name)) || changed
			}
			if changed {
				if text, err := n.AppendJSON(nil); err == nil {
					c.Arguments = text
				}
			}
		}
		if c.Label != "" {
			known[c.Label] = true
		}
	}
}

// labelAmong moves a label from the arguments of a call to the call.
func (x *ToolIndex) labelAmong(c *Call, n *literal.Node) bool {
	if c.Label != "" || !x.known(c.Tool) || x.parameter(c.Tool, "label") != nil {
		return false
	}
	i := n.Field("label")
	if i < 0 || n.Fields[i].Value.Kind != literal.Text {
		return false
	}
	label := strings.Trim(strings.TrimSpace(n.Fields[i].Value.Text), "$")
	if !task.IsLabel(label) {
		return false
	}
	c.Label = label
	n.Fields = append(n.Fields[:i:i], n.Fields[i+1:]...)
	return true
}

// refersOnly reports whether an argument of a tool that takes data handles can only be a label. Those are the handle
// itself and the second handle, which come first in every such tool, and the handle beside which a getter reads.
func (x *ToolIndex) refersOnly(tool, argument string) bool {
	t := x.Tools[tool]
	if t == nil || t.Parameters == nil || t.Body == nil || t.Body.Engine != task.EngineRelation {
		return false
	}
	if argument == "beside" {
		return true
	}
	for _, p := range t.Parameters.Properties {
		s := p.Schema
		if len(s.Types) != 1 || s.Types[0] != "string" || s.Enum != nil || s.Pattern != "" {
			return false
		}
		if p.Name == argument {
			return true
		}
	}
	return false
}

// mendReference rewrites references in a value and reports whether it changed any.
func mendReference(n *literal.Node, known map[string]bool, bare bool) bool {
	changed := false
	for i := range n.Items {
		changed = mendReference(&n.Items[i], known, false) || changed
	}
	for i := range n.Fields {
		changed = mendReference(&n.Fields[i].Value, known, false) || changed
	}
	if n.Kind != literal.Text {
		return changed
	}
	is := func(label string) bool { return known[label] || givenLabel.MatchString(label) }
	if bare && bareLabel.MatchString(n.Text) && is(n.Text) {
		n.Text = task.Reference{Label: n.Text}.String()
		return true
	}
	for _, form := range looseReferences {
		if m := form.FindStringSubmatch(n.Text); m != nil && is(m[1]) {
			n.Text = task.Reference{Label: m[1], Column: m[2]}.String()
			return true
		}
	}
	return changed
}
