// Package repr reads the lists, tuples and dictionaries that Python's repr prints. It must never know what an answer
// should be.
package repr

import (
	"encoding/json"
	"strings"
)

// Read returns a text as JSON if the whole is a list, tuple or dictionary as Python prints it, or JSON with commas
// before closing brackets. It returns nil for anything else, valid JSON too.
func Read(text string) json.RawMessage {
	if text == "" || !strings.ContainsRune("[({", rune(text[0])) || json.Valid([]byte(text)) {
		return nil
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\'' || c == '"':
			decoded, length := unquote(text[i:])
			if length == 0 {
				return nil
			}
			quoted, err := json.Marshal(decoded)
			if err != nil {
				return nil
			}
			out = append(out, quoted...)
			i += length
		case strings.IndexByte("[({,:", c) >= 0:
			if c == '(' {
				c = '['
			}
			out = append(out, c)
			i++
		case strings.IndexByte("])}", c) >= 0:
			if c == ')' {
				c = ']'
			}
			if out = trimBlank(out); len(out) > 0 && out[len(out)-1] == ',' {
				out = out[:len(out)-1]
			}
			out = append(out, c)
			i++
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			out = append(out, c)
			i++
		default:
			end := len(text)
			if n := strings.IndexAny(text[i:], "[](){},: \t\r\n'\""); n >= 0 {
				end = i + n
			}
			word := text[i:end]
			if plain, known := words[word]; known {
				word = plain
			}
			out = append(out, word...)
			i = end
		}
	}
	if !json.Valid(out) {
		return nil
	}
	return out
}

var words = map[string]string{"None": "null", "True": "true", "False": "false"}

func trimBlank(b []byte) []byte {
	for len(b) > 0 && strings.IndexByte(" \t\r\n", b[len(b)-1]) >= 0 {
		b = b[:len(b)-1]
	}
	return b
}

// unquote decodes the quoted text with which s begins, and returns how many bytes it takes; 0 if it does not end.
func unquote(s string) (string, int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return b.String(), i + 1
		case s[i] == '\\' && i+1 < len(s):
			i++
			switch s[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case '\\', '\'', '"':
				b.WriteByte(s[i])
			default:
				return "", 0
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0
}
