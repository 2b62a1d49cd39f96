package twin

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
	"github.com/seatrial/seatrial/internal/tools/embedding"
)

// Measure is a way of saying how similar tools are: [Lexical] or [ByMeaning].
type Measure struct {
	Name string // as a suite's settings record it
	// Related is from where on tools are related: near enough to be taken for one another.
	Related float64
	// Compare prepares the tools of one database and style. The function that it returns says how similar two tools are,
	// from 0 to 1: it is symmetric and depends on specifications alone.
	Compare func(ctx context.Context, tools []*task.Tool) (func(a, b *task.Tool) float64, error)
}

// Lexical measures by the cosine of the words of names, descriptions, parameters and results, each word weighted by how
// few of the tools prepared have it.
var Lexical = Measure{
	Name: "lexical", Related: 0.4,
	Compare: func(_ context.Context, tools []*task.Tool) (func(a, b *task.Tool) float64, error) {
		l := newLexicon(tools)
		return l.similarity, nil
	},
}

// ByMeaning measures by the cosine of vectors of names, descriptions, parameters and results, seen from the mean of the
// tools prepared; what points apart is not similar at all. A tool that was not prepared is similar to none.
func ByMeaning(vectors *embedding.Vectors) Measure {
	return Measure{
		Name: "embeddings " + vectors.Name(), Related: 0.4,
		Compare: func(ctx context.Context, tools []*task.Tool) (func(a, b *task.Tool) float64, error) {
			texts := Texts(tools)
			list, err := vectors.Of(ctx, texts...)
			if err != nil {
				return nil, err
			}
			vectors.Keep(texts...)
			of := make(map[*task.Tool]embedding.Vector, len(tools))
			for i, v := range embedding.Centred(list) {
				of[tools[i]] = v
			}
			return func(a, b *task.Tool) float64 {
				x, y := of[a], of[b]
				if x == nil || y == nil {
					return 0
				}
				return max(0, embedding.Cosine(x, y))
			}, nil
		},
	}
}

// Texts writes what [ByMeaning] compares of tools.
func Texts(tools []*task.Tool) []string {
	texts := make([]string, len(tools))
	for i, t := range tools {
		texts[i] = textOf(t)
	}
	return texts
}

// textOf writes what a tool's specification says as one text.
func textOf(t *task.Tool) string {
	var b strings.Builder
	b.WriteString(t.Name + ": " + t.Description)
	eachText(t, func(s string) {
		if s != "" {
			b.WriteString("\n" + s)
		}
	})
	return b.String()
}

// eachText returns what is said of a tool's parameters and results.
func eachText(t *task.Tool, say func(string)) {
	var walk func(s *task.Schema)
	walk = func(s *task.Schema) {
		if s == nil {
			return
		}
		say(s.Description)
		for _, p := range s.Properties {
			say(p.Name)
			walk(p.Schema)
		}
		walk(s.Items)
	}
	walk(t.Parameters)
	walk(t.Returns)
}

// document is the words of a tool's specification with their weights, in the words' order, as a vector of length 1.
type document []term

type term struct {
	word   int // its number in the order of the words of all tools
	weight float64
}

// lexicon is the words of the tools of one database and style.
type lexicon struct {
	tools     int
	having    map[string]int // how many tools have a word
	numbers   map[string]int // of words, in their order
	documents map[*task.Tool]document
}

func newLexicon(tools []*task.Tool) *lexicon {
	l := &lexicon{tools: len(tools), having: map[string]int{}, numbers: map[string]int{},
		documents: map[*task.Tool]document{}}
	counts := make([]map[string]int, len(tools))
	for i, t := range tools {
		counts[i] = wordsOf(t)
		for word := range counts[i] {
			l.having[word]++
		}
	}
	for i, word := range slices.Sorted(maps.Keys(l.having)) {
		l.numbers[word] = i
	}
	for i, t := range tools {
		l.documents[t] = l.document(counts[i])
	}
	return l
}

// document weighs words. One that no tool of the lexicon has counts for the length alone, as if one had it.
func (l *lexicon) document(counts map[string]int) document {
	var d document
	sum := 0.0
	for _, word := range slices.Sorted(maps.Keys(counts)) {
		number, known := l.numbers[word]
		weight := (1 + math.Log(float64(counts[word]))) * math.Log(1+float64(l.tools)/float64(max(l.having[word], 1)))
		sum += weight * weight
		if known {
			d = append(d, term{number, weight})
		}
	}
	for i := range d {
		d[i].weight /= math.Sqrt(sum)
	}
	return d
}

func (l *lexicon) documentOf(t *task.Tool) document {
	if d, known := l.documents[t]; known {
		return d
	}
	return l.document(wordsOf(t))
}

func (l *lexicon) similarity(a, b *task.Tool) float64 {
	sum := 0.0
	for x, y := l.documentOf(a), l.documentOf(b); len(x) > 0 && len(y) > 0; {
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

// wordsOf counts the words of a tool's specification.
func wordsOf(t *task.Tool) map[string]int {
	counts := map[string]int{}
	add := func(text string) {
		for _, word := range english.Words(text) {
			counts[strings.ToLower(word.Text)]++
		}
	}
	add(t.Name)
	add(t.Description)
	eachText(t, add)
	return counts
}

// ranking is tools by their similarity to each of some others.
type ranking struct {
	lists [][]*tool // one for each of the others: the most similar first, ties in the suite's order
	near  []map[*tool]float64
	best  map[*tool]float64
}

func (k *kit) rank(gold, left []*tool) *ranking {
	r := &ranking{best: make(map[*tool]float64, len(left))}
	for _, g := range gold {
		near := make(map[*tool]float64, len(left))
		for _, t := range left {
			near[t] = k.similar(g.Tool, t.Tool)
			r.best[t] = max(r.best[t], near[t])
		}
		list := slices.Clone(left)
		slices.SortStableFunc(list, func(a, b *tool) int { return cmp.Compare(near[b], near[a]) })
		r.lists, r.near = append(r.lists, list), append(r.near, near)
	}
	return r
}

// pick takes tools that fit, at most size: in each round, each list contributes its first tool that is not taken.
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
