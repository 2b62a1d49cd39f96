package request

// Distance is the edit distance of two texts, in letters.
func Distance(a, b string) int { return distance([]rune(a), []rune(b)) }
