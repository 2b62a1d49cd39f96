package environment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// Step takes one turn of the agent and gives an observation for each of its actions, in their order. Attempts, labels
// and events are numbered in that order before any body runs; bodies then run side by side, and a call that refers to
// an earlier one of the same turn after that one. An answer, a decline, a judgement or a spent budget ends the episode,
// and what stands after it is answered with [task.CodeEnded].
//
// Where calls are only recorded, the turn that makes any ends the episode too.
//
// Labels stand for results until the end of the episode; the label of a call that failed is free again in later turns.
//
// A turn that is open goes on in the next step, which is then no turn of its own: it has the same number, and leaves no
// event but those of its actions and of the block of code that has ended with it. The budget of turns waits for its
// end.
//
// A token budget is checked after the turn that exceeded it, since what a turn costs is not known before; the acts of
// that turn still count.
//
// The error is Seatrial's own failure, or that of ctx unless its cause is [ErrWall]. The turn then left no events but
// its own, and the episode is to be finished as invalid.
func (e *Environment) Step(ctx context.Context, turn task.Turn) ([]task.Observation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ended {
		return afterEnd(turn.Actions), nil
	}
	e.begin(&turn)
	if err := ctx.Err(); err != nil {
		if !errors.Is(context.Cause(ctx), ErrWall) {
			return nil, fmt.Errorf("turn %d: %w", e.turns, context.Cause(ctx))
		}
		e.finish(transcript.Event{End: transcript.EndBudget, Budget: BudgetWall})
		return afterEnd(turn.Actions), nil
	}
	s := e.number(turn.Actions)
	err := e.runCalls(ctx, s.calls)
	for _, c := range s.calls {
		e.timeouts += c.timeouts
	}
	if err != nil {
		return nil, fmt.Errorf("turn %d: %w", e.turns, err)
	}
	observations, err := e.recordActions(ctx, turn.Actions, s)
	if err != nil {
		return nil, fmt.Errorf("turn %d: %w", e.turns, err)
	}
	if e.config.Recorded && len(s.calls) > 0 {
		e.finish(transcript.Event{End: transcript.EndCalled})
	}
	e.endOnBudget(ctx)
	e.hintOnAnomaly(s, observations)
	if n := len(observations); e.ended && n > 0 {
		observations[n-1].Done = true
	}
	return observations, nil
}

// begin records what a turn is, unless it goes on with the one before, and the code that has ended in it.
func (e *Environment) begin(turn *task.Turn) {
	if !e.open {
		e.turns++
		e.record.Append(transcript.Event{Kind: transcript.EventTurn, Turn: e.turns, Decision: decisionOf(turn)})
	}
	e.usage = e.usage.Add(turn.Usage)
	if turn.Block != nil {
		e.record.Append(transcript.Event{Kind: transcript.EventBlock, Turn: e.turns, Block: turn.Block})
	}
	e.open = turn.Open
}

// bare is the decision of all turns that were nothing but actions. It does not change.
var bare task.Turn

// decisionOf gives what is recorded of a turn beside its actions.
func decisionOf(turn *task.Turn) *task.Turn {
	if turn.Thought == "" && turn.Reply == "" && turn.Unparsed == nil && turn.Usage == bare.Usage && turn.Model == "" &&
		!turn.Stop {
		return &bare
	}
	decision := *turn
	decision.Actions, decision.Open, decision.Block = nil, false, nil
	return &decision
}

// step is a turn whose actions are numbered.
type step struct {
	calls    []*call
	callAt   []*call // by action; nil for other acts
	overflow int     // the action that asked for a call beyond the budget, or the number of actions

	only struct { // what the lists of a turn of one action are made of
		call   call
		calls  [1]*call
		callAt [1]*call
	}
}

// number gives labels and attempts to the calls that will be made: those before the first ending act, within the
// budget.
func (e *Environment) number(actions []task.Action) *step {
	s := &step{overflow: len(actions)}
	if s.calls, s.callAt = s.only.calls[:0], s.only.callAt[:]; len(actions) != 1 {
		s.callAt = make([]*call, len(actions))
	}
	var reserved []string // labels that the agent itself gives in this turn
	for i := range actions {
		if a := &actions[i]; a.Kind == task.ActionCall && a.Label != "" {
			reserved = append(reserved, a.Label)
		}
	}
	var inStep map[string]*call // by label; nil where there is no other action to refer to
	if len(actions) > 1 {
		inStep = map[string]*call{}
	}
	for i := range actions {
		a := &actions[i]
		if ends(a) {
			break
		}
		if a.Kind != task.ActionCall {
			continue
		}
		if e.config.Budget.Calls > 0 && e.calls == e.config.Budget.Calls {
			s.overflow = i
			break
		}
		c := &s.only.call
		if len(actions) > 1 {
			c = &call{}
		}
		e.numberCall(c, a, reserved, inStep)
		s.calls = append(s.calls, c)
		s.callAt[i] = c
	}
	return s
}

