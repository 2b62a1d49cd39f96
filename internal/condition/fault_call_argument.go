package condition

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// meddling is what call.dropped-argument, call.coerced-argument and call.default-argument have in common: middleware
// changes an argument on its way, and the tool answers that other question. Every result echoes the arguments that were
// applied. The strict form of the tool, a companion, takes arguments as they are given.
type meddling struct {
	target
	Argument string `json:"argument"`
	Strict   string `json:"strict"` // the name of the strict form
}

const fieldApplied = "applied_arguments"

// strictName names the strict form of a tool.
func (p *placement) strictName(tool string) string {
	name := tool + "_strict"
	for p.find(name) != nil {
		name += "_2"
	}
	return name
}

// choosePlain chooses a call, and of it an argument that is a plain value and fits.
func (f *meddling) choosePlain(p *placement, fits func(s *site, l literal) bool) *Refusal {
	s, refused := p.choose(func(s *site) string {
		if slices.ContainsFunc(p.literals(s), func(l literal) bool { return p.meddles(s, l) && fits(s, l) }) {
			return ""
		}
		return reasonNoArgument
	})
	if refused != nil {
		return refused
	}
	var chosen literal
	for _, l := range p.literals(s) {
		if !p.meddles(s, l) || !fits(s, l) {
			continue
		}
		// A value that something has to equal makes more of a difference than a bound.
		if b := bindingOf(s.tool, l.name); chosen.name == "" || b != nil && b.Role == task.RoleEqual {
			chosen = l
			if b == nil || b.Role == task.RoleEqual {
				break
			}
		}
	}
	f.Tool, f.Argument, f.Strict = s.tool.Name, chosen.name, p.strictName(s.tool.Name)
	return nil
}

// meddles says whether middleware may change an argument without breaking the call: an operand. Names of keys and of
// operations are none.
func (p *placement) meddles(s *site, l literal) bool {
	if s.tool.Parameters == nil || s.tool.Body == nil {
		return false
	}
	if s.tool.Body.Engine == task.EngineRelation {
		return l.name == "value"
	}
	return true
}

// arrange adds the strict form and what stands for the variant: the steps of the fault, or the echo alone.
func (f *meddling) arrange(in FaultInput, m *made, steps ...Step) error {
	t := in.tool(f.Tool)
	if t == nil {
		return errNoTool(f.Tool)
	}
	m.companion(replica(t, f.Strict,
		"The strict form of `"+f.Tool+"`: arguments reach it exactly as they are given. "+t.Description))
	switch f.Variant {
	case VariantLookalike:
		m.step(&echo{target: &f.target})
	case VariantFault:
		m.steps = append(m.steps, steps...)
	}
	return nil
}

// echo is the look-alike: the arguments are echoed as they were given.
type echo struct{ *target }

// Beside is that of [BesideStep].
func (e *echo) Beside(c *Call, arguments map[string]any) ([]Field, *Decision) {
	if !e.hits(c) {
		return nil, nil
	}
	return []Field{{fieldApplied, echoed(arguments)}}, applied(Field{"variant", jsonText(VariantLookalike)})
}

// echoed writes arguments as they reached the tool.
func echoed(arguments map[string]any) json.RawMessage {
	dst := []byte{'{'}
	for i, name := range sortedNames(arguments) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(task.AppendValue(dst, name), ':')
		dst = append(dst, encode(arguments[name])...)
	}
	return append(dst, '}')
}

// encode writes a decoded JSON value.
func encode(v any) json.RawMessage {
	switch v.(type) {
	case nil, int64, float64, string:
		return task.AppendValue(nil, v)
	}
	written, err := task.Marshal(v)
	if err != nil {
		return json.RawMessage("null") // what was decoded from JSON has a JSON form
	}
	return written
}

// dropped is call.dropped-argument.
type dropped struct {
	meddling
}

func (f *dropped) place(p *placement) *Refusal {
	return f.choosePlain(p, func(s *site, _ literal) bool { return s.tool.Body.Engine == task.EngineSQLite })
}

func (f *dropped) make(in FaultInput, m *made) error { return f.arrange(in, m, f) }

