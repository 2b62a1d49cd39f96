package condition

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/seatrial/seatrial/internal/task"
)

// conflict is what conflict.stale, conflict.corrupted, conflict.minority and conflict.pair have in common: several
// sources answer the same, one of them wrongly, and what stands beside the rows tells which. In the fault it is the
// source that the plan uses, in the mirror another one, in the look-alike none.
//
// The other sources are the tools of another plan where the task has one that shares no tool with the primary one, else
// replicas: tools that do the same under another name, which stand in the control variant too.
type conflict struct {
	target
	// Mine lists the tools of the primary plan on whose results the evidence stands; Target.Tool is one of them, whose
	// results are those that can be wrong.
	Mine []string `json:"mine"`
	// Others lists the tools of the other sources in the same way; the last one's results are those that can be wrong.
	Others   []string   `json:"others"`
	Replicas bool       `json:"replicas,omitempty"` // Others are replicas of Target.Tool
	Change   alteration `json:"change"`
	// Wrong is the one of Others that is wrong in the mirror; "" is the last.
	Wrong string `json:"wrong,omitempty"`
}

// alteration is what a wrong source does to rows: it takes away from one column of numbers, or leaves the last row out.
type alteration struct {
	Column int `json:"column"` // from 0, -1 for a row that is left out
	Less   int `json:"less,omitempty"`
}

const (
	fieldOthers = "other_sources"
	fieldAsOf   = "as_of"
)

// placeConflict chooses a call, the other sources and the change.
func (f *conflict) placeConflict(p *placement, replicas int, fits func(s *site) string) (*site, *Refusal) {
	s, refused := p.choose(func(s *site) string {
		switch {
		case !s.delivers():
			return reasonNoRows
		case s.rows == 0:
			return reasonFewRows
		case fits != nil:
			return fits(s)
		default:
			return ""
		}
	})
	if refused != nil {
		return nil, refused
	}
	f.Tool, f.Mine, f.Change = s.tool.Name, []string{s.tool.Name}, alteration{Column: -1}
	if other, mine := p.otherPlan(); other != nil && replicas == 0 {
		f.Mine, f.Others = mine, other
	} else {
		f.Replicas = true
		for n := range max(replicas, 1) {
			f.Others = append(f.Others, p.replicaName(s.tool.Name, n))
		}
	}
	column := p.column(s, func(c task.Column, values []task.Value) bool {
		return isNumeric(c, values) && c.Type != task.TypeText
	})
	if column >= 0 {
		f.Change = alteration{Column: column, Less: 1 + p.draw("less").IntN(9)}
	}
	return s, nil
}

func (p *placement) replicaName(tool string, n int) string {
	name := tool + "_source_" + string(rune('b'+n))
	for p.find(name) != nil {
		name += "_2"
	}
	return name
}

// otherPlan gives the tools of another plan that shares none with the primary one, that of the answer last, and those
// of the primary plan; nil where there is none.
func (p *placement) otherPlan() (other, mine []string) {
	mine = planTools(p.Plan)
	for i := range p.Task.Plans {
		plan := &p.Task.Plans[i]
		if plan.Kind == p.Plan.Kind {
			continue
		}
		other = planTools(plan)
		if !slices.ContainsFunc(other, func(t string) bool { return slices.Contains(mine, t) }) {
			return other, mine
		}
	}
	return nil, mine
}

