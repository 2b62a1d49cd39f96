package task

import (
	"errors"
	"fmt"
)

// Validate checks the structure of a task read from a file: what every stage relies on without checking.
func (t *Task) Validate() error {
	switch {
	case t.ID == "":
		return errors.New("a task has no id")
	case len(t.Messages) == 0:
		return fmt.Errorf("task %s has no message", t.ID)
	}
	for _, g := range t.Gold.Answers() {
		if !g.consistent() {
			return fmt.Errorf("task %s: the rows of its gold do not fit its columns and blocks", t.ID)
		}
	}
	for i := range t.Plans {
		if err := t.Plans[i].validate(); err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
	}
	for i := range t.Paths {
		if err := t.Paths[i].validate(); err != nil {
			return fmt.Errorf("task %s: %w", t.ID, err)
		}
	}
	return nil
}

// validate checks that the answer of a plan is one of its calls, and that no two calls share a label.
func (p *Plan) validate() error {
	labels := map[string]bool{}
	for i := range p.Calls {
		if labels[p.Calls[i].Label] {
			return fmt.Errorf("two calls of the %s plan have the label %q", p.Kind, p.Calls[i].Label)
		}
		labels[p.Calls[i].Label] = true
	}
	if p.Answer != "" && !labels[p.Answer] {
		return fmt.Errorf("the answer of the %s plan is %q, which is none of its calls", p.Kind, p.Answer)
	}
	if len(p.Evidence) > len(p.Calls) {
		return fmt.Errorf("the %s plan has more evidence than calls", p.Kind)
	}
	return nil
}
