package selftest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// toolChecks are about the tools and their documentation.
var toolChecks = []Check{
	{
		Name: "notes", Claim: "A value that occurs nowhere is named, whatever the result looks like.",
		Method: "right calls with one text replaced by a text that its column does not have, answered with a note or an " +
			"error",
		Target: Target{AtLeast, 1}, Unit: UnitShare, measure: measureNotes,
	},
	{
		Name: "description-median", Claim: "Descriptions of tools are as short as a person would write them.",
		Method: "median length of the descriptions of the func style and the titles of the rest style",
		Target: Target{AtMost, 20}, Unit: "words", measure: measureDescriptions(0.5),
	},
	{
		Name: "description-longest", Claim: "No description is too long to be read.",
		Method: "longest of these",
		Target: Target{AtMost, 80}, Unit: "words", measure: measureDescriptions(1),
	},
	{
		Name: "description-shared", Claim: "Tools of different meaning have different descriptions.",
		Method: "tools whose description another tool of the database and style has",
		Target: Target{AtMost, 0}, Unit: UnitShare, measure: measureShared,
	},
}

// described lists the tools of the styles that document what each tool computes.
func (t *Trial) described() []*task.Tool {
	return slices.Concat(t.Suite.Tools[task.StyleFunc], t.Suite.Tools[task.StyleRest])
}

// measureDescriptions measures a quantile of the words of descriptions.
func measureDescriptions(quantile float64) func(context.Context, *Trial) (Figure, error) {
	return func(_ context.Context, t *Trial) (Figure, error) {
		var words []int
		for _, tool := range t.described() {
			said := tool.Description
			if tool.Style == task.StyleRest {
				said, _, _ = strings.Cut(said, ". ") // the title
			}
			words = append(words, len(strings.Fields(said)))
		}
		if len(words) == 0 {
			return Figure{}, nil
		}
		slices.Sort(words)
		return Figure{Value: float64(words[int(quantile*float64(len(words)-1))]), Of: len(words)}, nil
	}
}

func measureShared(_ context.Context, t *Trial) (Figure, error) {
	tools := t.described()
	key := func(tool *task.Tool) string { return tool.Style + "\n" + tool.Database + "\n" + tool.Description }
	users := map[string]int{}
	for _, tool := range tools {
		users[key(tool)]++
	}
	shared := 0
	for _, tool := range tools {
		if users[key(tool)] > 1 {
			shared++
		}
	}
	return ShareOf(shared, len(tools)), nil
}

// unheard is a text that no column has.
const unheard = "qx no such value 7c1"

// measureNotes breaks each text of the first call of each task's plan, one at a time.
func measureNotes(ctx context.Context, t *Trial) (Figure, error) {
	instances := t.Instances(func(in *suite.Instance, tk *task.Task) bool { return isClean(in) && runnable(tk) })
	found := make([]broken, len(instances))
	err := t.parallel(ctx, len(instances), func(ctx context.Context, i int) (err error) {
		found[i], err = t.breakTexts(ctx, instances[i])
		return err
	})
	var all broken
	for _, b := range found {
		all.texts += b.texts
		all.noted += b.noted
		all.silent = cmp.Or(all.silent, b.silent)
	}
	f := ShareOf(all.noted, all.texts)
	if all.silent != "" {
		f.Note = "first without: " + all.silent
	}
	return f, err
}

// broken counts texts that were replaced, and those of them that the answer names.
type broken struct {
	texts, noted int
	silent       string // the first call without a note
}

func (t *Trial) breakTexts(ctx context.Context, in *suite.Instance) (broken, error) {
	var b broken
	shown, err := t.Stage.Shown(in)
	if err != nil {
		return b, err
	}
	env, err := t.Stage.Environment(ctx, in, episode.Seat{Header: transcript.Header{Instance: in.ID, Task: in.Task}})
	if err != nil {
		return b, err
	}
	call := shown.Plan(in.Primary).Calls[0]
	tools := env.View().Tools
	at := slices.IndexFunc(tools, func(tool *task.Tool) bool { return tool.Name == call.Tool })
	if at < 0 || tools[at].Body == nil {
		return b, nil
	}
	for i := range tools[at].Body.Bindings {
		argument := &tools[at].Body.Bindings[i]
		_, isText := call.Arguments[argument.Argument].(string)
		if !isText || argument.Column == "" || argument.Role == task.RoleCompare {
			continue
		}
		changed := maps.Clone(call.Arguments)
		changed[argument.Argument] = unheard
		arguments, err := literal.Append(nil, changed)
		if err != nil {
			return b, err
		}
		seen, err := env.Step(ctx, task.Turn{Actions: []task.Action{
			{Kind: task.ActionCall, Tool: call.Tool, Arguments: arguments},
		}})
		if err != nil {
			return b, err
		}
		b.texts++
		if len(seen) == 1 && (seen[0].Note != "" || seen[0].Error != nil) {
			b.noted++
		} else if b.silent == "" {
			b.silent = fmt.Sprintf("%s, argument %s", in.ID, argument.Argument)
		}
	}
	return b, nil
}
