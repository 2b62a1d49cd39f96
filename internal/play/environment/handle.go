package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/tools/relation"
)

// previewRows is how many rows of a data handle a preview shows.
const previewRows = 3

// unread is a data handle whose rows nobody asked for, with the event of the call that made it.
type unread struct {
	event  int
	handle *relation.Handle
}

// Settled remembers the digests of data handles by their identity. It is safe for concurrent use and bounded: beyond
// its size nothing more is remembered.
type Settled struct {
	mu    sync.Mutex
	known map[string]*settlement
}

// settlement is what a data handle gives on the world and on its neighbours.
type settlement struct {
	digest    string
	rows      int
	neighbour []string
	timeouts  int
}

// maxSettled bounds how many data handles are remembered.
const maxSettled = 100_000

// NewSettled makes an empty memory.
func NewSettled() *Settled { return &Settled{known: map[string]*settlement{}} }

func (s *Settled) get(id string) *settlement {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known[id]
}

func (s *Settled) put(id string, x *settlement) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) < maxSettled {
		s.known[id] = x
	}
}

// operate makes a data handle of data handles. Nothing runs, unless the operation hands rows to the agent.
func (e *Environment) operate(ctx context.Context, c *call) (*task.ToolError, error) {
	s := e.scope(c, 0)
	arguments := c.arguments
	if e.config.Names != nil {
		var mistake *task.ToolError
		if _, arguments, mistake = e.config.Names.Call(c.tool.specification.Name, arguments); mistake != nil {
			return mistake, nil
		}
	}
	var unresolved *task.ToolError // speaks of labels, which bear no other names
	handle, mistake := relation.Apply(c.tool.specification.Body, arguments, func(label string) (h *relation.Handle,
		m *task.ToolError) {
		defer func() { unresolved = m }()
		c.resolved = true
		ref := task.Reference{Label: label}
		o := s.outcomes[label]
		switch {
		case o == nil || o.number >= s.number:
			return nil, s.unknownLabel(ref)
		case o.handle == nil:
			return nil, badReference("`%s`: the call labelled `%s` has made no data handle.", ref, label)
		}
		return o.handle, nil
	})
	if mistake != nil {
		if e.config.Names != nil && mistake != unresolved {
			mistake = &task.ToolError{
				Code: mistake.Code, Message: e.config.Names.Message(c.tool.specification.Name, mistake.Message),
			}
		}
		return mistake, nil
	}
	c.handle = handle.ID()
	if handle.Delivers() {
		return e.deliver(ctx, c, handle)
	}
	content, mistake, err := e.show(ctx, c, handle)
	if mistake != nil || err != nil {
		return mistake, err
	}
	c.outcome.handle = handle
	c.delivery = fault.Delivery{Content: content}
	return nil, nil
}

// deliver runs the statement of a data handle and hands over its rows.
func (e *Environment) deliver(ctx context.Context, c *call, handle *relation.Handle) (*task.ToolError, error) {
	statement, values := handle.Statement()
	to := newReturned(1 + len(e.config.Neighbours))
	columns := handle.Columns()
	var handed fault.Payload
	if len(e.config.Neighbours) > 0 {
		c.neighbour = make([]string, len(e.config.Neighbours))
	}
	for world := range to.results {
		r, mistake, err := e.readRows(ctx, world, statement, values, &c.timeouts)
		if err != nil {
			return nil, err
		}
		if mistake != nil && world == 0 {
			return mistake, nil
		}
		if mistake != nil {
			c.neighbour[world-1] = "error:" + mistake.Code
			continue
		}
		r = &task.Result{Columns: handle.Keys(), Rows: r.Rows}
		if digest := r.Digest(handle.Ordered()); world == 0 {
			c.digest = digest
		} else {
			c.neighbour[world-1] = digest
		}
		if p := e.hand(c, to, world, r, columns); world == 0 {
			handed = p
		}
	}
	c.outcome.handle, c.outcome.names, c.outcome.columns = handle, handed.Result.Columns, columns
	c.keep(to, &handed, e.stages.changesRows())
	return nil, nil
}

