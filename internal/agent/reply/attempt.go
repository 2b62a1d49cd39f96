package reply

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/literal"
	"github.com/seatrial/seatrial/internal/task/pattern"
)

// unknownMark matches a token or tag that is not meant for a human reader.
var unknownMark = pattern.New(`<[|｜][^<>\n|｜]{1,80}[|｜]>|(?i:` + wrapTag + `|` + bracketMark + `|` + gemmaMark +
	`)|` + functionTagForm + `|` + anyArgumentKey + `|` + callTag.String())

// callTag matches a tag whose name says that it is about calls. halfMark matches a mark that the end of a reply cuts
// off.
var (
	callTag = pattern.New(`(?i)</?(?:\w+[|_:.-])*` +
		`(?:tools?|functions?|calls?|invoke|toolcalls?|functioncalls?)(?:[|_:.-]\w+)*(?:[\s:=][^<>]*)?/?>`)
	halfMark = pattern.New(`(?i)(?:<[|｜][^<>\n]{3,80}|</?(?:\w+[|_:.-])*` +
		`(?:tool_?call|function_?call|function|invoke)[^<>\n]{0,200}|(?m:^>>>)\w*)$`)
)

// nameUnread names apparent calls in prose: a mark of calls, or an offered tool's name used as in a call. Such a reply
// is never an answer.
func (p *reading) nameUnread() {
	calls := p.hasCalls()
	for _, s := range p.free() {
		text := p.text[s.Start:s.End]
		at := p.unreadMark(text, calls)
		switch {
		case at >= 0:
		case calls:
			at = p.objectAfterTool(text)
		default:
			at = p.attemptedTool(text, s.Start)
		}
		if at >= 0 {
			p.claims = append(p.claims, claim{
				Span:     literal.Span{Start: s.Start + at, End: s.End},
				unparsed: []task.Unparse{{Reason: ReasonUnknownFormat, Text: strings.TrimSpace(text[at:])}},
			})
		}
	}
}

// objectAfter matches an object right after a name.
var objectAfter = pattern.New(nameOfObject + `\{`)

// objectAfterTool returns the position of an offered tool's name with an object after it, or -1: a call beside those
// that were read.
func (p *reading) objectAfterTool(text string) int {
	for _, m := range objectAfter.FindAllStringSubmatchIndex(text, -1) {
		if p.tools.known(p.tools.resolve(text[m[2]:m[3]])) {
			return m[2]
		}
	}
	return -1
}

// unreadMark returns the position of the first mark that no call explains, or -1. Marks beside calls that have no text
// between or after them only end a turn.
func (p *reading) unreadMark(text string, calls bool) int {
	marks := slices.DeleteFunc(unknownMark.FindAllStringIndex(text, -1), func(m []int) bool {
		return silentMark.MatchString(text[m[0]:m[1]])
	})
	if len(marks) == 0 {
		if half := halfMark.FindStringIndex(text); half != nil {
			return half[0]
		}
		return -1
	}
	first := marks[0][0]
	if calls && strings.TrimSpace(silentMark.ReplaceAllString(unknownMark.ReplaceAllString(text[first:], ""), "")) == "" {
		return -1
	}
	return first
}

// IsMention reports whether a part that could not be read is a tool's name used as in a call, without a mark of calls.
func IsMention(u task.Unparse) bool {
	named := u.Reason == ReasonUnknownFormat || u.Reason == ReasonExpression
	return named && !unknownMark.MatchString(u.Text) && !halfMark.MatchString(u.Text)
}

// callInMark matches what marks of calls have in common, and marks of prose lack.
var callInMark = pattern.New(
	`(?i)tool|func|call|invoke|action|arg|param|exec|commentary|recipient|python|plugin|>>>`)

