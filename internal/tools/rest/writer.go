package rest

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
	"github.com/seatrial/seatrial/internal/tools/function"
	"github.com/seatrial/seatrial/internal/tools/parameter"
	"golang.org/x/sync/errgroup"
)

// Writer writes a text that a prompt asks for; a chat model is one. An error is the writer's failure, not a bad text.
type Writer interface {
	Write(ctx context.Context, prompt string) (string, error)
}

// Written says what came of asking a writer about one endpoint. It holds nothing that an example asks with or that
// answers it, so it can be published.
type Written struct {
	Key        string             `json:"key"`    // a hash of what the endpoint means and of what the writer was told
	Writer     string             `json:"writer"` // as its user names it
	Attempts   int                `json:"attempts"`
	Accepted   bool               `json:"accepted"` // otherwise the text that was derived stays
	Name       string             `json:"name,omitempty"`
	Summary    string             `json:"summary,omitempty"`
	Parameters []WrittenParameter `json:"parameters,omitempty"` // in the order of the endpoint's
	Complaint  string             `json:"complaint,omitempty"`  // why the last text was refused
}

// WrittenParameter is the description of one query parameter.
type WrittenParameter struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Rewrite says who is to improve the wording of endpoints, and how.
type Rewrite struct {
	Writer  Writer
	Name    string    // of the writer, for the record
	Workers int       // calls at a time; below 1 is 1
	Cache   []Written // what was written before: nobody is asked again about an endpoint that stands here
	// Answers holds the values that no text may tell, by the name that [Library.Name] gave the endpoint: the answers of
	// its examples. The literals of the examples are known to the library.
	Answers map[string][]task.Value
}

// Bounds on what a writer may write. A text that is refused is asked for again, with the reason, until attempts are
// used up.
const (
	writerAttempts     = 3
	longestSummary     = 200 // bytes
	longestDescription = 400 // bytes
)

// Complaints about a text. None quotes it.
const (
	complainForm = "the reply is not one JSON object with exactly the fields name, summary and parameters, and " +
		"nothing around it"
	complainName = "the name is not made of small letters, digits and underscores, beginning with a letter, or " +
		"is longer than 64 characters"
	complainTaken       = "the name belongs to another endpoint: say more of what tells this one from others"
	complainSummary     = "the summary is not one sentence on one line of at most 200 bytes"
	complainParameters  = "parameters does not hold exactly the parameters of the endpoint"
	complainDescription = "a parameter's description is empty, not on one line, or longer than 400 bytes"
	complainLeak        = "the text mentions a value that somebody may ask with or be answered: speak of the columns alone"
)

// Rewrite lets a writer improve the names, summaries and parameter descriptions of the endpoints that [Library.Name]
// named, and gives all tools in their order again, with a record of each endpoint in the order of the derived names. A
// text is taken only if it has the right form, its name and path are unique, and it tells no literal of an example and
// no answer; otherwise the derived text stays. The outcome depends on the writer's replies alone, not on the number of
// workers. Where the writer fails, the records of the endpoints that are settled come with the error.
func (l *Library) Rewrite(ctx context.Context, r Rewrite) ([]*task.Tool, []Written, error) {
	taken := owners{}
	pages := l.pages(r, taken)
	fromCache(pages, r, taken)
	for attempt := 1; attempt <= writerAttempts; attempt++ {
		var open []*page
		for _, p := range pages {
			if !p.settled {
				open = append(open, p)
			}
		}
		replies, came := make([]string, len(open)), make([]bool, len(open))
		group, within := errgroup.WithContext(ctx)
		group.SetLimit(max(r.Workers, 1))
		for i, p := range open {
			group.Go(func() (err error) {
				defer diag.Guard(&err, "the writer, asked about %s", p.e.Tool.Name)
				reply, err := r.Writer.Write(within, p.request())
				if err != nil {
					return fmt.Errorf("the writer %s, asked about %s: %w", r.Name, p.e.Tool.Name, err)
				}
				replies[i], came[i] = reply, true
				return nil
			})
		}
		err := group.Wait()
		for i, p := range open {
			if !came[i] {
				continue
			}
			p.record.Attempts = attempt
			p.judge(replies[i], taken)
			p.settled = p.record.Accepted || attempt == writerAttempts
		}
		if err != nil {
			return l.tools, records(pages), err
		}
	}
	for _, p := range pages {
		if p.record.Accepted {
			p.apply()
		}
	}
	slices.SortStableFunc(l.tools, compareTools)
	return l.tools, records(pages), nil
}

// records lists what is settled, in order.
func records(pages []*page) []Written {
	var out []Written
	for _, p := range pages {
		if p.settled {
			out = append(out, p.record)
		}
	}
	return out
}

