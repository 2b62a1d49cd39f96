package universe

import "math"

// MaxCallsPerTool bounds how many single calls [SingleCalls] lists for one tool; the first ones in the order of the
// literals count.
const MaxCallsPerTool = 256

// SingleCalls lists every single call that can be made with the request's own literals: for each tool, each choice of a
// literal of the right type for each argument (a list argument takes the list of one literal; tools that want records
// cannot be called so). The chance level of a task is the share of these calls that return gold, and the random policy
// draws from them. The order is that of the tools, then that of the literals.
func SingleCalls(tools []*Tool, literals []Literal) []Call {
	values := distinctValues(literals)
	var calls []Call
	for _, t := range tools {
		if t.Body != nil {
			calls = append(calls, singleCalls(t, values)...)
		}
	}
	return calls
}

func distinctValues(literals []Literal) []Value {
	var values []Value
	seen := map[string]bool{}
	for _, l := range literals {
		key := string(AppendValue(nil, l.Value))
		if l.Value != nil && !seen[key] {
			seen[key] = true
			values = append(values, l.Value)
		}
	}
	return values
}

func singleCalls(t *Tool, values []Value) []Call {
	choices := make([][]any, len(t.Body.Bindings))
	total := 1
	for i, b := range t.Body.Bindings {
		for _, v := range values {
			if choice, ok := argumentOf(b, v); ok {
				choices[i] = append(choices[i], choice)
			}
		}
		if len(choices[i]) == 0 {
			return nil
		}
		total = min(total*len(choices[i]), MaxCallsPerTool)
	}
	calls := make([]Call, 0, total)
	for n := range total {
		arguments := make(map[string]any, len(choices))
		// The last argument changes fastest.
		for i := len(choices) - 1; i >= 0; i-- {
			arguments[t.Body.Bindings[i].Argument] = choices[i][n%len(choices[i])]
			n /= len(choices[i])
		}
		calls = append(calls, Call{Label: "call_1", Tool: t.Name, Arguments: arguments})
	}
	return calls
}

// argumentOf writes a literal as an argument of that binding, if its type fits.
func argumentOf(b Binding, v Value) (any, bool) {
	if b.Kind == BindTable {
		return nil, false
	}
	fits := false
	switch v := v.(type) {
	case string:
		fits = b.Type == TypeText || b.Type == TypeAny
	case int64:
		fits = b.Type != TypeText
	case float64:
		fits = b.Type == TypeNumber || b.Type == TypeAny || b.Type == TypeInteger && v == math.Trunc(v)
	}
	if !fits {
		return nil, false
	}
	written := v
	if s, ok := v.(string); ok {
		written = EscapeText(s)
	}
	if b.Kind == BindList {
		return []any{written}, true
	}
	return written, true
}
