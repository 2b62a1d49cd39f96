package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// call is one tool call of a step on its way from the agent and back. What stands above the line is fixed, in the order
// of the actions, before any body runs; below it only the goroutine that runs the call writes.
type call struct {
	action    *task.Action
	tool      *tool // nil where there is none of that name
	unlisted  bool
	unfound   bool // nothing showed it before, in an open world
	about     fault.Call
	outcome   *outcome // what its label stands for; nil where the label could not be given
	mistake   *task.ToolError
	arguments map[string]any
	known     *memory // what it gave before; nil where that is not remembered
	wave      int     // calls of one wave refer only to results of earlier waves

	decisions []transcript.Event
	delivery  fault.Delivery
	found     []string // the tools that it showed
	rows      int
	digest    string
	neighbour []string
	resolved  bool
	timeouts  int
	handle    string // the identity of the data handle that the call made
	altered   bool   // a condition altered its arguments or values
	anomaly   bool   // the agent sees that a condition had a hand in it: see [Hint]
}

// runCalls runs the bodies of a step's calls side by side, those that refer to others of the step after them. The error
// is Seatrial's own failure, that of the first call in order which met one.
func (e *Environment) runCalls(ctx context.Context, calls []*call) error {
	if len(calls) == 1 {
		return e.run(ctx, calls[0])
	}
	last := 0
	for _, c := range calls {
		last = max(last, c.wave)
	}
	for wave := 0; wave <= last; wave++ {
		var group []*call
		for _, c := range calls {
			if c.wave == wave {
				group = append(group, c)
			}
		}
		if err := e.runWave(ctx, group); err != nil {
			return err
		}
	}
	return nil
}

func (e *Environment) runWave(ctx context.Context, group []*call) error {
	workers := min(e.config.Parallelism, len(group))
	if workers <= 1 {
		for _, c := range group {
			if err := e.run(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
	errs := make([]error, len(group))
	next := make(chan int, len(group))
	for i := range group {
		next <- i
	}
	close(next)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			for i := range next {
				errs[i] = e.runGuarded(ctx, group[i])
			}
		})
	}
	done.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// runGuarded turns a panic into an error: on a goroutine of its own it would end the process, with every other episode.
func (e *Environment) runGuarded(ctx context.Context, c *call) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("call %s of %s: panic: %v", c.about.Label, c.action.Tool, p)
		}
	}()
	return e.run(ctx, c)
}

// run makes one call: refused, arguments changed, body, result changed, delivered.
//
// What later calls refer to is what the tool returned after [fault.ResultStep] and [fault.PageStep] changed it;
// the digest is of what the body returned.
func (e *Environment) run(ctx context.Context, c *call) error {
	mistake, err := e.answerCall(ctx, c)
	if err != nil {
		return fmt.Errorf("call %s of %s: %w", c.about.Label, c.action.Tool, err)
	}
	if mistake != nil {
		c.delivery = fault.Delivery{Error: mistake}
		c.anomaly = c.anomaly || c.altered
	}
	if c.tool != nil {
		e.stages.changeDelivery(c)
	}
	return nil
}

// noteRecorded acknowledges a call of a tool that cannot be run.
const noteRecorded = "The call was recorded. Nothing runs here."

