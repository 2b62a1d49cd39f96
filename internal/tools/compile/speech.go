package compile

import "github.com/seatrial/seatrial/internal/sql/schema"

// ColumnWords names a column as people would, in words of lower case: `stu_fname` with the title "first name" gives
// first, name.
func ColumnWords(c *schema.Column) []string { return columnTokens(c) }

// TableNoun gives what one row of a table is called, and what several are.
func TableNoun(t *schema.Table) (one, many []string) {
	n := nounOf(t)
	return n.one, n.many
}

// PluralOf gives the plural of a phrase in words of lower case, which is that of its head.
func PluralOf(words []string) []string { return plural(words) }

// SingularOf gives the singular of a phrase, which is that of its last word.
func SingularOf(words []string) []string { return singular(words) }