// page is one endpoint on its way through a writer.
type page struct {
	e       *endpoint
	prompt  string
	known   map[string]bool // words that the derived text says already
	secrets []secret
	record  Written
	settled bool
}

// secret is a value that may not be told: its words, or its signs where it has none.
type secret struct {
	words []string
	signs string
}

// owners says to which endpoint a name or a path belongs.
type owners map[string]*endpoint

func (o owners) take(e *endpoint, name string) { o[name], o[pathOf(e, name)] = e, e }

// pages makes ready the endpoints of a library, in the order of databases and derived names.
func (l *Library) pages(r Rewrite, taken owners) []*page {
	var pages []*page
	for _, e := range l.byKey {
		if e.Tool == nil {
			continue
		}
		taken[e.Tool.Name], taken[e.Tool.Path] = e, e
		specification := specify(e)
		p := &page{e: e, prompt: instructions + specification + "\n", known: map[string]bool{}}
		for _, w := range slices.Concat(plainWords(specification), signs(specification)) {
			p.known[w] = true
		}
		for _, v := range slices.Concat(e.literals, r.Answers[e.Tool.Name]) {
			if v == nil {
				continue
			}
			text := parameter.Spell(v)
			if words := plainWords(text); len(words) > 0 {
				p.secrets = append(p.secrets, secret{words: words})
			} else if text = strings.TrimSpace(text); text != "" {
				p.secrets = append(p.secrets, secret{signs: text})
			}
		}
		p.record = Written{Key: task.Hash(0, e.key, p.prompt), Writer: r.Name}
		pages = append(pages, p)
	}
	slices.SortFunc(pages, func(a, b *page) int { return compareTools(a.e.Tool, b.e.Tool) })
	return pages
}

// fromCache settles the endpoints about which the cache knows. A cached text that would not be taken today is
// forgotten.
func fromCache(pages []*page, r Rewrite, taken owners) {
	cache := map[string]Written{}
	for _, w := range r.Cache {
		if w.Writer == r.Name {
			cache[w.Key] = w
		}
	}
	for _, p := range pages {
		w, found := cache[p.record.Key]
		if !found {
			continue
		}
		if w.Accepted {
			if p.complaint(taken, w.Name, w.Summary, w.Parameters) != "" {
				continue
			}
			taken.take(p.e, w.Name)
		}
		p.record, p.settled = w, true
	}
}

// specify describes an endpoint to a writer. It holds nothing from a question or an answer.
func specify(e *endpoint) string {
	specification, err := task.Marshal(struct {
		Database    string       `json:"database"`
		Name        string       `json:"name"`
		Description string       `json:"description"`
		Parameters  *task.Schema `json:"parameters"`
		Returns     *task.Schema `json:"returns"`
	}{e.Database, e.Tool.Name, e.Tool.Description, e.Tool.Parameters, e.Tool.Returns})
	if err != nil {
		panic(err) // plain data always has a JSON form
	}
	return string(specification)
}

// instructions stand before the specification of an endpoint in a prompt.
const instructions = `You are writing the reference of a read-only HTTP API over a database. Below is one of its GET endpoints, with a name
and descriptions that a program derived. Improve the wording, so that a developer who reads only your text knows when to
call this endpoint and with what. Do not change what it means: the derived description is exact.

Reply with one JSON object, and nothing before or behind it:
{"name": "...", "summary": "...", "parameters": {"<parameter>": "<description>", ...}}

- name: small letters, digits and underscores, at most 64 characters, beginning with a verb (get, count, list, find). It
  names what comes back and what it can be asked by. No other endpoint may have it.
- summary: one sentence of at most 200 bytes that says what comes back and under which conditions.
- parameters: every parameter of the endpoint under its own name, unchanged, with a description of at most 400 bytes:
  what the value is compared with and how (equal, above, at least, contains …), its format and its unit. No others.
- Speak of columns and tables, never of particular values: give no examples of what might be asked or answered.

The endpoint:
`

// request is what the writer is asked this time.
func (p *page) request() string {
	if p.record.Complaint == "" {
		return p.prompt
	}
	return p.prompt + "\nYour last reply was refused: " + p.record.Complaint + ". Write it anew.\n"
}

// judge takes a reply or complains about it.
func (p *page) judge(reply string, taken owners) {
	var text struct {
		Name       *string           `json:"name"`
		Summary    *string           `json:"summary"`
		Parameters map[string]string `json:"parameters"`
	}
	if err := task.DecodeStrict([]byte(reply), &text); err != nil || text.Name == nil || text.Summary == nil ||
		text.Parameters == nil && len(p.e.Bindings) > 0 {
		p.record.Complaint = complainForm
		return
	}
	var parameters []WrittenParameter
	for _, b := range p.e.Bindings {
		description, given := text.Parameters[b.Argument]
		if !given {
			p.record.Complaint = complainParameters
			return
		}
		parameters = append(parameters, WrittenParameter{Name: b.Argument, Description: description})
	}
	if len(text.Parameters) != len(parameters) {
		p.record.Complaint = complainParameters
		return
	}
	if complaint := p.complaint(taken, *text.Name, *text.Summary, parameters); complaint != "" {
		p.record.Complaint = complaint
		return
	}
	taken.take(p.e, *text.Name)
	p.record.Accepted, p.record.Complaint = true, ""
	p.record.Name, p.record.Summary, p.record.Parameters = *text.Name, *text.Summary, parameters
}