// ChangeValues is that of [ValueStep]: a placeholder without an argument is NULL.
func (f *dropped) ChangeValues(c *Call, values []task.Value) ([]task.Value, *Decision) {
	if !f.hits(c) {
		return values, nil
	}
	changed, differs := values, false
	for i := range c.Tool.Body.Bindings {
		if c.Tool.Body.Bindings[i].Argument != f.Argument || values[i] == nil {
			continue
		}
		if !differs {
			changed, differs = slices.Clone(values), true
		}
		changed[i] = nil
	}
	if !differs {
		return values, &Decision{}
	}
	return changed, applied(Field{"dropped", jsonText(f.Argument)})
}

// Beside is that of [BesideStep].
func (f *dropped) Beside(c *Call, arguments map[string]any) ([]Field, *Decision) {
	if !f.hits(c) {
		return nil, nil
	}
	rest := maps.Clone(arguments)
	delete(rest, f.Argument)
	return []Field{{fieldApplied, echoed(rest)}}, nil
}

// Ways in which middleware coerces a value.
const (
	coerceUpper = "upper" // text in capitals
	coerceLower = "lower" // text in small letters
	coerceZero  = "zero"  // 0, and the text "0"
	coerceOne   = "one"   // 1, and the text "1"
	coerceMost  = "most"  // the largest number that 32 bits hold, and its text
)

// most is where clipped numbers end.
const most = math.MaxInt32

// isLowerBound says whether an argument is what something has to exceed: there a small number changes little.
func isLowerBound(s *site, argument string) bool {
	if s.tool.Body.Engine == task.EngineRelation {
		for _, given := range []any{s.call.Arguments["condition"], s.tool.Body.Fixed["condition"]} {
			if condition, ok := given.(string); ok && strings.Contains(condition, "greater") {
				return true
			}
		}
		return false
	}
	for i := range s.tool.Body.Bindings {
		if s.tool.Body.Bindings[i].Argument != argument {
			continue
		}
		for _, before := range []string{">", ">=", "BETWEEN", "between"} {
			at := strings.Index(s.tool.Body.Statement, fmt.Sprintf("%s ?%d", before, i+1))
			if at >= 0 && !isDigitAt(s.tool.Body.Statement, at+len(before)+2+len(strconv.Itoa(i+1))) {
				return true
			}
		}
	}
	return false
}

func isDigitAt(text string, at int) bool { return at < len(text) && text[at] >= '0' && text[at] <= '9' }

// coerced is call.coerced-argument.
type coerced struct {
	meddling
	How string `json:"how"`
}

func (f *coerced) place(p *placement) *Refusal {
	refused := f.choosePlain(p, func(*site, literal) bool { return true })
	if refused != nil {
		return refused
	}
	for i := range p.Plan.Calls {
		if s := p.site(i); s.call.Tool == f.Tool {
			f.How = coercion(s, s.call.Arguments[f.Argument], f.Argument)
			break
		}
	}
	return nil
}

// coercion chooses a way that changes the value for what compares it: comparisons of patterns do not tell capitals from
// small letters.
func coercion(s *site, value any, argument string) string {
	text, isText := value.(string)
	if isText && !caseless(s, argument) {
		if strings.ToUpper(text) != text {
			return coerceUpper
		}
		if strings.ToLower(text) != text {
			return coerceLower
		}
	}
	switch {
	case isLowerBound(s, argument):
		return coerceMost
	case value == int64(0) || value == float64(0) || text == "0":
		return coerceOne
	default:
		return coerceZero
	}
}

func caseless(s *site, argument string) bool {
	if b := bindingOf(s.tool, argument); b != nil {
		return b.Role == task.RoleLike
	}
	for _, given := range []any{s.call.Arguments["condition"], s.tool.Body.Fixed["condition"]} {
		if condition, ok := given.(string); ok && (strings.Contains(condition, "like") || condition == "contains") {
			return true
		}
	}
	return false
}

func (f *coerced) make(in FaultInput, m *made) error { return f.arrange(in, m, f) }

