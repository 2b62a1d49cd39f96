package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/python"
	"github.com/seatrial/seatrial/internal/task"
)

// Functions beside the tools that code can call: the acts of an agent.
const (
	codeAnswer  = "submit_answer"
	codeDecline = "decline"
	codeAsk     = "ask_user"
)

// coder runs the blocks of code of one episode. A block runs in a goroutine of its own, which waits wherever the code
// calls a function, until the environment has answered: each call is an action of a turn that stays open.
type coder struct {
	engine  python.Engine
	names   *pythonNames
	setup   python.Setup
	session python.Session

	// handles are labels by which tables can be referred to: texts with them stay references.
	handles map[string]bool
	hidden  func(name string) *task.Tool // see [task.View]
	// labels are for the next calls, in their order; a call beyond them has none of its own.
	labels []string

	block   *running
	last    *task.Block // that has ended
	calls   int         // of tools in the block
	notices []string
	seen    []task.Observation // of the block's actions
}

// running is a block at work.
type running struct {
	code     string
	requests chan codeRequest
	replies  chan codeReply
	ended    chan codeEnd
	cancel   context.CancelFunc
}

type codeRequest struct {
	function  string
	arguments json.RawMessage
}

type codeReply struct {
	content json.RawMessage
	err     error
}

type codeEnd struct {
	outcome *python.Outcome
	err     error
}

// errOver ends code whose episode is over.
var errOver = errors.New("the episode is over")

// newCoder makes the coder of an episode.
func newCoder(engine python.Engine, limits python.Limits, view *task.View) *coder {
	tools := view.Tools
	c := &coder{engine: engine, names: newPythonNames(tools, codeAnswer, codeDecline, codeAsk), handles: map[string]bool{},
		hidden: view.Hidden}
	for i := range view.Starts {
		c.handles[view.Starts[i].Label] = true
	}
	functions := append(c.names.functions(tools),
		python.Function{Name: codeAnswer, Parameters: []string{"answer"}, Document: "Hands in the answer."},
		python.Function{Name: codeDecline, Parameters: []string{"reason"}, Document: "Declines the request."})
	if view.Questions > 0 {
		functions = append(functions,
			python.Function{Name: codeAsk, Parameters: []string{"question"}, Document: "Asks the user, and returns the reply."})
	}
	c.setup = python.Setup{Functions: functions, Call: c.serve, Limits: limits}
	if view.Hidden != nil {
		c.setup.Lookup = func(name string) *python.Function { return hidden(view.Hidden(name)) }
	}
	return c
}

// hidden is a tool as a function that code can call without having been shown it.
func hidden(t *task.Tool) *python.Function {
	if t == nil || identifier(t.Name) != t.Name {
		return nil
	}
	return &python.Function{Name: t.Name, Parameters: parametersOf(t), Document: t.Description}
}