// ends says whether an action ends the episode.
func ends(a *task.Action) bool {
	switch a.Kind {
	case task.ActionAnswer:
		return json.Valid(a.Answer)
	case task.ActionJudge:
		_, ok := task.Judgement(a.Answer)
		return ok
	case task.ActionDecline:
		return true
	default:
		return false
	}
}

// numberCall makes a call of an action.
func (e *Environment) numberCall(c *call, a *task.Action, reserved []string, inStep map[string]*call) {
	e.calls++
	e.attempts[a.Tool]++
	c.action, c.about = a, fault.Call{
		Turn: e.turns, Number: e.calls, Attempt: e.attempts[a.Tool], Earlier: e.called[:len(e.called):len(e.called)],
		Turns: e.calledIn[:len(e.calledIn):len(e.calledIn)],
	}
	e.called, e.calledIn = append(e.called, a.Tool), append(e.calledIn, e.turns)
	e.label(c, reserved)
	if c.outcome != nil && inStep != nil {
		inStep[c.about.Label] = c
	}
	if c.tool, c.unfound = e.lookFor(a.Tool); c.tool == nil {
		c.tool = e.config.Unlisted.find(a.Tool)
		c.unlisted = c.tool != nil
	}
	if c.tool == nil {
		c.fail(e.unknownTool(a.Tool))
		return
	}
	c.about.Tool = c.tool.specification
	if c.known = e.recall(c); c.known != nil {
		c.arguments, c.about.Arguments = c.known.arguments, c.known.arguments
		return
	}
	arguments, mistake := decodeArguments(a.Arguments)
	if mistake != nil {
		c.fail(mistake)
		return
	}
	c.arguments, c.about.Arguments = arguments, arguments
	c.wave = waveOf(c, inStep)
}

// fail sets the mistake of a call, if it has none yet.
func (c *call) fail(mistake *task.ToolError) {
	if c.mistake == nil {
		c.mistake = mistake
	}
}

// label gives a call its label: its own, or call_N for the N-th call of the episode, N passed over while it is taken.
func (e *Environment) label(c *call, reserved []string) {
	var o *outcome // what the label stands for already
	if c.about.Label = c.action.Label; c.about.Label != "" {
		o = e.outcomes[c.about.Label]
	} else {
		for n := c.about.Number; ; n++ {
			var text [24]byte
			c.about.Label = string(strconv.AppendInt(append(text[:0], "call_"...), int64(n), 10))
			if !slices.Contains(reserved, c.about.Label) && e.outcomes[c.about.Label] == nil {
				break
			}
		}
	}
	switch {
	case !task.IsLabel(c.about.Label):
		c.fail(&task.ToolError{
			Code:    task.CodeBadArguments,
			Message: "A label is a letter or underscore, followed by letters, digits and underscores.",
		})
	case o != nil && (o.made() || o.turn == e.turns):
		c.fail(&task.ToolError{
			Code:    task.CodeDuplicateLabel,
			Message: fmt.Sprintf("The label `%s` stands for another call already.", c.about.Label),
		})
	default:
		c.outcome = &outcome{number: c.about.Number, turn: e.turns, tool: c.action.Tool}
		e.outcomes[c.about.Label] = c.outcome
	}
}

// waveOf gives the wave in which a call can run: after every call of the same turn that it refers to.
func waveOf(c *call, inStep map[string]*call) int {
	if len(inStep) == 0 || len(inStep) == 1 && inStep[c.about.Label] == c {
		return 0
	}
	wave := 0
	for _, ref := range (&task.Call{Arguments: c.arguments}).References() {
		if used := inStep[ref.Label]; used != nil && used != c {
			wave = max(wave, used.wave+1)
		}
	}
	return wave
}

// recordActions writes the events of the actions in their order and gives the observations.
func (e *Environment) recordActions(
	ctx context.Context, actions []task.Action, s *step,
) ([]task.Observation, error) {
	observations := make([]task.Observation, len(actions))
	var err error
	for i := range actions {
		switch a := &actions[i]; {
		case e.ended:
			observations[i] = endedObservation(a)
		case i == s.overflow:
			e.finish(transcript.Event{End: transcript.EndBudget, Budget: BudgetCalls})
			observations[i] = endedObservation(a)
		case s.callAt[i] != nil:
			observations[i] = e.recordCall(s.callAt[i])
		default:
			if observations[i], err = e.recordAct(ctx, a); err != nil {
				return nil, err
			}
		}
	}
	return observations, nil
}