// handleShown is what an agent sees of a data handle.
type handleShown struct {
	Handle string          `json:"handle"` // the reference
	Keys   []string        `json:"keys,omitempty"`
	Rows   *int            `json:"row_count,omitempty"`
	First  json.RawMessage `json:"first_rows,omitempty"`
}

// show gives what the agent sees of a data handle: the reference alone, or keys, the number of rows and the first rows.
func (e *Environment) show(ctx context.Context, c *call, handle *relation.Handle) (json.RawMessage, *task.ToolError,
	error) {
	shown := handleShown{Handle: task.Reference{Label: c.about.Label}.String()}
	if e.config.Handles == HandlesPreview {
		n, mistake, err := e.count(ctx, c, handle)
		if mistake != nil || err != nil {
			return nil, mistake, err
		}
		statement, values := handle.HeadStatement(previewRows)
		first, mistake, err := e.readRows(ctx, 0, statement, values, &c.timeouts)
		if mistake != nil || err != nil {
			return nil, mistake, err
		}
		first = &task.Result{Columns: handle.Keys(), Rows: first.Rows}
		shown.Keys, shown.Rows, shown.First = handle.Keys(), &n, first.AppendRecords(nil)
	}
	content, err := task.Marshal(shown)
	if err == nil && len(e.stages.besides) > 0 {
		beside := e.stages.beside(c, c.decided)
		c.anomaly = c.anomaly || len(beside) > 0
		content = append(fault.AppendBeside(content[:len(content)-1], beside), '}')
	}
	return content, nil, err
}

// count gives the number of rows of a data handle. What does not change it (sorting, transforming) does not count
// again.
func (e *Environment) count(ctx context.Context, c *call, handle *relation.Handle) (int, *task.ToolError, error) {
	statement, values := handle.CountStatement()
	key, err := task.Marshal([]any{statement, values})
	if err != nil {
		return 0, nil, err
	}
	e.countsMu.Lock()
	n, known := e.counts[string(key)]
	e.countsMu.Unlock()
	if known {
		return n, nil, nil
	}
	r, mistake, err := e.readRows(ctx, 0, statement, values, &c.timeouts)
	if mistake != nil || err != nil {
		return 0, mistake, err
	}
	total, ok := r.Rows[0][0].(int64)
	if !ok {
		return 0, nil, fmt.Errorf("the number of rows is %v", r.Rows[0][0])
	}
	e.countsMu.Lock()
	defer e.countsMu.Unlock()
	if e.counts == nil {
		e.counts = map[string]int{}
	}
	e.counts[string(key)] = int(total)
	return int(total), nil, nil
}

// read runs the statement of a data handle that an answer refers to.
func (e *Environment) read(ctx context.Context, o *outcome) (*task.ToolError, error) {
	statement, values := o.handle.Statement()
	r, mistake, err := e.readRows(ctx, 0, statement, values, &e.timeouts)
	if mistake != nil || err != nil {
		return mistake, err
	}
	o.results = []*task.Result{{Columns: o.handle.Keys(), Rows: r.Rows}}
	o.names, o.columns = o.handle.Keys(), o.handle.Columns()
	return nil, nil
}

// Settle finds the digests of the data handles that the episode made and nobody read, on the world and on its
// neighbours, and writes them into the events of their calls: grading tells by them which arguments mean the same. It
// is called once, after the episode has ended, and takes none of the episode's time. A handle with more rows than the
// limit, or one that fails when it is read, gets no digest.
func (e *Environment) Settle(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.unread {
		id := u.handle.ID()
		known := e.config.Settled.get(id)
		if known == nil {
			var err error
			if known, err = e.settle(ctx, u.handle); err != nil {
				return fmt.Errorf("settle: %w", err)
			}
			e.config.Settled.put(id, known)
		}
		event := &e.record.gather().Events[u.event]
		event.Digest, event.Rows, event.Neighbour = known.digest, known.rows, known.neighbour
		e.timeouts += known.timeouts
	}
	e.unread = nil
	return nil
}

