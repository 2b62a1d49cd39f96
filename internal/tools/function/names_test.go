package function

import (
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

// TestArgumentNamesNeverRunOut draws more names than there are pairs of words.
func TestArgumentNamesNeverRunOut(t *testing.T) {
	f := &Function{Key: "many", Bindings: make([]task.Binding, 2*len(argumentWords)*len(argumentWords))}
	f.nameArguments(1, NamesObscure)
	seen := map[string]bool{}
	for _, b := range f.Bindings {
		if b.Argument == "" || seen[b.Argument] {
			t.Fatalf("argument %q is taken", b.Argument)
		}
		seen[b.Argument] = true
	}
}