// ChangeArguments is that of [ArgumentStep].
func (f *coerced) ChangeArguments(
	c *Call, arguments map[string]any,
) (map[string]any, *task.ToolError, *Decision) {
	return f.put(c, arguments, f.coerce)
}

// Beside is that of [BesideStep].
func (f *coerced) Beside(c *Call, arguments map[string]any) ([]Field, *Decision) {
	return f.echo(c, arguments)
}

func (f *coerced) coerce(v any) any {
	switch v := v.(type) {
	case string:
		if _, refers := task.ParseReference(v); refers {
			return v
		}
		switch f.How {
		case coerceUpper:
			return strings.ToUpper(v)
		case coerceLower:
			return strings.ToLower(v)
		case coerceOne:
			return "1"
		case coerceMost:
			return strconv.Itoa(most)
		default:
			return "0"
		}
	case int64, float64:
		switch f.How {
		case coerceOne:
			return int64(1)
		case coerceMost:
			return int64(most)
		default:
			return int64(0)
		}
	default:
		return v
	}
}

// defaulted is call.default-argument.
type defaulted struct {
	meddling
	Default json.RawMessage `json:"default"`
}

func (f *defaulted) place(p *placement) *Refusal {
	refused := f.choosePlain(p, func(*site, literal) bool { return true })
	if refused != nil {
		return refused
	}
	for i := range p.Plan.Calls {
		if s := p.site(i); s.call.Tool == f.Tool {
			f.Default = encode(defaultFor(s, f.Argument))
			break
		}
	}
	return nil
}

// defaultFor gives a value of the argument's type that is not the plan's.
func defaultFor(s *site, argument string) any {
	value := s.call.Arguments[argument]
	if property := s.tool.Parameters.Property(argument); property != nil {
		for _, v := range property.Enum {
			if v != value {
				return v
			}
		}
	}
	switch {
	case value == "default":
		return "standard"
	case isLowerBound(s, argument):
		if _, isText := value.(string); isText {
			return strconv.Itoa(most)
		}
		return int64(most)
	case value == int64(1) || value == float64(1):
		return int64(0)
	}
	if _, isText := value.(string); isText {
		return "default"
	}
	return int64(1)
}

func (f *defaulted) make(in FaultInput, m *made) error { return f.arrange(in, m, f) }

// ChangeArguments is that of [ArgumentStep].
func (f *defaulted) ChangeArguments(
	c *Call, arguments map[string]any,
) (map[string]any, *task.ToolError, *Decision) {
	return f.put(c, arguments, func(v any) any {
		if s, ok := v.(string); ok {
			if _, refers := task.ParseReference(s); refers {
				return v
			}
		}
		fresh, err := task.DecodeValue(f.Default)
		if err != nil {
			return v // parameters are read strictly: this cannot be
		}
		return fresh
	})
}

// Beside is that of [BesideStep].
func (f *defaulted) Beside(c *Call, arguments map[string]any) ([]Field, *Decision) {
	return f.echo(c, arguments)
}

// put changes the argument, and each element of it where it is a list. References are left to stand for what they do.
func (f *meddling) put(
	c *Call, arguments map[string]any, change func(any) any,
) (map[string]any, *task.ToolError, *Decision) {
	given, ok := arguments[f.Argument]
	if !f.hits(c) || !ok {
		return arguments, nil, nil
	}
	fresh := change(given)
	if elements, isList := given.([]any); isList {
		copied := make([]any, len(elements))
		for i, v := range elements {
			copied[i] = change(v)
		}
		fresh = copied
	}
	before, after := encode(given), encode(fresh)
	if string(before) == string(after) {
		return arguments, nil, &Decision{}
	}
	changed := maps.Clone(arguments)
	changed[f.Argument] = fresh
	return changed, nil, applied(Field{"argument", jsonText(f.Argument)}, Field{"given", before}, Field{"applied", after})
}

// echo writes the arguments that were applied.
func (f *meddling) echo(c *Call, arguments map[string]any) ([]Field, *Decision) {
	if !f.hits(c) {
		return nil, nil
	}
	return []Field{{fieldApplied, echoed(arguments)}}, nil
}