// IsMarkedProse reports whether a part that could not be read is prose in marks that say nothing about calls: it names
// no tool.
func (r *Reader) IsMarkedProse(u task.Unparse) bool {
	if u.Reason != ReasonUnknownFormat || !unknownMark.MatchString(u.Text) || halfMark.MatchString(u.Text) ||
		slices.ContainsFunc(unknownMark.FindAllString(u.Text, -1), callInMark.MatchString) {
		return false
	}
	for name := range r.tools.Tools {
		if strings.Contains(u.Text, name) {
			return false
		}
	}
	return true
}

// callWord matches a word that asks for a call.
const callWord = `(?:call|tools?|functions?|actions?|names?|invoke|use|using|run|exec|execute|do|begin|end|request|` +
	`command)`

var (
	anyName          = pattern.New(`[\pL_][\pL\pN_.:/\\-]*`)
	bracketAfterName = pattern.New("^[`\"'*」』】》]*[ \t　]*(?:(?:<-|->|=>|:=|←|→)?[ \t]*[({（｛]" +
		"|\\r?\\n[ \\t]*(?:```|\\{))")
	aside             = pattern.New(`^[ \t]+\([\pL\pN ,.'’-]*\pL[\pL\pN ,.'’-]*\)`) // words in parentheses
	labelBeforeName   = pattern.New("(?i)" + callWord + "[✿*_`]*[ \\t]*[:：][ \\t*`\"']*$")
	endOfLine         = pattern.New("^[`\"'*]*[ \\t]*(?:[\\r\\n]|$)")
	quotedStringValue = pattern.New(`^["'][ \t]*[,}\]]`)
	onlyCallWords     = pattern.New(`^(?i:[^\pL]|` + callWord + `\b)*$`)
	hasCallWord       = pattern.New(`(?i)\b` + callWord + `\b`)
	// argumentBefore matches code around a name that is an argument of a function: callTool("f", call(f.
	argumentBefore = pattern.New("[\\pL_][\\pL\\pN_.:!]*\\((?:[^()\"'\n]*,)?\\s*[\"'`]$|(?i:" + callWord +
		`)\w*\(\s*$`)
	cellBorder = pattern.New(`[,;|\t]`)
)

// nearby bounds the text around a tool's name that decides whether it is a call, in bytes.
const nearby = 200

// attemptedTool returns the position where an offered tool's name is used as in a call: before a bracket, before one
// of its arguments, as a tag, as a value in an object, in a row with its arguments, or as all that a line says. It
// returns -1 if no name is.
func (p *reading) attemptedTool(text string, start int) int {
	brace := strings.IndexByte(text, '{')
	for _, m := range anyName.FindAllStringIndex(text, -1) {
		written := strings.TrimRight(text[m[0]:m[1]], ".:/-")
		end := m[0] + len(written)
		name := p.tools.resolve(written)
		if at := strings.LastIndexAny(written, "/\\:"); !p.tools.known(name) && at >= 0 {
			name = written[at+1:] // a path
		}
		if rest, found := strings.CutPrefix(written, deepSeekPrefix); found && p.tools.known(rest) {
			name = rest
		}
		if !p.tools.known(name) || p.defines(written, start+end) {
			continue
		}
		before, after := text[max(0, m[0]-nearby):m[0]], text[end:]
		tight := strings.TrimSpace(before)
		line := lineAround(before, after)
		switch {
		case strings.HasSuffix(tight, "<"), strings.HasSuffix(tight, "</"),
			strings.HasSuffix(strings.TrimRight(tight, `"'`), "="):
			return m[0]
		case bracketAfterName.MatchString(after), p.isUsed(name, after):
			inSentence := !isIdentifier(name) && aside.MatchString(after) && !onlyCallWords.MatchString(line.before)
			if !isProse(before, after) && !inSentence {
				return m[0]
			}
		case argumentBefore.MatchString(before), p.isRow(name, written, line):
			return m[0]
		case !isIdentifier(name):
		case quotedStringValue.MatchString(after) && 0 <= brace && brace < m[0],
			strings.Trim(p.text, " \t\r\n`\"'*.():") == written,
			m[0] < nearby && tight != "" && strings.Trim(tight, "([{<") == "" && strings.HasPrefix(after, " "),
			labelBeforeName.MatchString(before) && endOfLine.MatchString(after),
			line.commands():
			return m[0]
		}
	}
	return -1
}

