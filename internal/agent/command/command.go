// Package command runs the programs that users bring as agents: it reads how they are to be started, starts them with
// their children in keeping, ends them all when their time is over, hides files from them where the system can, and
// reads what they say last. It must never know what an episode, a suite or an answer's worth is.
package command

import (
	"fmt"
	"os/exec"
	"strings"
)

// Placeholders of a command line.
const (
	PlaceRequest = "{request}" // the request, as part of an argument; standard input is then empty
	PlaceConfig  = "{config}"  // the path of a file that tells an MCP client where the tools are
	PlaceAnswer  = "{answer}"  // the path of the file in which the answer is looked for in place of the last line
)

// Line is a command line in its words, before placeholders are replaced.
type Line []string

// Parse splits a command line into words as shells do: at blanks, which quotes and backslashes take along. Nothing else
// of a shell means anything here: `sh -c '...'` has it. The error says what is wrong in a sentence's words.
//
//nolint:gocyclo // one switch over the characters of a command line
func Parse(text string) (Line, error) {
	var words Line
	var word strings.Builder
	inWord := false
	quote := rune(0)
	escaped := false
	for _, c := range text {
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' && c != '$' && c != '`' {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false
		case c == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, inWord = c, true
		case quote == 0 && (c == ' ' || c == '\t'):
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		case c == '\n' || c == '\r' || c == 0:
			return nil, fmt.Errorf("it has more than one line")
		default:
			word.WriteRune(c)
			inWord = true
		}
	}
	switch {
	case escaped:
		return nil, fmt.Errorf("nothing follows its last backslash")
	case quote != 0:
		return nil, fmt.Errorf("its quote %c is not closed", quote)
	case inWord:
		words = append(words, word.String())
	}
	if len(words) == 0 || words[0] == "" {
		return nil, fmt.Errorf("it names no program")
	}
	return words, nil
}

// Has says whether a placeholder stands in the line.
func (l Line) Has(place string) bool {
	for _, word := range l[1:] {
		if strings.Contains(word, place) {
			return true
		}
	}
	return false
}

// Fill gives the words with their placeholders replaced; what is put in is not looked through again. The name of the
// program has no placeholders.
func (l Line) Fill(request, config, answer string) []string {
	fill := strings.NewReplacer(PlaceRequest, request, PlaceConfig, config, PlaceAnswer, answer)
	words := make([]string, len(l))
	words[0] = l[0]
	for i, word := range l[1:] {
		words[i+1] = fill.Replace(word)
	}
	return words
}

// Find gives the path of the line's program, as the user's own search path leads to it.
func (l Line) Find() (string, error) {
	return exec.LookPath(l[0])
}
