package twin

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/seatrial/seatrial/internal/universe"
)

// document is the words of a tool's specification with their weights, in the words' order, as a vector of length 1.
type document []term

type term struct {
	word   int // its number in the order of the words of all tools
	weight float64
}

// similarity says how similar two tools are, from 0 to 1: the cosine of the words of their names, descriptions,
// parameters and results, each word weighted by how few tools of the database and style have it. It is symmetric, and
// depends on specifications alone.
func similarity(a, b *tool) float64 {
	sum := 0.0
	for x, y := a.words, b.words; len(x) > 0 && len(y) > 0; {
		switch {
		case x[0].word < y[0].word:
			x = x[1:]
		case x[0].word > y[0].word:
			y = y[1:]
		default:
			sum += x[0].weight * y[0].weight
			x, y = x[1:], y[1:]
		}
	}
	return sum
}

// describe gives each tool of one database and style its document.
func describe(tools []*tool) {
	having := map[string]int{}
	counts := make([]map[string]int, len(tools))
	for i, t := range tools {
		counts[i] = wordsOf(t.Tool)
		for word := range counts[i] {
			having[word]++
		}
	}
	numbers := map[string]int{}
	for i, word := range slices.Sorted(maps.Keys(having)) {
		numbers[word] = i
	}
	for i, t := range tools {
		sum := 0.0
		for _, word := range slices.Sorted(maps.Keys(counts[i])) {
			weight := (1 + math.Log(float64(counts[i][word]))) * math.Log(1+float64(len(tools))/float64(having[word]))
			t.words = append(t.words, term{numbers[word], weight})
			sum += weight * weight
		}
		for j := range t.words {
			t.words[j].weight /= math.Sqrt(sum)
		}
	}
}

// wordsOf counts the words of a tool's specification.
func wordsOf(t *universe.Tool) map[string]int {
	counts := map[string]int{}
	add := func(text string) {
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			counts[word]++
		}
	}
	add(t.Name)
	add(t.Description)
	var walk func(s *universe.Schema)
	walk = func(s *universe.Schema) {
		if s == nil {
			return
		}
		add(s.Description)
		for _, p := range s.Properties {
			add(p.Name)
			walk(p.Schema)
		}
		walk(s.Items)
	}
	walk(t.Parameters)
	walk(t.Returns)
	return counts
}

// ranking is tools by their similarity to each of some others.
type ranking struct {
	lists [][]*tool // one for each of the others: the most similar first, ties in the suite's order
	best  map[*tool]float64
}

func rank(gold, left []*tool) *ranking {
	r := &ranking{best: make(map[*tool]float64, len(left))}
	for _, g := range gold {
		near := make(map[*tool]float64, len(left))
		for _, t := range left {
			near[t] = similarity(g, t)
			r.best[t] = max(r.best[t], near[t])
		}
		list := slices.Clone(left)
		slices.SortStableFunc(list, func(a, b *tool) int { return cmp.Compare(near[b], near[a]) })
		r.lists = append(r.lists, list)
	}
	return r
}

// pick takes tools that fit, at most size: round after round each list gives its first that is not taken.
func (r *ranking) pick(size int, fits func(*tool) bool) []*tool {
	var picked []*tool
	taken := map[*tool]bool{}
	next := make([]int, len(r.lists))
	for more := true; more && len(picked) < size; {
		more = false
		for i, list := range r.lists {
			for next[i] < len(list) && (taken[list[next[i]]] || !fits(list[next[i]])) {
				next[i]++
			}
			if next[i] < len(list) && len(picked) < size {
				t := list[next[i]]
				picked, taken[t], more = append(picked, t), true, true
			}
		}
	}
	return picked
}

// score says how similar tools are in all: more of them count more.
func (r *ranking) score(tools []*tool) float64 {
	sum := 0.0
	for _, t := range tools {
		sum += r.best[t]
	}
	return sum
}