// planTools lists the tools of a plan, that of the answer last.
func planTools(plan *task.Plan) []string {
	last := ""
	for i := range plan.Calls {
		if plan.Calls[i].Label == plan.Answer {
			last = plan.Calls[i].Tool
		}
	}
	var tools []string
	for i := range plan.Calls {
		if name := plan.Calls[i].Tool; name != last && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	return append(tools, last)
}

func (f *conflict) inBounds() bool {
	return f.Change.Column >= -1 && len(f.Mine) > 0 && len(f.Others) > 0 &&
		(f.Wrong == "" || slices.Contains(f.Others, f.Wrong))
}

// sources adds the replicas.
func (f *conflict) sources(in FaultInput, m *made) error {
	if !f.Replicas {
		return nil
	}
	t := in.tool(f.Tool)
	if t == nil {
		return errNoTool(f.Tool)
	}
	for _, name := range f.Others {
		m.companion(replica(t, name, "Answers what `"+f.Tool+"` answers, from another source. "+t.Description))
	}
	return nil
}

// side says on which side of the conflict a call stands, and whether its rows are to be changed.
func (f *conflict) side(c *Call) (mine, other, wrong bool) {
	mine, other = slices.Contains(f.Mine, c.Tool.Name), slices.Contains(f.Others, c.Tool.Name)
	switch f.Variant {
	case VariantFault:
		wrong = mine && c.Tool.Name == f.Tool
	case VariantMirror:
		wrong = other && c.Tool.Name == cmp.Or(f.Wrong, f.Others[len(f.Others)-1])
	}
	return mine, other, wrong
}

// pointer names the other sources beside the rows of a source.
func (f *conflict) pointer(p Payload, c *Call) Payload {
	var names []string
	switch {
	case f.Replicas:
		for _, name := range append([]string{f.Tool}, f.Others...) {
			if name != c.Tool.Name {
				names = append(names, name)
			}
		}
	case slices.Contains(f.Mine, c.Tool.Name):
		names = f.Others[len(f.Others)-1:]
	default:
		names = f.Mine[len(f.Mine)-1:]
	}
	return p.with(fieldOthers, jsonList(names))
}

// apply makes rows wrong.
func (f *conflict) apply(p Payload) (Payload, int) {
	if f.Change.Column >= 0 {
		if less, n := p.mapColumn(f.Change.Column, f.Change.less); n > 0 {
			return less, n
		}
	}
	n := len(p.Result.Rows)
	if n == 0 {
		return p, 0
	}
	return p.withRows(p.Result.Rows[: n-1 : n-1]), 1
}

func (x alteration) less(v task.Value) (task.Value, bool) {
	switch v := v.(type) {
	case int64:
		if v < -maxExact {
			return v, false
		}
		return v - int64(x.Less), true
	case float64:
		return v - float64(x.Less), v-float64(x.Less) != v
	default:
		return v, false
	}
}

// decision records what was done to the rows of a source.
func (f *conflict) decision(wrong bool, changed int) *Decision {
	if f.Variant == VariantLookalike {
		return applied(Field{"variant", jsonText(VariantLookalike)})
	}
	if !wrong || changed == 0 {
		return &Decision{}
	}
	return applied(Field{"changed", number(changed)})
}

// stale is conflict.stale: a source answers from an older state, and dates tell which. In the look-alike dates differ
// over equal values.
type stale struct {
	conflict
	MineAsOf  string `json:"mine_as_of"`
	OtherAsOf string `json:"others_as_of"`
}

func (f *stale) place(p *placement) *Refusal {
	if _, refused := f.placeConflict(p, 0, nil); refused != nil {
		return refused
	}
	r := p.draw("dates")
	older := date(2024, 1+r.IntN(12), 1+r.IntN(28))
	newer := date(2025, 1+r.IntN(12), 1+r.IntN(28))
	f.MineAsOf, f.OtherAsOf = older, newer
	if p.variant == VariantMirror || p.variant == VariantLookalike && r.IntN(2) == 0 {
		f.MineAsOf, f.OtherAsOf = newer, older
	}
	if p.variant == VariantControl {
		f.MineAsOf = newer
	}
	return nil
}

func date(year, month, day int) string {
	two := func(n int) string { return strconv.Itoa(n/10) + strconv.Itoa(n%10) }
	return strconv.Itoa(year) + "-" + two(month) + "-" + two(day)
}

func (f *stale) make(in FaultInput, m *made) error {
	m.step(f)
	return f.sources(in, m)
}

// ChangeResult is that of [ResultStep].
func (f *stale) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	mine, other, wrong := f.side(c)
	if !mine && !other {
		return p, nil
	}
	changed := 0
	if wrong {
		p, changed = f.apply(p)
	}
	asOf := f.OtherAsOf
	if mine {
		asOf = f.MineAsOf
	}
	return f.pointer(p.with(fieldAsOf, jsonText(asOf)), c), f.decision(wrong, changed)
}

// corrupted is conflict.corrupted: a source lost a row or changed values on the way, and its own count of rows and sum
// of a column, made before, do not fit. Both can be checked by reading. In the look-alike they fit, and a warning
// speaks of an earlier damage.
type corrupted struct {
	conflict
}

const (
	fieldRowCount = "row_count"
	fieldSum      = "control_sum"
)

func (f *corrupted) place(p *placement) *Refusal {
	_, refused := f.placeConflict(p, 0, nil)
	return refused
}

func (f *corrupted) make(in FaultInput, m *made) error {
	m.step(f)
	return f.sources(in, m)
}

// ChangeResult is that of [ResultStep].
func (f *corrupted) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	mine, other, wrong := f.side(c)
	if !mine && !other {
		return p, nil
	}
	before := p
	changed := 0
	if wrong {
		p, changed = f.apply(p)
	}
	p = p.with(fieldRowCount, number(len(before.Result.Rows)))
	name := c.Tool.Name
	if at := f.Change.Column; at >= 0 && at < len(p.Result.Columns) && (name == f.Tool || f.Replicas ||
		name == f.Others[len(f.Others)-1]) {
		if total := sum(before.Result, at); total != nil {
			p = p.with(fieldSum, detail(Field{p.Result.Columns[at], task.AppendValue(nil, total)}))
		}
	}
	if f.Variant == VariantLookalike && name == f.Tool {
		p = p.with("warning", jsonText("An earlier transmission was damaged; this one has been checked."))
	}
	return f.pointer(p, c), f.decision(wrong, changed)
}

