package reply

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
)

// SQLReader finds the query in a reply.
type SQLReader struct {
	Tool     *task.Tool // that runs it
	Argument string     // by which the tool is given it
	calls    *Reader
}

// NewSQLReader makes a reader for the tool that runs the query, which it takes in that argument.
func NewSQLReader(tool *task.Tool, argument string) SQLReader {
	return SQLReader{Tool: tool, Argument: argument, calls: NewReader([]*task.Tool{tool})}
}

// SQLReading is what a reply was read into. Every part of it is in the statement, in the thought or in unparsed.
type SQLReading struct {
	Statement string // without a semicolon behind it; "" where there is none
	Declined  bool
	Reason    string // of declining
	Thought   string
	Unparsed  []task.Unparse
}

// sqlSearch is a reply on its way through the stages.
type sqlSearch struct {
	reader *SQLReader
	m      *model.Message
	text   string // without reasoning blocks
	found  []passage
}

// passage is a part of the reply that holds statements: span is what is taken out of the prose, with the marks around.
type passage struct {
	literal.Span
	statements []string
	rest       string // what stands in the span beside statements
}

// sqlStages are the ways to find a query, in the order in which they are tried; the first that finds one counts, and
// within it the last query: models write attempts and parts before the whole.
var sqlStages = []struct {
	name string
	find func(*sqlSearch)
}{
	{"native", findNativeSQL},
	{"fenced", findFencedSQL},
	{"tagged", findTaggedSQL},
	{"called", findCalledSQL},
	{"plain", findPlainSQL},
}

// sqlDecline is the line by which a model declines.
var sqlDecline = regexp.MustCompile(`(?im)^[ \t>*_#-]*decline[ \t]*[*_]*[ \t]*:[*_]*[ \t]*(.*)$`)

// Read reads a reply. It never fails: where there is no query the statement is empty.
func (r *SQLReader) Read(m *model.Message) SQLReading {
	thoughts, text := SplitThoughts(m.Content)
	var out SQLReading
	s := &sqlSearch{reader: r, m: m, text: text}
	for _, stage := range sqlStages {
		if stage.find(s); len(s.found) > 0 {
			break
		}
	}
	at := 0
	for i := range s.found {
		p := &s.found[i]
		thoughts.add(s.text[at:p.Start])
		thoughts.add(p.rest)
		at = p.End
		for _, statement := range p.statements {
			if out.Statement != "" {
				out.Unparsed = append(out.Unparsed, task.Unparse{Reason: ReasonSecondAction, Text: out.Statement})
			}
			out.Statement = statement
		}
	}
	rest := s.text[at:]
	if len(s.found) == 0 {
		if d := sqlDecline.FindStringSubmatchIndex(rest); d != nil {
			out.Declined, out.Reason = true, strings.TrimSpace(rest[d[2]:d[3]])
			thoughts.add(rest[:d[0]])
			if behind := strings.TrimSpace(rest[d[1]:]); behind != "" {
				out.Reason = strings.TrimSpace(out.Reason + "\n" + behind)
			}
			rest = ""
		} else {
			out.Unparsed, rest = unreadSQL(s.m, rest)
		}
	}
	thoughts.add(rest)
	out.Thought = thoughts.String()
	return out
}

// unreadSQL names what was meant as a query and is none: native calls, and fenced blocks of SQL.
func unreadSQL(m *model.Message, text string) (unparsed []task.Unparse, rest string) {
	for i := range m.ToolCalls {
		unparsed = append(unparsed, task.Unparse{
			Reason: ReasonBadArguments, Text: m.ToolCalls[i].Name + " " + m.ToolCalls[i].Arguments,
		})
	}
	at := 0
	for _, b := range fence.FindAllStringSubmatchIndex(text, -1) {
		if language, inner := sqlFence(text, b); sqlLanguages[language] && strings.TrimSpace(inner) != "" {
			unparsed = append(unparsed, task.Unparse{Reason: ReasonFence, Text: inner})
			rest += text[at:b[0]] + "\n"
			at = b[1]
		}
	}
	return unparsed, rest + text[at:]
}

func findNativeSQL(s *sqlSearch) {
	for i := range s.m.ToolCalls {
		arguments, _ := readArguments(s.m.ToolCalls[i].Arguments)
		if text, rest, ok := s.reader.queryIn(arguments); ok {
			s.found = append(s.found, passage{statements: asked(text), rest: rest})
		}
	}
}

// queryFields are names that models give to the argument with the query, beside its own.
var queryFields = []string{"sql", "query", "sql_query", "statement"}

