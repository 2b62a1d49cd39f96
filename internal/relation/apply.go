package relation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/universe"
)

// Operations: what a tool of the slot or sel style does. The names are those of the slot tools (NL2API §3.1, appendix D.1),
// the last two are Seatrial's own.
const (
	Filter    = "filter_data"
	Transform = "transform_data"
	Group     = "group_data_by"
	Aggregate = "aggregate_data"
	Sort      = "sort_data"
	Unique    = "select_unique_values"
	Retrieve  = "retrieve_data"
	Combine   = "combine_data"
	Join      = "join_data"
)

// operations in the order in which agents are shown their tools.
var operations = []struct {
	name  string
	apply func(*call) *Handle
}{
	{Filter, (*call).filter},
	{Transform, (*call).transform},
	{Group, (*call).groupBy},
	{Aggregate, (*call).aggregate},
	{Sort, (*call).sort},
	{Unique, (*call).unique},
	{Retrieve, (*call).retrieve},
	{Combine, (*call).combine},
	{Join, (*call).joinWith},
}

// Check says whether a body names an operation.
func Check(body *universe.Body) error {
	for _, o := range operations {
		if o.name == body.Operation {
			return nil
		}
	}
	return fmt.Errorf("there is no operation %q", body.Operation)
}

// Resolve gives the handle behind a label, or says why there is none.
type Resolve func(label string) (*Handle, *universe.ToolError)

// Apply performs the operation of a tool. Arguments are decoded JSON; a text `$label$` stands for the handle that resolve
// gives, and `$label.key$` for one key of it. The error is the agent's mistake; the first one that is found is told.
func Apply(body *universe.Body, arguments map[string]any, resolve Resolve) (h *Handle, mistake *universe.ToolError) {
	c := &call{arguments: map[string]any{}, fixed: body.Fixed, resolve: resolve, taken: map[string]bool{}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *universe.ToolError:
			h, mistake = nil, r
		default:
			panic(r)
		}
	}()
	flat := body.Fixed["operation_type"] != nil
	for name, v := range arguments {
		if _, bound := body.Fixed[name]; bound {
			c.unknown(name)
		}
		c.arguments[name] = v
	}
	maps.Copy(c.arguments, body.Fixed)
	c.flat = flat
	for _, o := range operations {
		if o.name == body.Operation {
			h = o.apply(c)
			if h.node.size() > maxSize {
				fail(universe.CodeTooLarge, "This expression grows too long: begin with a result that has been retrieved.")
			}
			return h, nil
		}
	}
	return nil, &universe.ToolError{Code: universe.CodeUnsupported, Message: "This tool cannot be run."}
}

// call is one operation on its way. Its methods give up by panicking with the agent's mistake, which Apply recovers.
type call struct {
	arguments map[string]any
	fixed     map[string]any
	flat      bool // a transformation whose operation_args stand among the arguments
	resolve   Resolve
	taken     map[string]bool
}

func fail(code, format string, args ...any) {
	panic(&universe.ToolError{Code: code, Message: fmt.Sprintf(format, args...)})
}

func wrong(format string, args ...any) { fail(universe.CodeWrongType, format, args...) }

func (c *call) unknown(name string) {
	fail(universe.CodeUnknownArgument, "Unknown argument `%s`.", name)
}

// take gives an argument, nil where it is missing. An argument that is null counts as missing where null means nothing.
func (c *call) take(name string) (any, bool) {
	c.taken[name] = true
	v, ok := c.arguments[name]
	return v, ok
}

// done refuses arguments that nobody took.
func (c *call) done() {
	var unknown []string
	for name := range c.arguments {
		if _, bound := c.fixed[name]; !bound && !c.taken[name] {
			unknown = append(unknown, "`"+name+"`")
		}
	}
	if unknown == nil {
		return
	}
	slices.Sort(unknown)
	fail(universe.CodeUnknownArgument, "Unknown argument %s. This tool accepts %s.", strings.Join(unknown, ", "), c.accepted())
}