// sum adds the numbers of a column in the order of the rows: a whole number where all are, else a real; nil where there
// is no number.
func sum(r *task.Result, column int) task.Value {
	whole, real, wholes, reals := int64(0), 0.0, false, false
	for _, row := range r.Rows {
		switch v := row[column].(type) {
		case int64:
			whole += v
			real += float64(v)
			wholes = true
		case float64:
			real += v
			reals = true
		}
	}
	switch {
	case reals:
		return real
	case wholes:
		return whole
	default:
		return nil
	}
}

// minority is conflict.minority: three sources answer the same, and one of them differs.
type minority struct {
	conflict
}

func (f *minority) place(p *placement) *Refusal {
	if _, refused := f.placeConflict(p, 2, nil); refused != nil {
		return refused
	}
	f.Wrong = f.Others[p.draw("wrong").IntN(len(f.Others))] // so that asking the one named first is no substitute for all
	return nil
}

func (f *minority) make(in FaultInput, m *made) error {
	m.step(f)
	return f.sources(in, m)
}

// ChangeResult is that of [ResultStep].
func (f *minority) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	mine, other, wrong := f.side(c)
	if !mine && !other {
		return p, nil
	}
	changed := 0
	if wrong {
		p, changed = f.apply(p)
	}
	return f.pointer(p, c), f.decision(wrong, changed)
}

// pair is conflict.pair: a source puts two linked fields together from separate lists, and the values of one belong to
// other records. Another tool reads both together. In the look-alike the lists fit; in the mirror it is the other tool
// that puts lists together, and wrongly. In the control variant nobody says how the fields were put together.
type pair struct {
	conflict
	Field string `json:"field"` // whose values are moved on by one record
	Moved int    `json:"moved"` // its column, from 0
}

const (
	fieldAssembly   = "fields_from"
	assemblyLists   = "separate lists, put together by position"
	assemblyRecords = "one record each"
)

func (f *pair) place(p *placement) *Refusal {
	s, refused := f.placeConflict(p, 1, func(s *site) string {
		switch {
		case s.rows < 2:
			return reasonFewRows
		case f.linked(p, s) < 0:
			return reasonNoColumn
		default:
			return ""
		}
	})
	if refused != nil {
		return refused
	}
	f.Moved, f.Change = f.linked(p, s), alteration{Column: -1}
	f.Field = p.columns(s)[f.Moved].Name
	return nil
}

// linked chooses a column whose values differ where they are known, of a result with others.
func (f *pair) linked(p *placement, s *site) int {
	columns := p.columns(s)
	whole := s.answer
	for _, u := range s.uses {
		whole = whole || u.column == "" && u.binding != nil && u.binding.Kind == task.BindTable
	}
	if len(columns) < 2 || !whole {
		return -1
	}
	for _, at := range p.draw("linked").Perm(len(columns)) {
		values := p.values(s, at)
		if values == nil || f.differs(p, s, at) {
			return at
		}
	}
	return -1
}

// differs says whether moving a column of the answer gives other records.
func (f *pair) differs(p *placement, s *site, at int) bool {
	r := &task.Result{Columns: make([]string, len(p.columns(s))), Rows: p.gold.Rows}
	moved := &task.Result{Columns: r.Columns, Rows: movedOn(r.Rows, at)}
	return r.Digest(false) != moved.Digest(false)
}

// movedOn gives rows in which each takes a column's value from the row before it, the first from the last.
func movedOn(rows []task.Row, column int) []task.Row {
	moved := make([]task.Row, len(rows))
	for i, row := range rows {
		moved[i] = slices.Clone(row)
		moved[i][column] = rows[(i+len(rows)-1)%len(rows)][column]
	}
	return moved
}

func (f *pair) inBounds() bool { return f.conflict.inBounds() && f.Moved >= 0 }

func (f *pair) make(in FaultInput, m *made) error {
	if f.Variant != VariantControl {
		m.step(f)
	}
	return f.sources(in, m)
}

// ChangeResult is that of [ResultStep].
func (f *pair) ChangeResult(c *Call, p Payload) (Payload, *Decision) {
	mine, other, wrong := f.side(c)
	if !mine && !other {
		return p, nil
	}
	changed := 0
	if wrong && len(p.Result.Rows) > 1 && f.Moved < len(p.Result.Columns) {
		changed = len(p.Result.Rows)
		p = p.withRows(movedOn(p.Result.Rows, f.Moved))
	}
	from := assemblyRecords
	if lists := f.Variant != VariantMirror; lists == mine {
		from = assemblyLists
	}
	return f.pointer(p.with(fieldAssembly, jsonText(from)), c), f.decision(wrong, changed)
}
