package universe

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

var plainWord = regexp.MustCompile(`[\pL\pN]+(?:['’-][\pL\pN]+)*`)

// Words lists the words of a text in their order, with apostrophes and hyphens inside them. An underscore parts words.
func Words(text string) []string {
	return plainWord.FindAllString(strings.ReplaceAll(text, "_", " "), -1)
}

// ContentWords gives the words of a text that carry meaning, without case and without the ending of a plural: of at least
// three letters, no numbers, none of those that hold sentences together and none that every request has.
func ContentWords(text string) map[string]bool {
	words := map[string]bool{}
	for _, w := range Words(strings.ToLower(text)) {
		w, _, _ = strings.Cut(strings.ReplaceAll(w, "’", "'"), "'")
		if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") {
			w = strings.TrimSuffix(w, "s")
		}
		if len(w) >= 3 && !slices.Contains(functionWords, w) && !unicode.IsDigit(rune(w[0])) {
			words[w] = true
		}
	}
	return words
}

var functionWords = strings.Fields(`the and for are was were has have had with that this those these who what which when where
	whose how many much all any each every not none from into than then there they them its their his her him you your our out
	per more most less least give get list show find tell return name number value row database tool function does did can may one
	two only also between but about over under been being other another`)

// HasPhrase says whether a text has a phrase, without regard to case, that no letter or digit adjoins. No text has the
// empty phrase.
func HasPhrase(text, phrase string) bool {
	text, phrase = strings.ToLower(text), strings.ToLower(phrase)
	for from := 0; phrase != ""; {
		at := strings.Index(text[from:], phrase)
		if at < 0 {
			return false
		}
		at += from
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
		if !isWordRune(before) && !isWordRune(after) {
			return true
		}
		from = at + 1
	}
	return false
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
