package environment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// maxNoted bounds how many values of one argument a note names.
const maxNoted = 5

// note explains a blank result (Hell or High Water, appendix C.1): it names each text argument whose value occurs
// nowhere in the column that it is compared with, and the nearest value of that column, if one is near.
func (e *Environment) note(ctx context.Context, c *call, b *bound) (string, error) {
	var sentences []string
	t := c.tool
	w, err := e.worldOf(ctx, c, 0)
	if err != nil {
		return "", err
	}
	for i := range t.arguments {
		a := &t.arguments[i]
		if !a.hinted {
			continue
		}
		given := b.values[i : i+1]
		if a.Kind == task.BindList {
			given = nil
			if b.lists != nil {
				given = b.lists[i]
			}
		}
		told, err := noteArgument(ctx, w, a, given)
		if err != nil {
			return "", err
		}
		sentences = append(sentences, told...)
	}
	return strings.Join(sentences, " "), nil
}

func noteArgument(ctx context.Context, w World, a *argument, given []task.Value) ([]string, error) {
	var texts []string
	for _, v := range given {
		if text, ok := v.(string); ok && !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	if texts == nil {
		return nil, nil
	}
	known, err := w.TextValues(ctx, a.Table, a.Column)
	if err != nil {
		return nil, fmt.Errorf("values of %s.%s: %w", a.Table, a.Column, err)
	}
	var sentences []string
	left := 0
	for _, text := range texts {
		switch {
		case slices.Contains(known, text):
		case len(sentences) == maxNoted:
			left++
		default:
			sentences = append(sentences, describeUnmatched(a.Argument, text, known))
		}
	}
	if left > 0 {
		sentences = append(sentences, fmt.Sprintf("Unmatched values of `%s` beside these: %d.", a.Argument, left))
	}
	return sentences, nil
}

func describeUnmatched(argument, text string, known []string) string {
	sentence := fmt.Sprintf("No entry matches `%s` = %s.", argument, task.AppendValue(nil, text))
	if near, ok := nearest(text, known, valueCutoff); ok {
		sentence += fmt.Sprintf(" The nearest value is %s.", task.AppendValue(nil, near))
	}
	return sentence
}
