package reproduce

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/report/recipe"
	"github.com/seatrial/seatrial/internal/task"
)

// fileState says how the reproduction of a folder was begun.
const fileState = "reproduce.json"

// begin writes the state of a new folder, or refuses one that was begun with other settings.
func (o *order) begin() error {
	want := recipe.State{
		Format: recipe.StateFormat, Paper: o.recipe.Name, Recipe: o.recipe.Digest, Flags: o.arguments(o.measured()),
	}
	file := filepath.Join(o.out, fileState)
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return o.first(file, want)
	}
	if err != nil {
		return diag.Usagef("%v", err).WithHint("give another --out")
	}
	var was recipe.State
	if err := json.Unmarshal(data, &was); err != nil || was.Format != recipe.StateFormat {
		return diag.Usagef("%s cannot be read", file).WithHint("give another --out")
	}
	show := func(flags []string) string {
		if len(flags) == 0 {
			return "no flags"
		}
		return strings.Join(flags, " ")
	}
	switch {
	case was.Paper != want.Paper:
		return diag.Usagef("%s has the experiment of %s", o.out, was.Paper).WithHint("give another --out")
	case was.Recipe != want.Recipe:
		return diag.Usagef("%s was begun with another version of the recipe %s", o.out, want.Paper).
			WithHint("give another --out, or finish it with the Seatrial that began it")
	case !slices.Equal(was.Flags, want.Flags):
		return diag.Usagef("%s was begun with other settings: they were %s and are %s", o.out, show(was.Flags),
			show(want.Flags)).WithHint("give the same, or another --out")
	}
	return nil
}

// first makes a folder; it must be new or empty, so that it mixes with nothing else.
func (o *order) first(file string, want recipe.State) error {
	partial := file + ".partial" // a process that was killed may have left it
	entries, err := os.ReadDir(o.out)
	if err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() != filepath.Base(partial) }) {
		return diag.Usagef("%s is not empty, and contains no reproduction", o.out).WithHint("give another --out")
	}
	text, err := task.Marshal(want)
	if err != nil {
		return fmt.Errorf("reproduce: %w", err)
	}
	if err = os.MkdirAll(o.out, 0o755); err == nil {
		err = os.WriteFile(partial, append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(partial, file)
	}
	if err != nil {
		return diag.Usagef("%v", err).WithHint("give another --out")
	}
	return nil
}