// queryIn gives the query in the arguments of a call, or in a bare object, and what else stands there.
func (r *SQLReader) queryIn(arguments json.RawMessage) (text, rest string, ok bool) {
	if json.Unmarshal(arguments, &text) == nil {
		return text, "", len(statements(text)) > 0
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &fields) != nil {
		return "", "", false
	}
	for _, name := range append([]string{r.Argument}, queryFields...) {
		if value, given := fields[name]; given && json.Unmarshal(value, &text) == nil && strings.TrimSpace(text) != "" {
			if len(fields) > 1 {
				rest = string(arguments)
			}
			return text, rest, true
		}
	}
	return "", "", false
}

// asked gives the statements of a text that a call hands in, the text as a whole where none of it is a query: SQLite
// says what is wrong with it.
func asked(text string) []string {
	if list := statements(text); len(list) > 0 {
		return list
	}
	return []string{strings.TrimSpace(text)}
}

// sqlLanguages are the languages of fences in which SQL is expected.
var sqlLanguages = map[string]bool{"sql": true, "sqlite": true, "sqlite3": true, "postgresql": true, "mysql": true}

var sqlWord = regexp.MustCompile(`^(?i)\s*(sql|sqlite|sqlite3|postgresql|mysql)\b`)

// sqlFence gives the language of a fenced block and what is in it. On a single line the language may stand before the
// query.
func sqlFence(text string, m []int) (language, inner string) {
	language, inner = fenceLanguage(text, m), text[m[6]:m[7]]
	if word := sqlWord.FindStringSubmatch(inner); language == "" && word != nil {
		return strings.ToLower(word[1]), inner[len(word[0]):]
	}
	return language, inner
}

// findFencedSQL looks into fenced blocks of SQL and of no language that is another's. An object in one of JSON may hold
// the query.
func findFencedSQL(s *sqlSearch) {
	for _, m := range fence.FindAllStringSubmatchIndex(s.text, -1) {
		language, inner := sqlFence(s.text, m)
		if !sqlLanguages[language] && callLanguages[language] {
			continue
		}
		if list := statements(inner); len(list) > 0 {
			rest := foreignLanguage(language)
			if sqlLanguages[language] {
				rest = ""
			}
			s.found = append(s.found, passage{Span: literal.Span{Start: m[0], End: m[1]}, statements: list, rest: rest +
				without(inner, list)})
		}
	}
}

var sqlTag = regexp.MustCompile(`(?is)<(?:sql|query|sql_query|answer)>(.*?)(?:</(?:sql|query|sql_query|answer)>|\z)`)

func findTaggedSQL(s *sqlSearch) {
	for _, m := range sqlTag.FindAllStringSubmatchIndex(s.text, -1) {
		inner := s.text[m[2]:m[3]]
		if list := statements(inner); len(list) > 0 {
			s.found = append(s.found, passage{Span: literal.Span{Start: m[0], End: m[1]}, statements: list,
				rest: without(inner, list)})
		}
	}
}

// findCalledSQL reads a call of the tool that runs SQL, though none was asked for, or an object that holds the query.
func findCalledSQL(s *sqlSearch) {
	for _, m := range slices.Concat([][]int{{0, len(s.text), -1, -1, -1, -1, 0, len(s.text)}},
		fence.FindAllStringSubmatchIndex(s.text, -1)) {
		v := literal.NewReader(s.text[m[6]:m[7]], false)
		n, err := v.Value()
		v.Space()
		if err != nil || v.AtEnd() != nil || n.Kind != literal.ObjectKind {
			continue
		}
		object, err := n.AppendJSON(nil)
		if err != nil || n.Field(nameFields...) >= 0 {
			continue
		}
		if text, rest, ok := s.reader.queryIn(object); ok {
			s.found = append(s.found, passage{Span: literal.Span{Start: m[0], End: m[1]}, statements: asked(text), rest: rest})
			return
		}
	}
	r := s.reader.calls.Read(&model.Message{Content: s.text}, nil)
	var list []string
	rest := []string{r.Thought}
	for i := range r.Calls {
		c := &r.Calls[i]
		if text, more, ok := s.reader.queryIn(c.Arguments); ok {
			list = append(list, asked(text)...)
			rest = append(rest, more, c.Label)
			if c.Tool != s.reader.Tool.Name {
				rest = append(rest, c.Tool)
			}
			continue
		}
		rest = append(rest, callText(c))
	}
	if len(list) == 0 {
		return
	}
	for _, u := range r.Unparsed {
		rest = append(rest, u.Text)
	}
	rest = slices.DeleteFunc(rest, func(text string) bool { return text == "" })
	s.found = append(s.found, passage{Span: literal.Span{Start: 0, End: len(s.text)}, statements: list,
		rest: strings.Join(rest, "\n")})
}