func (e *Environment) answerCall(ctx context.Context, c *call) (*task.ToolError, error) {
	if c.mistake != nil {
		return c.mistake, nil
	}
	if body := c.tool.specification.Body; body != nil && body.Engine == task.EngineCompanion {
		return e.accompany(c)
	}
	if body := c.tool.specification.Body; body != nil && body.Engine == task.EngineSearch {
		return e.explore(ctx, c)
	}
	if refusal := e.stages.refuse(c); refusal != nil {
		return refusal, nil
	}
	if c.known != nil {
		c.deliverAgain(c.known)
		return nil, nil
	}
	if c.tool.specification.Body == nil && e.config.Recorded {
		c.delivery = fault.Delivery{Content: json.RawMessage(`[]`), Note: noteRecorded}
		return nil, nil
	}
	if c.tool.specification.Body == nil {
		return &task.ToolError{
			Code:    task.CodeUnsupported,
			Message: "This tool is only described here; it cannot be run.",
		}, nil
	}
	if refusal := e.stages.changeArguments(c); refusal != nil {
		return refusal, nil
	}
	switch c.tool.specification.Body.Engine {
	case task.EngineRelation:
		return e.operate(ctx, c)
	case task.EngineText:
		return e.runText(ctx, c)
	}
	b, mistake := c.tool.bind(c.arguments, e.scope(c, 0))
	c.resolved = b.resolved
	if mistake != nil {
		return mistake, nil
	}
	b.values = e.stages.changeValues(c, b.values, 0)
	result, mistake, err := e.query(ctx, c, 0, b.values)
	if mistake != nil || err != nil {
		return mistake, err
	}
	note := ""
	if c.tool.hinted && isBlank(result) {
		if note, err = e.note(ctx, c, &b); err != nil {
			return nil, err
		}
	}
	body := c.tool.specification.Body
	c.digest = e.digest(0, result, body.Ordered)
	returned := newReturned(1 + len(e.config.Neighbours))
	handed := e.hand(c, returned, 0, result, body.Columns)
	if len(e.config.Neighbours) > 0 {
		c.neighbour = make([]string, len(e.config.Neighbours))
		for i := range e.config.Neighbours {
			if err := e.repeat(ctx, c, &b, i+1, returned); err != nil {
				return nil, err
			}
		}
	}
	c.outcome.names, c.outcome.columns = c.tool.names, body.Columns
	c.keep(returned, &handed, e.stages.changesRows())
	c.delivery.Note = note
	e.remember(c, returned)
	return nil, nil
}

// returned is what a call gave on the world and, after it, on each neighbour.
type returned struct {
	results []*task.Result
	wholes  []*fault.Payload // of what was divided; nil where nothing was
}

func newReturned(worlds int) *returned { return &returned{results: make([]*task.Result, worlds)} }

// hand makes the payload of a result on one world and keeps its rows.
func (e *Environment) hand(
	c *call, to *returned, world int, r *task.Result, columns []task.Column,
) fault.Payload {
	p := fault.Payload{Result: r, Columns: columns}
	if e.stages.changesRows() {
		var whole *fault.Payload
		if p, whole = e.stages.changeResult(c, p, world); whole != nil {
			if to.wholes == nil {
				to.wholes = make([]*fault.Payload, len(to.results))
			}
			to.wholes[world] = whole
		}
	}
	to.results[world] = p.Result
	return p
}

// keep makes what a call handed over on the episode's world its delivery, and what it returned on all worlds the
// outcome of its label. Names and types are those of the payload where steps may have changed them.
func (c *call) keep(what *returned, handed *fault.Payload, changed bool) {
	o := c.outcome
	o.results, o.wholes = what.results, what.wholes
	if changed {
		o.names, o.columns = handed.Result.Columns, make([]task.Column, len(handed.Result.Columns))
		for i, name := range o.names {
			o.columns[i] = task.Column{Name: name, Type: handed.Columns[i].Type}
		}
		if !handed.Referable() {
			o.fields = handed.Fields()
		}
	}
	c.rows = len(handed.Result.Rows)
	c.delivery = fault.Delivery{Content: handed.AppendContent(contentBuffer(handed.Result))}
}

// contentBuffer gives a buffer that is about as large as the JSON of the result.
func contentBuffer(r *task.Result) []byte {
	width := 2
	for _, c := range r.Columns {
		width += len(c) + 16
	}
	return make([]byte, 0, 2+width*len(r.Rows))
}

// repeat makes the same call on a neighbour: references stand for the results on that neighbour.
func (e *Environment) repeat(
	ctx context.Context, c *call, b *bound, world int, to *returned,
) error {
	values := b.values
	if b.resolved {
		there, mistake := c.tool.bind(c.arguments, e.scope(c, world))
		if mistake != nil {
			c.neighbour[world-1] = "error:" + mistake.Code
			return nil
		}
		values = e.stages.changeValues(c, there.values, world)
	}
	result, mistake, err := e.query(ctx, c, world, values)
	if err != nil {
		return err
	}
	if mistake != nil {
		c.neighbour[world-1] = "error:" + mistake.Code
		return nil
	}
	c.neighbour[world-1] = e.digest(world, result, c.tool.specification.Body.Ordered)
	e.hand(c, to, world, result, c.tool.specification.Body.Columns)
	return nil
}

// digest gives the digest of what a statement returned on a world.
func (e *Environment) digest(world int, r *task.Result, ordered bool) string {
	w := e.config.World
	if world > 0 {
		w = e.config.Neighbours[world-1]
	}
	if known, ok := w.(Digester); ok {
		return known.Digest(r, ordered)
	}
	return r.Digest(ordered)
}

