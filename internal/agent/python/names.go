package python

import "iter"

// identifiers returns the possible names in a text of Python or JSON, including strings: runs of letters, digits and
// underscores. Bytes beyond ASCII count as letters.
func identifiers(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		begin := -1
		for i := range len(text) + 1 {
			if i < len(text) && partOfName(text[i]) {
				if begin < 0 {
					begin = i
				}
			} else if begin >= 0 {
				if !yield(text[begin:i]) {
					return
				}
				begin = -1
			}
		}
	}
}

func partOfName(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}