var writtenName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// complaint says what is wrong with a text, "" for nothing.
func (p *page) complaint(taken owners, name, summary string, parameters []WrittenParameter) string {
	if !writtenName.MatchString(name) || len(name) > function.MaxNameLength || strings.HasSuffix(name, "_") {
		return complainName
	}
	for _, key := range []string{name, pathOf(p.e, name)} {
		if other := taken[key]; other != nil && other != p.e {
			return complainTaken
		}
	}
	if !oneLine(summary, longestSummary) || sentences(summary) != 1 {
		return complainSummary
	}
	if len(parameters) != len(p.e.Bindings) {
		return complainParameters
	}
	texts := []string{strings.ReplaceAll(name, "_", " "), summary}
	for i, w := range parameters {
		if w.Name != p.e.Bindings[i].Argument {
			return complainParameters
		}
		if !oneLine(w.Description, longestDescription) {
			return complainDescription
		}
		texts = append(texts, w.Description)
	}
	for _, text := range texts {
		if p.leaks(text) {
			return complainLeak
		}
	}
	return ""
}

func oneLine(s string, longest int) bool {
	return strings.TrimSpace(s) != "" && len(s) <= longest && utf8.ValidString(s) &&
		strings.IndexFunc(s, unicode.IsControl) < 0
}

// sentences counts the sentences of a text: places where one ends and another begins, and one more.
func sentences(s string) int {
	n := 1
	for _, end := range []string{". ", "! ", "? "} {
		n += strings.Count(strings.TrimSpace(s), end)
	}
	return n
}

// distinctive is the length, in runes, from which a single word of a longer value gives it away.
const distinctive = 4

// leaks reports whether a text tells a value that the derived text does not tell already: all its words in a row, or
// one of them that is long enough to give it away.
func (p *page) leaks(text string) bool {
	words, marks := plainWords(text), signs(text)
	for _, s := range p.secrets {
		if s.signs != "" {
			if !p.known[s.signs] && slices.Contains(marks, s.signs) {
				return true
			}
			continue
		}
		fresh := slices.ContainsFunc(s.words, func(w string) bool { return !p.known[w] })
		if fresh && contains(words, s.words) {
			return true
		}
		for _, w := range s.words {
			if utf8.RuneCountInString(w) >= distinctive && !p.known[w] && slices.Contains(words, w) {
				return true
			}
		}
	}
	return false
}

// contains reports whether part stands in words, in a row.
func contains(words, part []string) bool {
	for i := 0; i+len(part) <= len(words); i++ {
		if slices.Equal(words[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// plainWords splits a text of any language into words without case and diacritics.
func plainWords(s string) []string {
	var list []string
	for _, w := range english.Words(s) {
		list = append(list, w.Folded)
	}
	return list
}

// signs lists what stands between spaces, quotation marks or brackets and holds no letter and no digit, such as `+`.
func signs(s string) []string {
	return slices.DeleteFunc(strings.FieldsFunc(s, func(c rune) bool {
		return unicode.IsSpace(c) || strings.ContainsRune("\"'`“”‘’(),.;:", c)
	}), func(w string) bool {
		return strings.IndexFunc(w, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) >= 0
	})
}

func pathOf(e *endpoint, name string) string {
	resource := strings.TrimPrefix(name, "get_")
	if resource == "" {
		resource = name
	}
	return "/v1/" + url.PathEscape(e.Database) + "/" + resource
}

// apply puts an accepted text into the endpoint's tool.
func (p *page) apply() {
	e, w := p.e, p.record
	summary := strings.TrimRight(w.Summary, " .") + "."
	e.Describe.Summary = summary + strings.TrimPrefix(e.Describe.Summary, e.summary)
	e.summary = summary
	for i, parameter := range w.Parameters {
		e.Describe.Arguments[i] = parameter.Description
	}
	tool := e.Tool
	e.makeEndpoint(w.Name, pathOf(e, w.Name))
	*tool = *e.Tool // keep the tools that were handed out up to date
	e.Tool = tool
}

// compareTools orders endpoints by database and name.
func compareTools(a, b *task.Tool) int {
	return cmp.Or(strings.Compare(a.Database, b.Database), strings.Compare(a.Name, b.Name))
}