func (e *Environment) scope(c *call, world int) scope {
	return scope{outcomes: e.outcomes, number: c.about.Number, turn: c.about.Turn, world: world}
}

// query runs the tool's statement on a world and names the columns as the tool does. Limits that are met are told to
// the agent; other errors are Seatrial's own.
func (e *Environment) query(
	ctx context.Context, c *call, world int, values []task.Value,
) (*task.Result, *task.ToolError, error) {
	w, err := e.worldOf(ctx, c, world)
	if err != nil {
		return nil, nil, err
	}
	r, mistake, err := e.executeOn(ctx, w, c.tool.specification.Body.Statement, values, &c.timeouts)
	if mistake != nil || err != nil {
		return nil, mistake, err
	}
	if len(r.Columns) != len(c.tool.names) {
		return nil, nil, fmt.Errorf("the statement returns %d columns where the tool declares %d",
			len(r.Columns), len(c.tool.names))
	}
	return &task.Result{Columns: c.tool.names, Rows: r.Rows}, nil, nil
}

// execute runs a statement on the i-th world of the episode within the limits.
func (e *Environment) execute(
	ctx context.Context, world int, statement string, values []task.Value, timeouts *int,
) (*task.Result, *task.ToolError, error) {
	w := e.config.World
	if world > 0 {
		w = e.config.Neighbours[world-1]
	}
	return e.executeOn(ctx, w, statement, values, timeouts)
}

func (e *Environment) executeOn(
	ctx context.Context, w World, statement string, values []task.Value, timeouts *int,
) (*task.Result, *task.ToolError, error) {
	within := ctx
	if e.config.Limits.Time > 0 {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, e.config.Limits.Time)
		defer cancel()
	}
	r, err := w.Query(within, statement, values)
	if err != nil {
		mistake, err := limited(ctx, within, err)
		if mistake != nil && mistake.Code == task.CodeTimeout {
			*timeouts++
		}
		return nil, mistake, err
	}
	if len(r.Rows) > e.config.Limits.Rows {
		return nil, tooLarge(fmt.Sprintf("%d rows", e.config.Limits.Rows)), nil
	}
	return r, nil, nil
}

// limited tells apart what stopped a statement: a limit, the episode's own clock, values that the statement cannot work
// on, or a failure of ours.
func limited(ctx, within context.Context, err error) (*task.ToolError, error) {
	if ctx.Err() != nil {
		if errors.Is(context.Cause(ctx), ErrWall) {
			return timeout(), nil
		}
		return nil, err
	}
	var limit *database.LimitError
	switch {
	case errors.As(err, &limit) && limit.Kind == database.LimitRows:
		return tooLarge(limit.Limit), nil
	case limit != nil && limit.Kind == database.LimitTime, within.Err() != nil:
		return timeout(), nil
	case unworkable(err):
		return &task.ToolError{
			Code:    task.CodeBadArguments,
			Message: "The tool cannot work on these values: one of them is too large or of a kind that it has no use for.",
		}, nil
	default:
		return nil, err
	}
}

func tooLarge(limit string) *task.ToolError {
	return &task.ToolError{
		Code:    task.CodeTooLarge,
		Message: fmt.Sprintf("The result has more than %s, which is the limit.", limit),
	}
}

func timeout() *task.ToolError {
	return &task.ToolError{
		Code:    task.CodeTimeout,
		Message: "The tool did not finish within its time limit.",
	}
}

// SQLite's result codes for statements that fail because of the values bound to them.
const (
	sqliteError    = 1
	sqliteTooBig   = 18
	sqliteMismatch = 20
)

// unworkable says whether SQLite refused the values rather than the statement: verified statements compile, so that an
// error in a run is the doing of what was bound.
func unworkable(err error) bool {
	var refused *database.QueryError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code & 0xff {
	case sqliteTooBig, sqliteMismatch:
		return true
	case sqliteError:
		return refused.Running
	default:
		return false
	}
}

// refusalOf gives SQLite's words where it refused a statement that an agent wrote, else "".
func refusalOf(err error) string {
	var refused *database.QueryError
	if errors.As(err, &refused) {
		return refused.Message
	}
	return ""
}

// isBlank says whether a result is empty, or its first row holds nothing but NULL, as aggregates over no rows do.
func isBlank(r *task.Result) bool {
	return len(r.Rows) == 0 || !slices.ContainsFunc(r.Rows[0], func(v task.Value) bool { return v != nil })
}
