package reply

import "regexp"

// format is a way in which models mark calls in text. Adding one takes a file with its row, a line in the table, and a
// writer in the tests, which render calls in it and read them back.
type format struct {
	name   string
	models string // some that write so
	source string // where the format is documented
	mark   *regexp.Regexp
	// read reads from a mark, from start to inner, at least up to the mark's end. If mark has a group, inner is its start.
	read func(p *reading, text string, start, inner int) claim
}

// formats is the table of marked formats. Of two marks at the same place the earlier row counts; the last row takes any
// other token that speaks of calls, so that an unknown format is read if it can be, and named otherwise.
var formats = []*format{
	harmony, deepSeek, kimi, gemma, mistral, hermes, functionTags, llama, cohere, functionary, words, otherToken,
}