func (e *Environment) settle(ctx context.Context, handle *relation.Handle) (*settlement, error) {
	s := &settlement{}
	if len(e.config.Neighbours) > 0 {
		s.neighbour = make([]string, len(e.config.Neighbours))
	}
	statement, values := handle.HeadStatement(e.config.Limits.Rows + 1)
	for world := range 1 + len(e.config.Neighbours) {
		r, mistake, err := e.readRows(ctx, world, statement, values, &s.timeouts)
		if err != nil {
			return nil, err
		}
		digest := ""
		if mistake != nil {
			digest = "error:" + mistake.Code
		} else {
			digest = (&task.Result{Columns: handle.Keys(), Rows: r.Rows}).Digest(handle.Ordered())
		}
		switch {
		case world > 0:
			s.neighbour[world-1] = digest
		case mistake == nil:
			s.digest, s.rows = digest, len(r.Rows)
		}
	}
	return s, nil
}

// readRows runs the statement of a data handle. One that SQLite cannot prepare has outgrown SQLite's own limits, which
// is the agent's doing: the operations themselves compile.
func (e *Environment) readRows(
	ctx context.Context, world int, statement string, values []task.Value, timeouts *int,
) (*task.Result, *task.ToolError, error) {
	r, mistake, err := e.execute(ctx, world, statement, values, timeouts)
	if refusalOf(err) != "" {
		return nil, &task.ToolError{
			Code: task.CodeTooLarge, Message: "This table depends on too many others at once: retrieve what you need in fewer steps.",
		}, nil
	}
	return r, mistake, err
}

// runText runs the SQL that an agent wrote (NL2API §4.2, the paper's baseline): read-only, within the limits. What
// SQLite refuses is the agent's mistake, told in SQLite's words.
func (e *Environment) runText(ctx context.Context, c *call) (*task.ToolError, error) {
	b, mistake := c.tool.bind(c.arguments, e.scope(c, 0))
	if mistake != nil {
		return mistake, nil
	}
	text, ok := b.values[0].(string)
	if !ok {
		return wrongType("Expected string but got %s for `%s`.", task.JSONType(b.values[0]), c.tool.arguments[0].Argument),
			nil
	}
	to := newReturned(1 + len(e.config.Neighbours))
	var handed fault.Payload
	if len(e.config.Neighbours) > 0 {
		c.neighbour = make([]string, len(e.config.Neighbours))
	}
	for world := range to.results {
		r, mistake, err := e.executeText(ctx, world, text, &c.timeouts)
		if err != nil {
			return nil, err
		}
		if mistake != nil && world == 0 {
			return mistake, nil
		}
		if mistake != nil {
			c.neighbour[world-1] = "error:" + mistake.Code
			continue
		}
		r = &task.Result{Columns: task.UniqueNames(r.Columns), Rows: r.Rows}
		// The text may order its rows or not: the digest keeps the order.
		if digest := r.Digest(true); world == 0 {
			c.digest = digest
		} else {
			c.neighbour[world-1] = digest
		}
		if p := e.hand(c, to, world, r, untyped(r.Columns)); world == 0 {
			handed = p
		}
	}
	c.outcome.names, c.outcome.columns = handed.Result.Columns, untyped(handed.Result.Columns)
	c.keep(to, &handed, e.stages.changesRows())
	return nil, nil
}

// untyped declares columns of which nothing but the names is known.
func untyped(names []string) []task.Column {
	columns := make([]task.Column, len(names))
	for i, name := range names {
		columns[i] = task.Column{Name: name, Type: task.TypeAny}
	}
	return columns
}

func (e *Environment) executeText(
	ctx context.Context, world int, text string, timeouts *int,
) (*task.Result, *task.ToolError, error) {
	r, mistake, err := e.execute(ctx, world, text, nil, timeouts)
	if refusal := refusalOf(err); refusal != "" {
		return nil, &task.ToolError{Code: task.CodeBadArguments, Message: "SQLite refuses the statement: " + refusal}, nil
	}
	return r, mistake, err
}
