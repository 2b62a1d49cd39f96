package reply

import "regexp"

// format is one way in which models mark calls in text. To add one, write a file with its row, list it in [formats],
// and add a writer to the tests, which render calls in it and read them back.
type format struct {
	name   string
	models string // some models that use it
	source string // where the format is documented
	mark   *regexp.Regexp
	// read reads a marked call. The mark is text[start:inner], and read consumes at least the mark. If mark has a
	// group, inner is where the group starts.
	read func(p *reading, text string, start, inner int) claim
}

// formats is the table of marked formats. If two marks match at the same position, the earlier row wins. The last row
// matches any other token that mentions calls: an unknown format is read if possible, and named otherwise.
var formats = []*format{
	harmony, deepSeek, kimi, gemma, mistral, hermes, functionTags, llama, cohere, functionary, words, otherToken,
}