// serve hands a call of the code to the agent, and waits for what came of it.
func (c *coder) serve(ctx context.Context, function string, arguments json.RawMessage) (json.RawMessage, error) {
	b := c.block
	select {
	case b.requests <- codeRequest{function, arguments}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case r := <-b.replies:
		return r.content, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// start begins a block. The block before has ended.
func (c *coder) start(ctx context.Context, code string) error {
	if c.session == nil {
		session, err := c.engine.Start(ctx, &c.setup)
		if err != nil {
			return fmt.Errorf("interpreter %s: %w", c.engine.Name(), err)
		}
		c.session = session
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &running{
		code: code, requests: make(chan codeRequest), replies: make(chan codeReply), ended: make(chan codeEnd, 1),
		cancel: cancel,
	}
	c.block, c.calls, c.notices, c.seen = b, 0, nil, nil
	go func() {
		outcome, err := c.session.Run(ctx, code)
		b.ended <- codeEnd{outcome, err}
	}()
	return nil
}

// wait gives the next action of the block that runs, or, where it has ended, what a notebook would show. The error is
// Seatrial's own failure, or the context's.
func (c *coder) wait() (*task.Action, *task.Block, error) {
	for {
		select {
		case r := <-c.block.requests:
			action, err := c.action(r)
			if err != nil {
				c.block.replies <- codeReply{err: err}
				continue
			}
			return action, nil, nil
		case end := <-c.block.ended:
			b := c.block
			b.cancel()
			c.block = nil
			if end.err != nil {
				return nil, nil, fmt.Errorf("interpreter %s: %w", c.engine.Name(), end.err)
			}
			c.last = c.shown(b.code, end.outcome)
			return nil, c.last, nil
		}
	}
}

// next gives the next action of the code, or what its block has shown when it has ended. A block that is to leave the
// solution is followed by code that hands it in: the action then comes with what the block has shown, and where that
// fails, its traceback stands in what was shown.
func (c *coder) next(ctx context.Context, solution bool) (*task.Action, *task.Block, error) {
	action, ended, err := c.wait()
	if err != nil || action != nil || !solution || ended.Traceback != "" || ended.Lost != "" {
		return action, ended, err
	}
	notices, seen := c.notices, c.seen
	if err := c.start(ctx, codeAnswer+"(solution)"); err != nil {
		return nil, nil, err
	}
	action, handed, err := c.wait()
	c.notices, c.seen = notices, seen
	if handed != nil {
		ended.Traceback, ended.Lost = handed.Traceback, handed.Lost
	}
	return action, ended, err
}

// await adds to a turn what the block that runs does next: an action, with which the turn stays open, or its end.
func (c *coder) await(ctx context.Context, solution bool, turn task.Turn) (task.Turn, error) {
	action, ended, err := c.next(ctx, solution)
	if err != nil {
		return task.Turn{}, err
	}
	turn.Block = ended
	if action != nil {
		turn.Actions, turn.Open = []task.Action{*action}, true
	}
	return turn, nil
}

// shown is what a block leaves.
func (c *coder) shown(code string, o *python.Outcome) *task.Block {
	block := &task.Block{
		Code: code, Output: o.Output, Value: o.Value, Traceback: o.Traceback, Cut: o.Cut, Calls: c.calls,
	}
	if o.Fresh {
		block.Lost = o.Reason
	}
	return block
}

// action reads a call of the code: a tool's, or one of the acts.
func (c *coder) action(r codeRequest) (*task.Action, error) {
	switch r.function {
	case codeAnswer:
		var given struct{ Answer json.RawMessage }
		if err := json.Unmarshal(r.arguments, &given); err != nil || given.Answer == nil {
			return nil, &python.CallError{Message: codeAnswer + " takes the answer, and nothing else."}
		}
		answer, err := c.answer(given.Answer)
		return &task.Action{Kind: task.ActionAnswer, Answer: answer}, err
	case codeDecline:
		return &task.Action{Kind: task.ActionDecline, Text: reasonIn(r.arguments)}, nil
	case codeAsk:
		var given struct{ Question string }
		if err := json.Unmarshal(r.arguments, &given); err != nil || given.Question == "" {
			return nil, &python.CallError{Message: codeAsk + " takes the question as a text."}
		}
		return &task.Action{Kind: task.ActionAsk, Text: given.Question}, nil
	}
	arguments, err := c.literal(r.arguments)
	if err != nil {
		return nil, &python.CallError{Message: err.Error()}
	}
	c.calls++
	action := &task.Action{Kind: task.ActionCall, Tool: r.function, Arguments: arguments}
	if t := c.names.tool[r.function]; t != nil {
		action.Tool = t.Name
	}
	if len(c.labels) > 0 {
		action.Label, c.labels = c.labels[0], c.labels[1:]
	}
	return action, nil
}

// literal writes the arguments of a call so that nothing in them is read as a reference but data handles. A record that
// was returned for a data handle stands for the handle.
func (c *coder) literal(arguments json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(arguments, []byte(`"$`)) {
		return arguments, nil
	}
	v, err := task.DecodeValue(arguments)
	if err != nil {
		return nil, err
	}
	return appendArgument(nil, c.escape(v))
}

func (c *coder) escape(v any) any {
	switch v := v.(type) {
	case string:
		if ref, ok := task.ParseReference(v); ok && c.handles[ref.Label] {
			return v
		}
		return task.EscapeText(v)
	case []any:
		for i := range v {
			v[i] = c.escape(v[i])
		}
	case map[string]any:
		if handle, ok := c.handle(v); ok {
			return handle
		}
		for name := range v {
			v[name] = c.escape(v[name])
		}
	}
	return v
}

// handle gives the reference that a record stands for which was returned for a data handle.
func (c *coder) handle(record map[string]any) (string, bool) {
	text, isText := record["handle"].(string)
	ref, isReference := task.ParseReference(text)
	return text, isText && isReference && c.handles[ref.Label]
}

// answer writes the answer: data as it is, and the record of a data handle as the reference to its rows. A text that
// looks like a reference and is none is escaped.
func (c *coder) answer(answer json.RawMessage) (json.RawMessage, error) {
	v, err := task.DecodeValue(answer)
	if err != nil {
		return nil, &python.CallError{Message: err.Error()}
	}
	if record, ok := v.(map[string]any); ok {
		if handle, ok := c.handle(record); ok {
			return quote(handle), nil
		}
	}
	return answer, nil
}

// resume tells the code what came of its last action.
func (c *coder) resume(o *task.Observation) {
	c.seen = append(c.seen, *o)
	if o.Note != "" && o.Tool != "" {
		c.notices = append(c.notices, fmt.Sprintf("Note on %s: %s", c.names.shown(o.Tool), o.Note))
	}
	if o.Hint != "" {
		c.notices = append(c.notices, promptAdvice+o.Hint)
	}
	c.block.replies <- c.reply(o)
}

func (c *coder) reply(o *task.Observation) codeReply {
	switch {
	case o.Done:
		return codeReply{err: errOver}
	case o.Error != nil:
		return codeReply{err: &python.CallError{Message: o.Error.Error()}}
	case o.Tool == "": // the user's reply
		return codeReply{content: quote(o.Note)}
	case len(o.Content) == 0:
		return codeReply{content: json.RawMessage("null")}
	}
	if worksOnTables(c.tool(o.Tool)) {
		c.handles[o.Label] = true
	}
	return codeReply{content: o.Content}
}

// tool gives what code can call under the tool's own name; nil where that is not known.
func (c *coder) tool(name string) *task.Tool {
	if t := c.names.tool[c.names.shown(name)]; t != nil || c.hidden == nil {
		return t
	}
	return c.hidden(name)
}

// worksOnTables says whether a tool takes tables by their labels (the slot and sel styles).
func worksOnTables(t *task.Tool) bool {
	return t != nil && t.Body != nil && t.Body.Engine == task.EngineRelation
}

// shown gives the name under which code knows a tool.
func (n *pythonNames) shown(tool string) string {
	if id, ok := n.function[tool]; ok {
		return id
	}
	return tool
}

// close ends the block and the session.
func (c *coder) close() error {
	if b := c.block; b != nil {
		b.cancel()
		<-b.ended
		c.block = nil
	}
	if c.session == nil {
		return nil
	}
	return c.session.Close()
}

// told writes what a block has shown, as a notebook would.
func told(b *task.Block, notices []string) string {
	var parts []string
	add := func(text string) {
		if text = strings.TrimRight(text, "\n"); text != "" {
			parts = append(parts, text)
		}
	}
	add(b.Output)
	if b.Cut {
		parts = append(parts, "[the output goes on, and is cut here]")
	}
	add(b.Value)
	add(b.Traceback)
	if b.Lost != "" {
		parts = append(parts, "[the session was lost ("+lossWords[b.Lost]+"), and a new one begins: no variable is left]")
	}
	if len(parts) == 0 {
		parts = append(parts, "[no output]")
	}
	return strings.Join(slices.Concat(parts, notices), "\n")
}

// lossWords say why a session was lost.
var lossWords = map[string]string{
	python.ReasonTime:   "the code ran for too long",
	python.ReasonMemory: "the code took too much memory",
	python.ReasonExit:   "the code ended the interpreter",
	python.ReasonCrash:  "the code brought the interpreter down",
	python.ReasonBridge: "the code changed what joins it to the functions",
	python.ReasonKilled: "the interpreter was ended from outside",
}
