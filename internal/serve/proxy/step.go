package proxy

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// stepTool is the name under which steps know the tool of a call, whatever it is called.
const stepTool = "tool"

// steps makes the steps of the catalogue that a rule stands for. Field is that of the result on which they act; kinds
// that act on none leave it aside. A rule whose kind the catalogue has no steps for gets none.
func (r *rule) steps(field string) ([]fault.Step, error) {
	fields := []fault.Field{{Name: "tool", Value: quote(stepTool)}}
	if r.harmless {
		fields = append(fields, fault.Field{Name: "variant", Value: quote(fault.VariantLookalike)})
	}
	number := func(name string, n int) {
		fields = append(fields, fault.Field{Name: name, Value: task.AppendValue(nil, int64(n))})
	}
	words := func(name, s string) { fields = append(fields, fault.Field{Name: name, Value: quote(s)}) }
	column := func() { number("column", 0); words("field", field) }
	switch r.kind.name {
	case "exec.timeout", "exec.connection", "exec.server-error", "exec.io", "call.rejected":
		number("times", 1)
	case "call.rate-limit":
		number("wait", 1)
	case "call.session":
		number("renewals", 1)
	case "exec.crash":
		number("from", 1)
		number("times", 1)
	case "call.dropped-argument", "call.coerced-argument", "call.default-argument":
		words("argument", r.text("argument", ""))
		words("strict", stepTool+strictSuffix)
		if r.kind.name == "call.coerced-argument" {
			words("how", r.text("how", ""))
		}
		if r.kind.name == "call.default-argument" {
			value, err := task.Marshal(r.settings["value"])
			if err != nil {
				return nil, fmt.Errorf("fault %s: %w", r.name, err)
			}
			fields = append(fields, fault.Field{Name: "default", Value: value})
		}
	case "spec.param-renamed":
		words("argument", r.text("argument", ""))
		words("new_name", r.text("new_name", ""))
	case "spec.param-retyped":
		words("argument", r.text("argument", ""))
		words("wants", r.text("wants", ""))
	case "spec.param-added":
		words("argument", r.text("argument", ""))
		values, err := task.Marshal(r.addedValues())
		if err != nil {
			return nil, fmt.Errorf("fault %s: %w", r.name, err)
		}
		fields = append(fields, fault.Field{Name: "values", Value: values})
		words("as_before", r.text("as_before", ""))
	case "spec.result-renamed":
		column()
		words("new_name", r.text("new_name", ""))
	case "spec.result-retyped", "out.explained":
		column()
		if r.kind.name == "out.explained" {
			words("with", "")
		}
	case "spec.result-reshaped":
		words("shape", r.text("shape", ""))
	case "spec.unit":
		column()
		number("factor", map[string]int{"10": 10, "100": 100, "1000": 1000}[r.text("factor", "100")])
		words("sign", r.text("sign", "field"))
	case "out.wrapped-unit":
		column()
		words("with", r.text("with", "USD"))
	case "out.labelled":
		column()
		words("with", r.text("with", "Answer"))
	case "out.number-format":
		column()
		words("with", r.text("locale", "de-DE"))
	case "out.alias":
		column()
		words("prefix", r.text("prefix", "C"))
	case "out.null-sentinel":
		column()
		words("text", r.text("text", "N/A"))
	case "out.truncated":
		number("size", r.integer("size", 1))
	case "exec.unavailable", "out.reordered":
	default:
		return nil, nil
	}
	parameters := []byte{'{'}
	for i, f := range fields {
		if i > 0 {
			parameters = append(parameters, ',')
		}
		parameters = append(append(append(parameters, quote(f.Name)...), ':'), f.Value...)
	}
	made, _, err := condition.Faults(
		[]condition.Condition{{Name: r.kind.name, Parameters: append(parameters, '}')}},
		fault.Input{Task: &task.Task{ID: r.name}, Tools: []*task.Tool{{Name: stepTool, Parameters: &task.Schema{}}}},
	)
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", r.name, err)
	}
	return made, nil
}

// addedValues lists the values of an added argument, the one that answers as before first.
func (r *rule) addedValues() []string {
	values := []string{r.text("as_before", "")}
	others, _ := r.settings["others"].([]string)
	for _, v := range others {
		if v != values[0] {
			values = append(values, v)
		}
	}
	return values
}

// find gives the first of some steps that can do a thing.
func find[T any](steps []fault.Step) (T, bool) {
	for _, s := range steps {
		if t, ok := s.(T); ok {
			return t, true
		}
	}
	var none T
	return none, false
}

// asStep is a call as steps know it.
func (c *call) asStep(specification *task.Schema) *fault.Call {
	return &fault.Call{
		Tool: &task.Tool{Name: stepTool, Parameters: specification}, Label: c.label(), Turn: 1, Number: 1, Attempt: 1,
		Arguments: c.given(),
	}
}
