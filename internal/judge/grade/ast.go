package grade

import (
	"strconv"

	"github.com/seatrial/seatrial/internal/judge/callcheck"
	"github.com/seatrial/seatrial/internal/task"
)

// AST says whether the calls of an episode are the right ones, whatever it answered: the score of Robustness of Agentic
// Function Calling (RFC), table 2. Where tools cannot be run, the leaderboard's rules decide (see [Check]); where they
// can, the calls of the task's plan do. Strict implies Matched, and Matched implies Lenient.
type AST struct {
	// Strict: by the official rules; of a plan, the calls are the plan's, each as often, with the same canonical
	// arguments. Order counts for neither, but as references ask for it.
	Strict bool `json:"strict"`
	// Matched: parallel calls are assigned to possible answers as well as can be; of a plan that is Strict.
	Matched bool `json:"matched"`
	// Lenient: other spellings of a value count too: by listed rules where nothing can be run, by proof where it can.
	Lenient bool `json:"lenient"`
	// Class is the kind of the mistake where the calls are not strictly right: syntax, function, count or parameter (RFC
	// §3.2). Value says of the last that an argument has another value, and that nothing else is known to be wrong.
	Class string `json:"class,omitempty"`
	Value bool   `json:"value,omitempty"`
}

// scoreAST compares the calls of an episode with right ones.
func scoreAST(e *episode, g *Grade) error {
	switch {
	case g.Check != nil:
		g.AST = astOfCheck(g)
	case e.matching != nil && e.task.Gold.Kind != task.GoldDecline:
		g.AST = e.astOfPlans()
	}
	return nil
}

func astOfCheck(g *Grade) *AST {
	s := &AST{Strict: g.Success, Matched: g.Success || g.Check.Matched}
	s.Lenient = s.Matched || g.Lenient
	if !s.Strict {
		s.Class = g.Check.Class
		s.Value = callcheck.ErrorType(g.Check.Mistake).OfValue()
		if s.Class == "" {
			s.Class = string(callcheck.ClassSyntax) // it ended before there was anything to compare
		}
	}
	return s
}

// astOfPlans takes the plan that fits best: one whose calls are all there fits better than any other.
func (e *episode) astOfPlans() *AST {
	m := e.matching
	s := &AST{Strict: sameCalls(m.agent, m.plan)}
	s.Matched = s.Strict
	s.Lenient = s.Strict || m.intent.whole() && m.proven.whole() || m.assignable()
	if s.Strict {
		return s
	}
	f := newFailure(e)
	switch {
	case f.misaligned(), f.misformed():
		s.Class = string(callcheck.ClassSyntax)
	case f.miscounted():
		s.Class = string(callcheck.ClassCount)
	case f.hallucinated(), f.misnamed():
		s.Class = string(callcheck.ClassFunction)
	default:
		s.Class = string(callcheck.ClassParameter)
		s.Value = !f.lacking() && !f.exceeding() && m.sameNames()
	}
	return s
}

// whole says whether all that was predicted is right and nothing of gold is missing.
func (t Tally) whole() bool { return t.Right == max(t.Predicted, t.Gold) }

// sameNames says whether every call has the arguments that its counterpart has, whatever their values.
func (m *matching) sameNames() bool {
	for a, g := range m.planOf {
		if g < 0 || len(m.agent[a].arguments) != len(m.plan[g].arguments) {
			return false
		}
		for name := range m.agent[a].arguments {
			if _, there := m.plan[g].arguments[name]; !there {
				return false
			}
		}
	}
	return true
}

// sameCalls says whether two lists hold the same calls, each as often: the same function with the same canonical
// arguments, whose references stand for the same calls in turn.
func sameCalls(agent, plan []invocation) bool {
	if len(agent) != len(plan) {
		return false
	}
	numbers := map[string]int{}
	counts := map[int]int{}
	for _, n := range numbered(agent, numbers) {
		counts[n]++
	}
	for _, n := range numbered(plan, numbers) {
		if counts[n]--; counts[n] < 0 {
			return false
		}
	}
	return true
}

// numbered gives each call the number of its canonical form: function and arguments, with the numbers of the calls that
// references stand for in their place. numbers remembers them. A label refers to calls before it alone.
func numbered(calls []invocation, numbers map[string]int) []int {
	list := make([]int, len(calls))
	for i := range calls {
		c := &calls[i]
		text, err := task.Marshal(c.unfolded(list))
		key := c.tool + "\n" + string(text)
		if err != nil || c.malformed {
			key = "\x00" + strconv.Itoa(len(numbers)) // it is like no other
		}
		n, known := numbers[key]
		if !known {
			n = len(numbers) + 1
			numbers[key] = n
		}
		list[i] = n
	}
	return list
}

// unfolded gives the arguments of a call with numbers in place of the labels that stand for calls.
func (c *invocation) unfolded(list []int) any {
	out := make(map[string]any, len(c.arguments))
	for name, v := range c.arguments {
		out[name] = c.unfold(v, list)
	}
	return out
}

func (c *invocation) unfold(v any, list []int) any {
	switch v := v.(type) {
	case string:
		ref, ok := task.ParseReference(v)
		if !ok {
			return "text " + task.UnescapeText(v)
		}
		place, made := c.refers[ref.Label]
		if !made {
			return "start " + ref.Label + "." + ref.Column
		}
		return "call " + strconv.Itoa(list[place]) + "." + ref.Column
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = c.unfold(v[i], list)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = c.unfold(e, list)
		}
		return out
	case int64:
		return "whole " + strconv.FormatInt(v, 10) // 1 and 1.0 differ, as they do in slots
	default:
		return v
	}
}

// assignable says whether the calls can be assigned to those of the plan, one to one, so that each is the same call or
// proven to be another spelling of it.
func (m *matching) assignable() bool {
	if len(m.agent) != len(m.plan) || len(m.plan) == 0 {
		return false
	}
	numbers := map[string]int{}
	mine, theirs := numbered(m.agent, numbers), numbered(m.plan, numbers)
	gains := make([][]int, len(m.agent))
	for a := range m.agent {
		gains[a] = make([]int, len(m.plan))
		for g := range m.plan {
			if mine[a] == theirs[g] || m.otherSpelling(a, g) {
				gains[a][g] = 1
			}
		}
	}
	_, total := assign(gains)
	return total == len(m.plan)
}

// otherSpelling says whether a call is proven to mean what a call of the plan means: the same function, arguments of
// the same names, references to the same results, and the same result.
func (m *matching) otherSpelling(a, g int) bool {
	x, y := &m.agent[a], &m.plan[g]
	if x.tool != y.tool || len(x.arguments) != len(y.arguments) {
		return false
	}
	for name, v := range x.arguments {
		w, there := y.arguments[name]
		if !there || refers(v) != refers(w) || refers(v) && !m.handsOver(a, g, v, w) {
			return false
		}
	}
	return m.sameResult(a, g)
}