func (e *Environment) recordCall(c *call) task.Observation {
	for _, d := range c.decisions {
		d.Turn = e.turns
		e.record.Append(d)
	}
	d, arguments := &c.delivery, c.action.Arguments
	if c.known == nil {
		arguments = recordable(arguments)
	}
	e.record.Append(transcript.Event{
		Kind: transcript.EventCall, Turn: e.turns, Label: c.about.Label, Tool: c.action.Tool, Attempt: c.about.Attempt,
		Arguments: arguments, Content: d.Content, Note: d.Note, Error: d.Error,
		Rows: c.rows, Digest: c.digest, Neighbour: c.neighbour, Resolved: c.resolved, Unlisted: c.unlisted, Handle: c.handle,
		Found: c.found, Unfound: c.unfound,
	})
	e.find(c)
	if o := c.outcome; o != nil && o.handle != nil && o.results == nil && c.handle != "" {
		e.unread = append(e.unread, unread{event: e.record.size - 1, handle: o.handle})
	}
	return task.Observation{
		Label: c.about.Label, Tool: c.action.Tool, Content: d.Content, Note: d.Note, Error: d.Error,
	}
}

// recordAct records every act that is no call.
func (e *Environment) recordAct(ctx context.Context, a *task.Action) (task.Observation, error) {
	switch a.Kind {
	case task.ActionAnswer:
		return e.recordAnswer(ctx, a)
	case task.ActionDecline:
		e.record.Append(transcript.Event{Kind: transcript.EventDecline, Turn: e.turns, Text: a.Text})
		e.finish(transcript.Event{End: transcript.EndDeclined})
		return task.Observation{Done: true}, nil
	case task.ActionJudge:
		if _, ok := task.Judgement(a.Answer); !ok {
			return mistaken(task.CodeBadArguments, "A judgement must be true or false."), nil
		}
		e.record.Append(transcript.Event{Kind: transcript.EventJudge, Turn: e.turns, Answer: a.Answer, Text: a.Text})
		e.finish(transcript.Event{End: transcript.EndJudged})
		return task.Observation{Done: true}, nil
	case task.ActionAsk:
		return e.recordAsk(a), nil
	default:
		return mistaken(task.CodeUnsupported, fmt.Sprintf("There is no action of the kind %q.", a.Kind)), nil
	}
}

func (e *Environment) recordAnswer(ctx context.Context, a *task.Action) (task.Observation, error) {
	if !json.Valid(a.Answer) {
		return mistaken(task.CodeBadArguments, "An answer must be a JSON value."), nil
	}
	event := transcript.Event{Kind: transcript.EventAnswer, Turn: e.turns, Answer: a.Answer, Lenient: a.Lenient}
	if ref, ok := answerReference(a.Answer); ok {
		s := scope{outcomes: e.outcomes, number: e.calls + 1, turn: e.turns}
		if o := e.outcomes[ref.Label]; o != nil && o.handle != nil && o.results == nil {
			mistake, err := e.read(ctx, o)
			if err != nil {
				return task.Observation{}, err
			}
			if mistake != nil { // too many rows, say: the answer then stands for nothing
				event.Message = mistake.Message
			}
		}
		if columns, rows, ok := s.answer(ref); ok {
			event.Columns, event.Result = columns, rows
		}
	}
	e.record.Append(event)
	e.finish(transcript.Event{End: transcript.EndAnswered})
	return task.Observation{Done: true}, nil
}

// answerReference reads an answer that is a JSON string of the form $label$ or $label.column$.
func answerReference(answer json.RawMessage) (task.Reference, bool) {
	var text string
	if err := json.Unmarshal(answer, &text); err != nil {
		return task.Reference{}, false
	}
	return task.ParseReference(text)
}

// endOnBudget ends the episode after a turn that left nothing of a budget.
func (e *Environment) endOnBudget(ctx context.Context) {
	b := e.config.Budget
	spent := ""
	switch {
	case ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrWall):
		spent = BudgetWall
	case b.Tokens > 0 && e.usage.InputTokens+e.usage.OutputTokens >= b.Tokens:
		spent = BudgetTokens
	case b.Turns > 0 && e.turns >= b.Turns && !e.open:
		spent = BudgetTurns
	default:
		return
	}
	e.finish(transcript.Event{End: transcript.EndBudget, Budget: spent})
}

func afterEnd(actions []task.Action) []task.Observation {
	observations := make([]task.Observation, len(actions))
	for i := range actions {
		observations[i] = endedObservation(&actions[i])
	}
	return observations
}

func endedObservation(a *task.Action) task.Observation {
	o := mistaken(task.CodeEnded, "The episode has ended.")
	o.Label, o.Tool, o.Done = a.Label, a.Tool, true
	return o
}

func mistaken(code, message string) task.Observation {
	return task.Observation{Error: &task.ToolError{Code: code, Message: message}}
}
