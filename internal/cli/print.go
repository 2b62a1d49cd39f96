package cli

import (
	"fmt"

	"github.com/seatrial/seatrial/internal/task"
)

// printJSON prints one JSON value on a line of its own.
func (a *app) printJSON(v any) error {
	text, err := task.Marshal(v)
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	a.printf("%s\n", text)
	return nil
}