// isIdentifier reports whether a name cannot be a word of a language.
func isIdentifier(name string) bool {
	return strings.ContainsAny(name, "_.0123456789") || name != strings.ToLower(name[:1])+name[1:] ||
		strings.ToLower(name[1:]) != name[1:]
}

// line is what is before and after a tool's name in its line.
type line struct{ before, after string }

// commands reports whether a line has nothing but the name and words that ask for a call.
func (l line) commands() bool {
	return hasCallWord.MatchString(l.before) && onlyCallWords.MatchString(l.before) && onlyCallWords.MatchString(l.after)
}

func lineAround(before, after string) line {
	after, _, _ = strings.Cut(after[:min(len(after), nearby)], "\n")
	return line{before[strings.LastIndexByte(before, '\n')+1:], after}
}

// isRow reports whether a line consists of cells: the tool's name and a value for each of its arguments, or for each
// required one.
func (p *reading) isRow(tool, written string, l line) bool {
	parameters := p.tools.parameters(tool)
	cells := cellBorder.Split(strings.TrimRight(l.after, " \t\r|;"), -1)
	first := cellBorder.Split(l.before, -1)
	if strings.Trim(first[len(first)-1]+cells[0], " \t\"'`") != "" || len(cells) == 1 {
		return false
	}
	cells = cells[1:]
	required := 0
	for _, name := range parameters {
		if slices.Contains(p.tools.Tools[tool].Parameters.Required, name) {
			required++
		}
	}
	if len(cells) != len(parameters) && (required == 0 || len(cells) != required) ||
		len(cells) == 1 && !strings.HasPrefix(strings.TrimSpace(p.text), written) && !onlyCallWords.MatchString(l.before) {
		return false
	}
	for i, cell := range cells {
		if !fits(p.tools.parameter(tool, parameters[i]), strings.Trim(cell, " \t\"'`")) {
			return false
		}
	}
	return true
}

// fits reports whether a text can be the value of a parameter.
func fits(s *task.Schema, text string) bool {
	if s == nil || len(s.Types) == 0 || slices.Contains(s.Types, "string") {
		return text != ""
	}
	v := literal.NewReader(text, false)
	n, err := v.Value()
	return err == nil && v.AtEnd() == nil && n.Kind != literal.Text
}

// gapBeforeKey matches what may be between a tool's name and its first argument in a call, rather than in a sentence.
var gapBeforeKey = pattern.New(`^(?i:[^\pL<]|args|arguments?|param(?:eter)?s?|inputs?|kwargs|with|data|json|` +
	`python|tool_call|action[ _]input|tool[ _]input|body|values|do|\pL\b)*$`)

// objectBefore matches an object that begins a line, up to its first key.
var objectBefore = pattern.New(`\n[ \t]*\{\s*["']$`)

var valueMark = pattern.New(`^[=:＝：]`)

// maxGap bounds the text between a tool's name and its first argument, in bytes.
const maxGap = 120

// isUsed reports whether the text after a tool's name uses the name as a call does: a bracket follows it, or one of
// the tool's parameters with a value.
func (p *reading) isUsed(name, after string) bool {
	if strings.HasPrefix(after, "[") || strings.HasPrefix(after, "=") {
		return true
	}
	after = after[:min(len(after), maxGap)]
	return slices.ContainsFunc(p.tools.parameters(name), func(parameter string) bool {
		for at := 0; ; {
			i := strings.Index(after[at:], parameter)
			if i < 0 {
				return false
			}
			at += i
			before, rest := after[:at], after[at+len(parameter):]
			at += len(parameter)
			option := strings.HasSuffix(before, "--") || strings.HasSuffix(before, " :") || strings.HasSuffix(before, "<")
			value := strings.TrimLeft(rest, "\"'`")
			key := option || strings.HasPrefix(value, " = ") ||
				valueMark.MatchString(value) || strings.HasPrefix(strings.TrimLeft(value, " "), ": ")
			if key && (gapBeforeKey.MatchString(strings.TrimSuffix(before, "<")) || objectBefore.MatchString(before)) {
				return true
			}
		}
	})
}

