package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
)

// SpokenParaphrase returns the page on which a writer says the last turn of a request to tools that cannot be run in
// other words. Beside what [WrittenParaphrase] wants, everything has to stay that may be a value: what stands in
// quotes, numbers, dates, addresses, names. It is nil where a value of the right call is said in no form that is known.
func SpokenParaphrase(t *Task) *Page {
	p := WrittenParaphrase(t)
	if p == nil {
		return nil
	}
	var stay []string
	for _, s := range protected(t, p.Own, p.Message, Values(t)) {
		if form := strings.TrimSpace(p.Own[s.start:s.end]); form != "" && form != p.Own && stands(p.Own, form) &&
			!slices.Contains(stay, form) {
			stay = append(stay, form)
		}
	}
	all := english.Words(p.Own)
	for i, w := range all {
		inside := i > 0 && !strings.ContainsAny(p.Own[all[i-1].End:w.Start], ".?!:")
		if inside && strings.ToLower(w.Text) != w.Text && w.Text != "I" && !slices.Contains(stay, w.Text) {
			stay = append(stay, w.Text)
		}
	}
	if len(stay) > 0 {
		p.prompt += "\nThese parts may be values; they have to stand in it exactly so, too:\n- " + strings.Join(stay,
			"\n- ") + "\n"
	}
	p.Key = task.Hash(0, "written", "spoken paraphrase", p.prompt)
	judge := p.judge
	p.judge = func(text string) string {
		if slices.ContainsFunc(stay, func(form string) bool { return !strings.Contains(text, form) }) {
			return complainValue
		}
		return judge(text)
	}
	return p
}

// missingInstructions stand before a turn of which a value is to be left out.
const missingInstructions = `Below is what a user said to an assistant who calls tools. Write it again as a person would who forgot one detail,
or keeps it back: the text "%s" (the %s) must not stand in it, nor a part of it, nor a synonym, an abbreviation or anything
else that tells it. Everything else stays: what is asked for, and every other detail, number and name exactly as it is
written. It has to be natural, grammatical English. Add nothing, put no value of your own in its place, and do not ask for
it. Reply with the new wording alone, in one paragraph, without quotation marks around it.

The user said:
%s
`

// WrittenMissing returns the page on which a writer leaves a value out of the one turn that says it. What is written is
// judged as what rules write: see [Value.Gone]. It is nil where several turns say the value, or a turn that is not the
// user's.
func (v *Value) WrittenMissing() *Page {
	t := v.task
	at := -1
	for _, m := range v.mentions {
		if m.text >= len(t.Messages) || at >= 0 && m.text != at || t.Messages[m.text].Role != "user" {
			return nil
		}
		at = m.text
	}
	if at < 0 || v.unclear || v.schemaWord(text(v.Value)) {
		return nil
	}
	own := t.Messages[at].Content
	m := v.mentions[0]
	form := own[m.start:m.end]
	prompt := fmt.Sprintf(missingInstructions, form, strings.Join(english.NameWords(v.Argument), " "), own)
	var stay []string
	for _, other := range t.said {
		for _, o := range other.mentions {
			if said := own; other != v && o.text == at && stands(said, said[o.start:o.end]) && !strings.Contains(form,
				said[o.start:o.end]) {
				stay = append(stay, said[o.start:o.end])
			}
		}
	}
	return &Page{
		Message: at, Own: own, Key: task.Hash(0, append([]string{"written", "spoken drop-detail", prompt, text(v.Value)},
			stay...)...),
		prompt: prompt,
		judge: func(said string) string {
			switch {
			case slices.ContainsFunc(stay, func(form string) bool { return !stands(said, form) }):
				return complainValue
			case v.Gone(v.dropped(at, said, form)) != "" || said == own:
				return complainTold
			default:
				return invents(t, own, said)
			}
		},
	}
}

// dropped is the request with another wording of one turn.
func (v *Value) dropped(at int, said, form string) *Dropped {
	named := v.naming()
	d := &Dropped{Messages: slices.Clone(v.task.Messages), Form: form, Phrase: said}
	d.Messages[at].Content = said
	d.Names, d.Others = v.names(&named)
	d.Reply = v.reply(&named, form)
	return d
}

// Left returns what a text that was taken makes of a request without a value.
func (v *Value) Left(p *Page, said string) *Dropped {
	m := v.mentions[0]
	return v.dropped(p.Message, said, p.Own[m.start:m.end])
}

// nearInstructions stand before a request to which one like it is wanted.
const nearInstructions = `Below is what a user asked an assistant who calls tools, and the tool that serves it. Write another request that
somebody could make in the same software: about a need much like it, and yet one that the tool cannot serve and whose own
tool could not serve this one. It should need one or two parameters of other kinds. The same request with other values is
not enough. It has to hold every value that serving it takes.%s Reply with the new request alone, in one paragraph.

The request:
%s

The tool: %s
`

// complainSame is about a request that is only the old one with other values.
const complainSame = "it is the request itself, or nearly so: it has to ask for something else"

// NearRequest returns the page on which a writer makes a request that is near to one and needs another tool (Robustness
// of Agentic Function Calling §2.2, step 1). Number tells several of one request apart.
func NearRequest(own, tool string, number int) *Page {
	again := ""
	if number > 1 {
		again = fmt.Sprintf(" This is the request number %d of this kind: make it unlike the usual first idea.", number)
	}
	prompt := fmt.Sprintf(nearInstructions, again, own, tool)
	return &Page{
		Own: own, Key: task.Hash(0, "written", "near request", prompt), prompt: prompt,
		judge: func(said string) string {
			if Unlike(own, said, nil) < LeastWritten {
				return complainSame
			}
			return ""
		},
	}
}

// specificationInstructions stand before a request that needs a tool.
const specificationInstructions = `Write the specification of a tool that serves the request below, in the style of the example: how names are written, how
long descriptions are, how much they tell. Reply with one JSON object on one line and nothing else, with the fields name,
description and parameters; parameters is a JSON Schema of type object with properties, each with a type (string, integer,
number, boolean or array) and a description, and the list required.

An example, for another request: %s

The request:
%s
`

// Specification returns the page on which a writer specifies the tool of a request (step 2). Judge says what is wrong
// with a text.
func Specification(example, asked string, judge func(text string) string) *Page {
	prompt := fmt.Sprintf(specificationInstructions, example, asked)
	return &Page{Own: example, Key: task.Hash(0, "written", "specification", prompt), prompt: prompt, judge: judge}
}
