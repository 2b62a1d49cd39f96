package function

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/parameter"
	"github.com/sqlc-dev/meyer/ast"
)

// Variant is an example in which one literal gave way to another value of its column (Hell or High Water, appendix C).
type Variant struct {
	Question string
	SQL      string
	From, To task.Value
}

// maxVariantText is the longest text, in bytes, that a variant puts into a question.
const maxVariantText = 60

// Variants returns up to n variants of an example whose functions are named. A literal is exchanged if it has exactly
// one token-bounded mention in the question and is compared with one column alone; it is exchanged in all its places in
// the SQL together. values returns the different values of a column. The order is drawn from seed and id.
func (d *Draft) Variants(question string, values func(table, column string) []task.Value, seed uint64, id string,
	n int) []Variant {
	var out []Variant
	draw := task.Draw(seed, "variants", id)
	for _, l := range d.Literals(question) {
		if l.End == 0 || l.Column == "" {
			continue
		}
		nodes := d.occurrences(l)
		if nodes == nil {
			continue
		}
		candidates := slices.Clone(values(l.Table, l.Column))
		draw.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
		for _, v := range candidates {
			if !usable(v, l.Value, question) {
				continue
			}
			out = append(out, Variant{
				Question: question[:l.Start] + parameter.Spell(v) + question[l.End:],
				SQL:      splice(d.Query.Source, nodes, v),
				From:     l.Value, To: v,
			})
		}
	}
	draw.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out[:min(n, len(out))]
}

// occurrences lists the nodes that contain a literal, or nil if one of them is compared with another column or is used
// as a pattern or a count, where a value of the column means something else.
func (d *Draft) occurrences(l task.Literal) []ast.Node {
	var nodes []ast.Node
	want := string(task.AppendValue(nil, l.Value))
	for node, p := range d.Parameters {
		if string(task.AppendValue(nil, p.Value)) != want {
			continue
		}
		compared := p.Binding.Role == task.RoleEqual || p.Binding.Role == task.RoleCompare
		if !compared || p.Binding.Table != l.Table || p.Binding.Column != l.Column {
			return nil
		}
		nodes = append(nodes, node)
	}
	slices.SortFunc(nodes, func(a, b ast.Node) int { return a.Pos() - b.Pos() })
	return nodes
}

// usable reports whether a value can take a literal's place in a sentence.
func usable(v, old task.Value, question string) bool {
	if v == nil || v == old {
		return false
	}
	switch v := v.(type) {
	case string:
		if _, wasText := old.(string); !wasText || len(v) > maxVariantText || strings.TrimSpace(v) != v || v == "" {
			return false
		}
		if strings.IndexFunc(v, func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }) >= 0 {
			return false
		}
		if strings.ContainsAny(v, `"$`) || strings.EqualFold(v, old.(string)) {
			return false
		}
	case int64, float64:
		if _, wasText := old.(string); wasText {
			return false
		}
	default:
		return false
	}
	return len(parameter.Mentions(question, v)) == 0
}

// splice writes v in place of the nodes.
func splice(source string, nodes []ast.Node, v task.Value) string {
	var text string
	switch v := v.(type) {
	case string:
		text = sqlast.QuoteText(v)
	case int64:
		text = strconv.FormatInt(v, 10)
	default:
		text = string(task.AppendValue(nil, v))
	}
	var b strings.Builder
	at := 0
	for _, n := range nodes {
		b.WriteString(source[at:n.Pos()])
		b.WriteString(text)
		at = n.End()
	}
	b.WriteString(source[at:])
	return b.String()
}