// reportWords are in sentences that report on a call, refuse one or ask for an argument.
const reportWords = `(?:called|calling|used|ran|tried|queried|invoked|executed|checked|searched|returned|returns|` +
	`gave|gives|got|found|shows|showed|reports|reported|says|said|means|was|were|had|did|does|failed|fails|needs|` +
	`requires|accepts|takes|not|no|none|neither|nor|cannot|\pL+n['’]t|without|missing|unknown|unclear|because|tell me|` +
	`provide|specify|which)`

var (
	reporting     = pattern.New(`(?i)\b` + reportWords + `\b`)
	reportsAtOnce = pattern.New(`(?i)^[^\pL\n.!?#]*(?:\pL+[^\pL\n.!?#]+)?` + reportWords + `\b`)
	announcing    = pattern.New(`(?i)\b(?:let me|let us|let['’]s|i['’]ll|i will|we will|going to)\b`)
	sentenceStart = pattern.New(`(?s)^.*(?:[.!?:：]\s|\n)`)
	sentenceEnd   = pattern.New(`[.!?](?:\s|$)|\n`)
	// signature matches the parameters of a tool with their types instead of values.
	signature = pattern.New("^[`\"'*]*\\(" + typedName + `(?:,` + typedName + `)*\)`)
)

const typedName = `\s*\w+\??\s*:\s*(?:string|str|text|integer|int|number|float|boolean|bool|list|array|object|dict|` +
	`any|date)(?:\[\w*\])?(?:\s*=\s*\w+)?\s*`

// isProse reports whether a tool's name is in a sentence that talks about a call instead of making it, or in a
// description of the tool.
func isProse(before, after string) bool {
	after = after[:min(len(after), nearby)]
	if signature.MatchString(after) {
		return true
	}
	before = before[len(sentenceStart.FindString(before)):]
	if announcing.MatchString(before) {
		return false
	}
	if trimmed := strings.TrimLeft(after, "`\"'*"); strings.HasPrefix(trimmed, "(") {
		if closing := strings.IndexByte(trimmed, ')'); closing >= 0 {
			after = trimmed[closing+1:]
		}
	}
	if end := sentenceEnd.FindStringIndex(after); end != nil {
		after = after[:end[0]]
	}
	if onlyCallWords.MatchString(before) {
		return reportsAtOnce.MatchString(after)
	}
	return reporting.MatchString(before) || reporting.MatchString(after)
}

// definition matches a function definition in code.
var definition = pattern.New(`(?m)^[ \t]*(?:async[ ]+)?def[ ]+([\pL_][\pL\pN_]*)[ ]*\(`)

// imported matches the import of a module in code.
var imported = pattern.New(`(?m)^[ \t]*import[ ]+([\pL_][\pL\pN_]*)`)

// defines reports whether the reply defines a function of that name before a position, or imports its module: calling
// it does not call a tool.
func (p *reading) defines(name string, before int) bool {
	if p.defined == nil {
		p.defined = map[string]int{}
		for _, m := range definition.FindAllStringSubmatchIndex(p.text, -1) {
			if defined := p.text[m[2]:m[3]]; p.defined[defined] == 0 {
				p.defined[defined] = m[3]
			}
		}
		for _, m := range imported.FindAllStringSubmatchIndex(p.text, -1) {
			if module := p.text[m[2]:m[3]]; !modules[module] && p.defined[module+"."] == 0 {
				p.defined[module+"."] = m[3]
			}
		}
	}
	at, ok := p.defined[name]
	if module, _, found := strings.Cut(name, "."); !ok && found && !p.tools.known(name) {
		at, ok = p.defined[module+"."]
	}
	return ok && at <= before
}