func (c *call) accepted() string {
	var names []string
	for name := range c.taken {
		if _, bound := c.fixed[name]; !bound {
			names = append(names, "`"+name+"`")
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func missing(name string) {
	fail(universe.CodeMissingArgument, "Missing argument `%s`.", name)
}

func (c *call) text(name string) string {
	v, ok := c.take(name)
	if !ok || v == nil {
		missing(name)
	}
	text, ok := v.(string)
	if !ok {
		wrong("Expected string but got %s for `%s`.", universe.JSONType(v), name)
	}
	return text
}

// choice gives an argument with a closed set of values.
func (c *call) choice(name string, values []string) string {
	text := c.text(name)
	if !slices.Contains(values, text) {
		wrong("Expected one of %s but got `%s` for `%s`.", quoted(values), text, name)
	}
	return text
}

func (c *call) flag(name string) bool {
	v, ok := c.take(name)
	if !ok || v == nil {
		return false
	}
	yes, ok := v.(bool)
	if !ok {
		wrong("Expected boolean but got %s for `%s`.", universe.JSONType(v), name)
	}
	return yes
}

// count gives a whole number, -1 where it is missing.
func (c *call) count(name string) int64 {
	v, ok := c.take(name)
	if !ok || v == nil {
		return -1
	}
	n, ok := whole(v)
	if !ok || n < -1 {
		wrong("Expected a whole number from -1 but got %s for `%s`.", universe.AppendValue(nil, v), name)
	}
	return n
}

func whole(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		if n := int64(v); float64(n) == v && v > -1<<53 && v < 1<<53 {
			return n, true
		}
	}
	return 0, false
}

func quoted(names []string) string {
	return "`" + strings.Join(names, "`, `") + "`"
}

// handle gives the data handle that an argument refers to.
func (c *call) handle(name string) *Handle {
	text := c.text(name)
	ref, ok := universe.ParseReference(text)
	if !ok {
		fail(universe.CodeBadReference, "`%s` must refer to a table by its label, as in `$starting_table$`.", name)
	}
	return c.follow(ref)
}

func (c *call) follow(ref universe.Reference) *Handle {
	h, mistake := c.resolve(ref.Label)
	if mistake != nil {
		panic(mistake)
	}
	if ref.Column == "" {
		return h
	}
	one, mistake := Select(h, ref.Column)
	if mistake != nil {
		panic(mistake)
	}
	return one
}

// source gives the node of data_source.
func (c *call) source() *node { return c.handle("data_source").node }

// Select gives the handle of one key of another, which is what `$label.key$` stands for.
func Select(h *Handle, name string) (*Handle, *universe.ToolError) {
	at := h.node.find(name)
	if at < 0 {
		return nil, unknownKey(h.node, name, "")
	}
	n := h.node
	if n.distinct {
		n = n.wrap()
		at = n.find(name)
	}
	return &Handle{node: n.choose([]int{at}), delivers: h.delivers}, nil
}

func unknownKey(n *node, name, argument string) *universe.ToolError {
	message := fmt.Sprintf("There is no key `%s`.", name)
	if argument != "" {
		message = fmt.Sprintf("There is no key `%s` for `%s`.", name, argument)
	}
	names := n.names()
	if near := nearest(name, names); near != "" {
		message += fmt.Sprintf(" The nearest is `%s`.", near)
	}
	const most = 40
	if len(names) > most {
		names = names[:most]
	}
	return &universe.ToolError{Code: universe.CodeWrongType, Message: message + " Keys: " + quoted(names) + "."}
}

// choose makes a node of the keys at the given positions.
func (n *node) choose(at []int) *node {
	m := n.clone()
	m.keys = nil
	for _, i := range at {
		k := n.keys[i]
		k.visible = true
		m.keys = append(m.keys, k)
	}
	m.retrieved = true
	return m
}

// key gives the position of the key that an argument names.
func (c *call) key(n *node, argument, name string) int {
	at := n.find(name)
	if at < 0 {
		panic(unknownKey(n, name, argument))
	}
	return at
}

// keyList gives the names in an argument that takes a key or a list of keys, nil where it is missing.
func (c *call) keyList(argument string) []string {
	v, ok := c.take(argument)
	if !ok || v == nil {
		return nil
	}
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		names := make([]string, len(v))
		for i, e := range v {
			name, ok := e.(string)
			if !ok {
				wrong("Expected string but got %s in `%s`.", universe.JSONType(e), argument)
			}
			names[i] = name
		}
		if len(names) == 0 {
			wrong("`%s` must name at least one key.", argument)
		}
		return names
	default:
		wrong("Expected string or array but got %s for `%s`.", universe.JSONType(v), argument)
		return nil
	}
}

// operand gives the expression of a value as an agent writes it: a literal, or a reference to the rows of a handle.
func (c *call) operand(argument string, v any) *expression {
	switch v := v.(type) {
	case nil, int64, float64, universe.Blob:
		return bind(v)
	case bool:
		if v {
			return bind(int64(1))
		}
		return bind(int64(0))
	case string:
		ref, ok := universe.ParseReference(v)
		if !ok {
			return bind(universe.UnescapeText(v))
		}
		return sql(c.single(argument, ref))
	default:
		wrong("Expected a single value but got %s for `%s`.", universe.JSONType(v), argument)
		return nil
	}
}

// single gives the rows behind a reference, which must have one key.
func (c *call) single(argument string, ref universe.Reference) *node {
	n := c.follow(ref).node
	if keys := n.visible(); len(keys) != 1 {
		fail(universe.CodeBadReference, "`%s` has %d keys, and `%s` takes one: name it, as in `%s`.",
			ref, len(keys), argument, universe.Reference{Label: ref.Label, Column: n.names()[0]})
	}
	return n
}

// add makes a key of that name, in place of one that is seen under it.
func (n *node) add(name string, value *expression, about universe.Column) *node {
	m := n.clone()
	about.Name = name
	k := key{about: about, visible: true, value: value}
	for i := range m.keys {
		if m.keys[i].visible && m.keys[i].about.Name == name {
			m.keys = slices.Clone(m.keys)
			m.keys[i] = k
			return m
		}
	}
	m.keys = append(m.keys, k)
	return m
}

// newKey gives the name of the key to make.
func (c *call) newKey(otherwise string) string {
	v, ok := c.take("new_key")
	if !ok || v == nil {
		return otherwise
	}
	name, ok := v.(string)
	if !ok || !universe.IsLabel(name) {
		wrong("`new_key` must be a name: a letter or underscore, followed by letters, digits and underscores.")
	}
	return name
}

func (c *call) filter() *Handle {
	n := c.source().plain()
	condition := c.choice("condition", conditions())
	name := c.text("key_name")
	left := n.keys[c.key(n, "key_name", name)].value
	test := c.condition(n, condition, left, c.take)
	c.done()
	if test.level == levelWindow {
		fail(universe.CodeBadArguments, "This key cannot be filtered yet: retrieve it first.")
	}
	m := n.clone()
	if m.grouped {
		m.having = append(m.having, test)
	} else {
		m.where = append(m.where, test)
	}
	return &Handle{node: m}
}

func (c *call) groupBy() *Handle {
	n := c.source().plain()
	if n.grouped {
		n = n.wrap()
	}
	names := c.keyList("key_name")
	if names == nil {
		missing("key_name")
	}
	kind := ""
	if v, ok := c.take("aggregation_type"); ok && v != nil {
		kind = c.choice("aggregation_type", paperAggregations)
	}
	c.done()
	m := n.clone()
	m.grouped, m.order, m.retrieved = true, nil, false
	m.keys = nil
	chosen := map[int]bool{}
	for _, name := range names {
		at := c.key(n, "key_name", name)
		if chosen[at] {
			continue
		}
		chosen[at] = true
		m.keys = append(m.keys, n.keys[at])
		m.group = append(m.group, n.keys[at].value)
	}
	for i, k := range n.keys {
		switch {
		case !k.visible:
		case kind == "":
			k.visible = false // a bare column, or what an aggregate is taken of
			m.keys = append(m.keys, k)
		case !chosen[i]:
			k.value = sql(functions[kind]+"(", k.value, ")").at(levelAggregate)
			k.about = universe.Column{Name: k.about.Name, Type: universe.TypeAny}
			m.keys = append(m.keys, k)
		}
	}
	return &Handle{node: m}
}

func (c *call) aggregate() *Handle {
	n := c.source().plain()
	delivers := !n.grouped
	if !n.grouped {
		n = n.clone()
		n.grouped, n.order, n.retrieved = true, nil, false
		n.keys = slices.Clone(n.keys)
		for i := range n.keys {
			n.keys[i].visible = false
		}
	}
	kind := c.choice("aggregation_type", aggregations)
	name := ""
	if v, ok := c.take("key_name"); ok && v != nil {
		name = c.text("key_name")
	}
	distinct := c.flag("distinct")
	var value *expression
	label := "count"
	if name == "" {
		if kind != "count" {
			missing("key_name")
		}
		value = sql("COUNT(*)")
	} else {
		at := c.key(n, "key_name", name)
		of := n.keys[at].value
		if of.level != levelRow {
			fail(universe.CodeBadArguments, "`%s` is an aggregate already: retrieve it first, then aggregate what was retrieved.", name)
		}
		label = kind + "_" + n.keys[at].about.Name
		open := functions[kind] + "("
		if distinct {
			open += "DISTINCT "
		}
		value = sql(open, of, ")")
		if v, ok := c.take("separator"); ok && v != nil {
			if kind != "group_concat" {
				c.unknown("separator")
			}
			value = sql(open, of, ", ", c.operand("separator", v), ")")
		}
	}
	name = c.newKey(label)
	c.done()
	about := universe.Column{Type: universe.TypeAny}
	if kind == "count" {
		about.Type = universe.TypeInteger
	}
	return &Handle{node: n.add(name, value.at(levelAggregate), about), delivers: delivers}
}

func (c *call) sort() *Handle {
	n := c.source()
	if n.limit != nil || n.offset != nil {
		n = n.wrap()
	}
	at := c.key(n, "key_name", c.text("key_name"))
	v, ok := c.take("ascending")
	if !ok || v == nil {
		missing("ascending")
	}
	ascending := c.flag("ascending")
	nulls := ""
	if v, ok := c.take("nulls"); ok && v != nil {
		nulls = c.choice("nulls", []string{"first", "last"})
	}
	c.done()
	m := n.clone()
	// The sort is stable: what was sorted before decides among equals.
	m.order = append([]orderTerm{{value: n.keys[at].value, descending: !ascending, nulls: nulls}}, n.order...)
	return &Handle{node: m}
}

func (c *call) unique() *Handle {
	h := c.handle("data_source")
	names := c.keyList("key_name")
	if names == nil {
		missing("key_name")
	}
	c.done()
	return c.rows(h, names, true, -1, -1)
}

func (c *call) retrieve() *Handle {
	h := c.handle("data_source")
	names := c.keyList("key_name")
	if names == nil {
		missing("key_name")
	}
	distinct, limit, offset := c.flag("distinct"), c.count("limit"), c.count("offset")
	var beside *Handle
	if v, ok := c.take("beside"); ok && v != nil {
		beside = c.handle("beside")
	}
	c.done()
	if beside != nil {
		if beside.before == nil || beside.before != h.node || beside.node.bounded() {
			fail(universe.CodeBadArguments, "`beside` must be the label of a retrieval of all rows of the same data source.")
		}
		names = append(beside.Keys(), names...)
	}
	return c.rows(h, names, distinct, limit, offset)
}

// rows makes the handle of the keys of that name.
func (c *call) rows(h *Handle, names []string, distinct bool, limit, offset int64) *Handle {
	n := h.node
	if n.bounded() {
		n = n.wrap()
	}
	at := make([]int, len(names))
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			fail(universe.CodeBadArguments, "`key_name` names `%s` twice.", name)
		}
		at[i] = c.key(n, "key_name", name)
	}
	m := n.choose(at)
	m.distinct = distinct
	if limit >= 0 {
		m.limit = &limit
	}
	if offset > 0 {
		m.offset = &offset
	}
	return &Handle{node: m, delivers: true, before: h.node}
}

