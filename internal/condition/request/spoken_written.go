package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
)

// SpokenParaphrase returns the page on which a writer rewords the last turn of a request to tools that cannot be run.
// It demands what [WrittenParaphrase] does, and that everything stays that may be a value: quotations, numbers, dates,
// addresses and names. It is nil if the request says a value of the right call in no known form.
func SpokenParaphrase(t *Task) *Page {
	p := WrittenParaphrase(t)
	if p == nil {
		return nil
	}
	var stay []string
	for _, s := range protected(t, p.Own, p.Message, Values(t)) {
		if form := strings.TrimSpace(p.Own[s.start:s.end]); form != "" && form != p.Own && isSaid(p.Own, form) &&
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

// WrittenMissing returns the page on which a writer words a request to tools that cannot be run, without a value. Its
// text is judged as what rules write: see [Value.Gone].
func (d *Dropped) WrittenMissing(v *Value) *Page {
	at := slices.IndexFunc(d.Messages, func(m task.Message) bool {
		_, _, once := d.place(m.Content)
		return once
	})
	if at < 0 {
		return nil
	}
	return d.written(v.task, at, []string{text(v.Value)}, func(said string) string {
		gone := *d
		gone.Messages = slices.Clone(d.Messages)
		gone.Messages[at].Content = said
		if v.Gone(&gone) != "" {
			return complainTold
		}
		return ""
	})
}

// nearInstructions precede a request, of which they ask for a similar one.
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

// specificationInstructions precede a request that needs a tool.
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
