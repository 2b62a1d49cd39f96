// Package schemas makes the JSON Schemas of what Seatrial writes: files of suites, transcripts, grades and reports.
// They come from the types that write these, so they cannot tell another story. It must never read or write a file.
package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/seatrial/seatrial/internal/judge/callcheck"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/card"
	"github.com/seatrial/seatrial/internal/report/comparison"
	"github.com/seatrial/seatrial/internal/report/export"
	"github.com/seatrial/seatrial/internal/report/gate"
	"github.com/seatrial/seatrial/internal/report/plan"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
)

// entry is one schema: a file of a suite, an output of a command, or a line of one.
type entry struct {
	name  string
	title string
	// format is the value of the field format, "" where lines have none: the file's manifest or header has it.
	format string
	of     reflect.Type
}

// entries are the schemas, in the order of the path of the data.
func entries() []entry {
	return []entry{
		{"suite", "suite.json of a suite", suite.Format, reflect.TypeFor[suite.Manifest]()},
		{"task", "a line of tasks.jsonl", "", reflect.TypeFor[task.Task]()},
		{"tool", "a line of tools/STYLE.jsonl and of made_tools.jsonl", "", reflect.TypeFor[task.Tool]()},
		{"instance", "a line of instances.jsonl", "", reflect.TypeFor[suite.Instance]()},
		{"certificate", "a line of certificates.jsonl", "", reflect.TypeFor[suite.Certificate]()},
		{"rejection", "a line of rejected.jsonl", "", reflect.TypeFor[suite.Rejection]()},
		{"recipe", "a line of worlds/recipes.jsonl", "", reflect.TypeFor[suite.Recipe]()},
		{"transcript-header", "the first line of a transcript", transcript.Format, reflect.TypeFor[transcript.Header]()},
		{"transcript-event", "every other line of a transcript", "", reflect.TypeFor[transcript.Event]()},
		{"grade", "the grade of an episode", grade.Format, reflect.TypeFor[grade.Grade]()},
		{"report", "run --json, report --json and grade --json", report.Format, reflect.TypeFor[report.Report]()},
		{"compare", "an element of compare --json", comparison.Format, reflect.TypeFor[comparison.Comparison]()},
		{"gate", "gate --json", gate.Format, reflect.TypeFor[gate.Verdict]()},
		{"plan", "plan --json", plan.Format, reflect.TypeFor[plan.Plan]()},
		{"card", "card --json", card.Format, reflect.TypeFor[card.Card]()},
		{"export", "export --format NAME --json", export.SummaryFormat, reflect.TypeFor[export.Summary]()},
	}
}

// Names lists the schemas.
func Names() []string {
	var names []string
	for _, e := range entries() {
		names = append(names, e.name)
	}
	return names
}

// anything is the schema of values whose form depends on a tool, a condition or a corpus.
func anything(description string) *jsonschema.Schema {
	return &jsonschema.Schema{Description: description}
}

// written are the schemas of types that write themselves.
func written() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): anything("any JSON value"),
		reflect.TypeFor[task.Schema]():     {Types: []string{"null", "boolean", "object"}, Description: "a JSON Schema"},
		reflect.TypeFor[task.Row]():        {Type: "array", Description: "the values of a row"},
		reflect.TypeFor[task.Call]():       {Type: "object", Description: "a call of a plan"},
		reflect.TypeFor[task.Literal]():    {Type: "object", Description: "a value of a request"},
		reflect.TypeFor[callcheck.Value](): anything("an argument"),
		reflect.TypeFor[suite.Counts]():    {Type: "object", Ref: refersTo + "Counts"},
		reflect.TypeFor[task.Gold]():       {Type: "object", Ref: refersTo + "Gold"},
	}
}

// refersTo begins a reference to a definition in the same schema.
const refersTo = "#/$defs/"

// Types that contain themselves, under another name: their fields are of the type that becomes a reference.
type (
	counts suite.Counts
	gold   task.Gold
)

// definitions are the schemas of types that contain themselves, by name.
func definitions(o *jsonschema.ForOptions) (map[string]*jsonschema.Schema, error) {
	c, err := jsonschema.For[counts](o)
	g, goldErr := jsonschema.For[gold](o)
	return map[string]*jsonschema.Schema{"Counts": c, "Gold": g}, errors.Join(err, goldErr)
}

// Of writes the schema of that name.
func Of(name string) ([]byte, error) {
	for _, e := range entries() {
		if e.name != name {
			continue
		}
		o := &jsonschema.ForOptions{TypeSchemas: written()}
		if err := flatten(e.of, o, map[reflect.Type]bool{}); err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		s, err := jsonschema.ForType(e.of, o)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		text, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		if bytes.Contains(text, []byte(refersTo)) {
			if s.Defs, err = definitions(o); err != nil {
				return nil, err
			}
		}
		s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", e.title
		if e.format != "" {
			format := any(e.format)
			s.Properties["format"] = &jsonschema.Schema{Type: "string", Const: &format}
		}
		text, err = json.MarshalIndent(s, "", "  ")
		return append(text, '\n'), err
	}
	return nil, fmt.Errorf("there is no schema %q", name)
}
