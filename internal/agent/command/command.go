// Package command runs the programs that users bring as agents. It parses their command lines, supervises them and
// their children, ends them all when their time is up, hides files from them where the system can, and reads their last
// words. It must never know what an episode or a suite is, or what an answer is worth.
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
	PlaceAnswer  = "{answer}"  // the path of the file that contains the answer, instead of the last line
)

// Line is a command line in its words, before placeholders are replaced.
type Line []string

// Parse splits a command line into words as shells do: at blanks outside quotes and not after a backslash. No other
// shell syntax has a meaning here: use `sh -c '...'`. The error says what is wrong in plain words.
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

// Has reports whether the line contains a placeholder.
func (l Line) Has(place string) bool {
	for _, word := range l[1:] {
		if strings.Contains(word, place) {
			return true
		}
	}
	return false
}

// Fill returns the words with placeholders replaced. It does not expand placeholders in the inserted text or in the
// program's name.
func (l Line) Fill(request, config, answer string) []string {
	fill := strings.NewReplacer(PlaceRequest, request, PlaceConfig, config, PlaceAnswer, answer)
	words := make([]string, len(l))
	words[0] = l[0]
	for i, word := range l[1:] {
		words[i+1] = fill.Replace(word)
	}
	return words
}

// Find returns the path of the line's program, according to the user's search path.
func (l Line) Find() (string, error) {
	return exec.LookPath(l[0])
}
