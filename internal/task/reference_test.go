package task

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseReference(t *testing.T) {
	for text, want := range map[string]Reference{
		"$a$": {Label: "a"}, "$call_1$": {Label: "call_1"}, "$_x.b c$": {"_x", "b c"}, "$a.b.c$": {"a", "b.c"},
		"$a.1$": {"a", "1"},
		"$A.é$": {"A", "é"}, "$a. $": {"a", " "},
	} {
		if got, ok := ParseReference(text); !ok || got != want || got.String() != text {
			t.Errorf("%s is read as %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "$", "$$", "$$$", "a", "$a", "a$", "$1$", "$a.$", "$.b$", "$a b$", "$$a$", "$a$$",
		"$a.b$c$", " $a$", "$a$ ", "$é$", "$5"} {
		if got, ok := ParseReference(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzReference(f *testing.F) {
	for _, s := range []string{"", "$", "$$", "$a$", "$$a$", "$a.b$", "text", "$5", "$a.b$c$", "$$$a$"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, ok := ParseReference(s); ok {
			if r.String() != s || !IsLabel(r.Label) || strings.Contains(r.Column, "$") {
				t.Errorf("%q is read as %+v", s, r)
			}
		}
		escaped := EscapeText(s)
		if back := UnescapeText(escaped); back != s {
			t.Errorf("%q is escaped as %q and comes back as %q", s, escaped, back)
		}
		if r, ok := ParseReference(escaped); ok {
			t.Errorf("the text %q is read as %+v", escaped, r)
		}
	})
}

func TestReferences(t *testing.T) {
	c := Call{Arguments: map[string]any{
		"z": "$last$", "a": []any{"$first.x$", "$$not$", map[string]any{"k": "$second$", "b": "$inner$"}, int64(1)},
		"m": "plain",
	}}
	want := []Reference{{"first", "x"}, {"inner", ""}, {"second", ""}, {"last", ""}}
	if got := c.References(); !reflect.DeepEqual(got, want) {
		t.Errorf("references: %v", got)
	}
}

// TestWorkflowOf writes each graph as the labels that each call uses: `-ab` is a call that uses none, then one that
// uses the first and the second.
func TestWorkflowOf(t *testing.T) {
	for _, c := range []struct{ name, graph, want string }{
		{"nothing", "", WorkflowSingle},
		{"one", ".", WorkflowSingle},
		{"chain of two", ". a", WorkflowSequential},
		{"chain of four", ". a b c", WorkflowSequential},
		{"two apart", ". .", WorkflowParallel},
		{"three apart", ". . .", WorkflowParallel},
		{"two into one", ". . ab", WorkflowParallel},
		{"three of which the last uses one", ". . b", WorkflowParallel},
		{"diamond", ". a a bc", WorkflowMixed},
		{"fork", ". a a", WorkflowMixed},
		{"two chains", ". . a b", WorkflowMixed},
		{"chain with a side input", ". a . bc", WorkflowMixed},
		{"chain that skips back", ". a ab", WorkflowMixed},
		{"chain that leaps", ". a a", WorkflowMixed},
		{"first uses a later one", "b .", WorkflowMixed},
		{"itself", "a .", WorkflowMixed},
		{"twice the same", ". aa", WorkflowSequential},
		{"an unknown label", ". x", WorkflowParallel},
	} {
		var calls []Call
		for i, uses := range strings.Fields(c.graph) {
			call := Call{Label: string(rune('a' + i)), Arguments: map[string]any{}}
			for j, u := range strings.Trim(uses, ".") {
				call.Arguments[string(rune('p'+j))] = "$" + string(u) + ".col$"
			}
			calls = append(calls, call)
		}
		if got := WorkflowOf(calls); got != c.want {
			t.Errorf("%s (%s) is %s, want %s", c.name, c.graph, got, c.want)
		}
	}
}
