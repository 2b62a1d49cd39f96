package task

import (
	"strconv"
	"strings"
)

func itoa(i int) string { return strconv.Itoa(i) }

// Reference points to an earlier result, or to one column of it.
type Reference struct {
	Label  string
	Column string // "" means the whole result
}

// String writes `$label$` or `$label.column$`.
func (r Reference) String() string {
	if r.Column == "" {
		return "$" + r.Label + "$"
	}
	return "$" + r.Label + "." + r.Column + "$"
}

// ParseReference reads `$label$` or `$label.column$`. A label is a letter or underscore followed by letters, digits and
// underscores; a column is any text without `$`.
func ParseReference(s string) (Reference, bool) {
	if len(s) < 3 || s[0] != '$' || s[len(s)-1] != '$' {
		return Reference{}, false
	}
	inner := s[1 : len(s)-1]
	if strings.Contains(inner, "$") {
		return Reference{}, false
	}
	label, column, dotted := strings.Cut(inner, ".")
	if !IsLabel(label) || dotted && column == "" {
		return Reference{}, false
	}
	return Reference{Label: label, Column: column}, true
}

// IsLabel reports whether s can name a call.
func IsLabel(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// EscapeText writes a literal text so that it is not read as a reference: it prefixes a text that begins with `$` with
// another `$`.
func EscapeText(s string) string {
	if strings.HasPrefix(s, "$") {
		return "$" + s
	}
	return s
}

// UnescapeText is the inverse of [EscapeText]. A single leading `$` that does not begin a reference stays as it is.
func UnescapeText(s string) string {
	if strings.HasPrefix(s, "$$") {
		return s[1:]
	}
	return s
}

// References lists the references in the arguments of a call, in the order of the arguments' names.
func (c *Call) References() []Reference {
	var refs []Reference
	for _, name := range sortedKeys(c.Arguments) {
		refs = appendReferences(refs, c.Arguments[name])
	}
	return refs
}

func appendReferences(refs []Reference, v any) []Reference {
	switch v := v.(type) {
	case string:
		if r, ok := ParseReference(v); ok {
			refs = append(refs, r)
		}
	case []any:
		for _, e := range v {
			refs = appendReferences(refs, e)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			refs = appendReferences(refs, v[k])
		}
	}
	return refs
}

// WorkflowOf derives the workflow from the graph of the calls. One call is single. A chain in which each call uses the
// previous one is sequential. Calls are parallel if at most the last uses others and at least two use none. All else is
// mixed.
func WorkflowOf(calls []Call) string {
	if len(calls) <= 1 {
		return WorkflowSingle
	}
	index := make(map[string]int, len(calls))
	for i, c := range calls {
		index[c.Label] = i
	}
	uses := make([]map[int]bool, len(calls))
	users := make([]int, len(calls))
	for i := range calls {
		uses[i] = map[int]bool{}
		for _, r := range calls[i].References() {
			if j, ok := index[r.Label]; ok && !uses[i][j] {
				uses[i][j] = true
				users[j]++
			}
		}
	}
	chain := true
	for i := range calls {
		switch {
		case i == 0 && len(uses[i]) != 0, i > 0 && (len(uses[i]) != 1 || !uses[i][i-1]):
			chain = false
		}
	}
	if chain {
		return WorkflowSequential
	}
	for i := range calls[:len(calls)-1] {
		if len(uses[i]) != 0 {
			return WorkflowMixed
		}
	}
	return WorkflowParallel
}