var setOperators = map[string]string{
	"union": "UNION", "union_all": "UNION ALL", "intersect": "INTERSECT", "except": "EXCEPT",
}

func (c *call) combine() *Handle {
	left, right := c.source(), c.handle("other_source").node
	operator := c.choice("operation_type", slices.Sorted(maps.Keys(setOperators)))
	c.done()
	l, r := left.visible(), right.visible()
	if len(l) != len(r) {
		fail(universe.CodeBadArguments, "The two tables have %d and %d keys: retrieve as many of the one as of the other.", len(l), len(r))
	}
	m := &node{set: &setOperation{operator: setOperators[operator], left: left, right: right}}
	for i, at := range l {
		m.keys = append(m.keys, key{about: left.keys[at].about, visible: true, value: columnOf(i)})
	}
	return &Handle{node: m}
}

var joinWords = map[string]string{"inner": "JOIN", "left": "LEFT JOIN", "cross": "CROSS JOIN"}

func (c *call) joinWith() *Handle {
	left, right := c.source(), c.handle("other_source").node
	kind := c.choice("join_type", slices.Sorted(maps.Keys(joinWords)))
	leftNames, rightNames := c.keyList("key_name"), c.keyList("other_key_name")
	if len(leftNames) != len(rightNames) {
		fail(universe.CodeBadArguments, "`key_name` and `other_key_name` must name as many keys, pair by pair.")
	}
	if kind != "cross" && len(leftNames) == 0 {
		missing("key_name")
	}
	prefix := ""
	if v, ok := c.take("prefix"); ok && v != nil {
		prefix = c.text("prefix")
		if !universe.IsLabel(prefix) {
			wrong("`prefix` must be a name: a letter or underscore, followed by letters, digits and underscores.")
		}
		prefix += "_"
	}
	c.done()
	// Positions of keys are positions of columns: only what is seen goes on.
	l, r := left.choose(left.visible()), right.choose(right.visible())
	join := &joining{kind: joinWords[kind], left: l, right: r}
	for i := range leftNames {
		join.on = append(join.on, [2]int{c.key(l, "key_name", leftNames[i]), c.key(r, "other_key_name", rightNames[i])})
	}
	m := &node{join: join}
	for i := range l.keys {
		m.keys = append(m.keys, key{about: l.keys[i].about, visible: true, value: columnOf(i)})
	}
	for i := range r.keys {
		about := r.keys[i].about
		about.Name = prefix + about.Name
		if m.find(about.Name) >= 0 {
			fail(universe.CodeBadArguments, "Both tables have a key `%s`: give a `prefix` for those of the other one.", about.Name)
		}
		m.keys = append(m.keys, key{about: about, visible: true, value: columnOf(len(l.keys) + i)})
	}
	return &Handle{node: m}
}