var (
	// sqlStart is where a query may begin in prose: a line, perhaps behind a list mark, what follows a colon, or code
	// between backticks.
	sqlStart = regexp.MustCompile("(?im)(?:^[ \t>*-]*(?:[0-9]+[.)][ \t]+)?|:[ \t]*|(`))" + `(\(*\s*(?:` + sqlSelect + `|` +
		sqlWith + `))`)
	// sqlQuery is how a query begins.
	sqlQuery = regexp.MustCompile(`^(?i)(?:[\s(]|--[^\n]*\n|/\*(?s:.*?)\*/)*(?:` + sqlSelect + `|` + sqlWith + `)`)
	sqlFrom  = regexp.MustCompile(`(?i)\bfrom\b`)
	// sqlMore is how a query goes on behind an empty line.
	sqlMore = regexp.MustCompile(`^(?i)\s*(?:from|where|group\s+by|order\s+by|having|limit|union|intersect|except|(?:left|inner|cross|outer)?\s*join|on|and|or|select|[),]|--)`)
)

const (
	sqlSelect = `select\b`
	sqlWith   = "with\\s+(?:recursive\\s+)?[\\w\"`\\[\\]]+\\s*(?:\\([^()]*\\)\\s*)?as\\s*(?:not\\s+)?(?:materialized\\s*)?\\("
)

// findPlainSQL looks for queries outside fences, between lines of prose.
func findPlainSQL(s *sqlSearch) {
	at, budget := 0, attemptBudget(literal.Span{Start: 0, End: len(s.text)})
	for at < len(s.text) && budget > 0 {
		m := sqlStart.FindStringSubmatchIndex(s.text[at:])
		if m == nil {
			return
		}
		start := at + m[4]
		inline := m[2] >= 0
		end := statementEnd(s.text[start:], inline) + start
		budget -= end - start
		text := strings.TrimSpace(s.text[start:end])
		ended := end < len(s.text) && s.text[end] == ';'
		if !written(text, inline || ended) {
			at += m[5]
			continue
		}
		p := passage{Span: literal.Span{Start: start, End: end}, statements: []string{text}}
		if ended {
			p.End++
		}
		s.found = append(s.found, p)
		at = p.End
	}
}

// written tells a query from a sentence that begins with one of its words: SQL is written in capitals, or in small
// letters with a FROM; a sentence begins with a capital and goes on in small letters.
func written(text string, marked bool) bool {
	word := strings.TrimLeft(text, "( \t\r\n")
	word = word[:strings.IndexFunc(word+" ", func(r rune) bool { return r < 'A' || r > 'z' })]
	switch {
	case word == strings.ToUpper(word):
		return true
	case word == strings.ToLower(word):
		return marked || sqlFrom.MatchString(text)
	default:
		return marked && sqlFrom.MatchString(text)
	}
}

// statementEnd gives the length of the statement with which a text begins: up to a semicolon, to an empty line behind
// which it does not go on, or, inline, to the closing backtick.
func statementEnd(text string, inline bool) int {
	depth := 0
	for i := 0; i < len(text); {
		if n := quotedSQL(text[i:]); n > 0 && (!inline || text[i] != '`') {
			i += n
			continue
		}
		switch text[i] {
		case '`':
			return i // inline
		case '(':
			depth++
		case ')':
			depth--
		case ';':
			return i
		case '\n':
			blank := strings.TrimLeft(text[i+1:], " \t\r")
			if depth <= 0 && (strings.HasPrefix(blank, "```") || strings.HasPrefix(blank, "\n") && !sqlMore.MatchString(blank)) {
				return i
			}
		}
		i++
	}
	return len(text)
}

// quotedSQL gives the length of the quoted text or the comment with which a text begins, 0 where it begins with
// neither. What is not closed goes on to the end.
func quotedSQL(text string) int {
	to := func(from int, end string) int {
		if at := strings.Index(text[from:], end); at >= 0 {
			return from + at + len(end)
		}
		return len(text)
	}
	switch {
	case text[0] == '\'', text[0] == '"', text[0] == '`':
		return to(1, text[:1]) // a doubled quote is the end of one text and the beginning of the next
	case strings.HasPrefix(text, "--"):
		return to(2, "\n")
	case strings.HasPrefix(text, "/*"):
		return to(2, "*/")
	default:
		return 0
	}
}

// statements lists the queries of a text that is SQL, without their semicolons: what does not begin like one is left
// out.
func statements(text string) []string {
	var list []string
	start := 0
	add := func(end int) {
		if one := strings.TrimSpace(text[start:end]); sqlQuery.MatchString(one) {
			list = append(list, one)
		}
		start = end + 1
	}
	for i := 0; i < len(text); {
		if n := quotedSQL(text[i:]); n > 0 {
			i += n
			continue
		}
		if text[i] == ';' {
			add(i)
		}
		i++
	}
	if start < len(text) {
		add(len(text))
	}
	return list
}

// without gives what is left of a text when statements, which stand in it in that order, are taken out.
func without(text string, list []string) string {
	var b strings.Builder
	for _, statement := range list {
		before, after, _ := strings.Cut(text, statement)
		b.WriteString(before + "\n")
		text = after
	}
	b.WriteString(text)
	return strings.Trim(b.String(), "; \t\r\n")
}
