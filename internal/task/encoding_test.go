package task

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// awkwardValues are SQLite values that encodings tend to lose.
var awkwardValues = []Value{
	nil, Integer(0), Integer(1), Real(1), Integer(math.MaxInt64), Integer(math.MinInt64), Real(1 << 53), Real(1e300),
	Real(-1e-300),
	Real(math.Copysign(0, -1)), Real(math.Inf(1)), Real(math.Inf(-1)), Real(math.MaxFloat64),
	Real(math.SmallestNonzeroFloat64), Real(0.1), Real(1e21),
	Real(123456789012345680000.0),
	Text(""), Text("a"), Text("1"), Text("null"), Text(`"\`), Text("a\tb\x00\x7f"), Text("<&>"), Text("naïve"),
	Text("\u2028"), Text("日本"), Text("$call_1$"), Blob{}, Blob("a"),
	Blob{0, 255},
}

func TestRowRoundTrip(t *testing.T) {
	row := Row(awkwardValues)
	data, err := Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	var back Row
	if err := DecodeStrict(data, &back); err != nil {
		t.Fatal(err)
	}
	for i, v := range row {
		if !reflect.DeepEqual(back[i], v) {
			t.Errorf("%T %#v comes back as %T %#v", v, v, back[i], back[i])
		}
		if f, ok := AsReal(v); ok && math.Signbit(f) != math.Signbit(float64(back[i].(Real))) {
			t.Errorf("%v loses its sign", f)
		}
	}
	if want := math.Signbit(float64(back[9].(Real))); !want {
		t.Error("-0.0 loses its sign")
	}
	again, err := Marshal(back)
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("encoded again: %s, %v; before: %s", again, err, data)
	}
}

func TestValueEncoding(t *testing.T) {
	for _, c := range []struct {
		value Value
		want  string
	}{
		{Integer(1), "1"}, {Real(1), "1.0"}, {Real(math.Inf(1)), "9e999"}, {Real(math.Inf(-1)), "-9e999"},
		{Real(math.NaN()), "null"},
		{Real(1e21), "1e+21"}, {Real(0.1), "0.1"}, {Blob{0, 255}, `{"$blob":"00ff"}`}, {Text("a\xffb"), "\"a\uFFFDb\""},
		{Text("<"), `"<"`},
	} {
		if got := string(AppendValue([]byte("x"), c.value)); got != "x"+c.want {
			t.Errorf("%#v is written %s, want %s", c.value, got[1:], c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("another type that claims to be a value is written")
		}
	}()
	AppendValue(nil, struct{ Value }{})
}

func TestDecodeValue(t *testing.T) {
	for text, want := range map[string]any{
		"9223372036854775807": int64(math.MaxInt64), "9223372036854775808": float64(1 << 63), "1.0": 1.0, "1e2": 100.0,
		"-0": int64(0), "9e999": math.Inf(1), `{"a":[1,{"b":2.5}]}`: map[string]any{"a": []any{int64(1),
			map[string]any{"b": 2.5}}},
		" true ": true, "null": nil,
	} {
		if got, err := DecodeValue([]byte(text)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %#v, %v; want %#v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1 2", "[1", "{}{}", "01", "nul", "1,", "]"} {
		if got, err := DecodeValue([]byte(text)); err == nil {
			t.Errorf("%q is read as %#v", text, got)
		}
	}
}

func TestSQLiteValue(t *testing.T) {
	for text, want := range map[string]Value{
		"true": Integer(1), "false": Integer(0), "null": nil, `{"$blob":"4142"}`: Blob("AB"), `"x"`: Text("x"),
		"2":   Integer(2),
		"2.0": Real(2.0),
	} {
		v, err := DecodeValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := SQLiteValue(v); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s becomes %#v, %v; want %#v", text, got, err, want)
		}
	}
	for _, text := range []string{"[]", "{}", `{"$blob":1}`, `{"$blob":"4"}`, `{"$blob":"zz"}`, `{"$blob":"41","x":1}`} {
		v, err := DecodeValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := SQLiteValue(v); err == nil {
			t.Errorf("%s becomes %#v", text, got)
		}
	}
}

func sampleTool() *Tool {
	object := &Schema{Types: []string{"object"}, Closed: true, Required: []string{"zeta"}, Properties: []Property{
		{"zeta", &Schema{Types: []string{"string"}, Description: "last <first>"}},
		{"alpha", &Schema{Types: []string{"array", "null"}, Items: &Schema{Types: []string{"number"}}}},
		{"mid", &Schema{Enum: []any{"a", int64(1), 1.5, nil, true}}},
	}}
	return &Tool{
		Name: "get_x", Description: "gets", Parameters: object, Returns: &Schema{Types: []string{"array"}, Items: object},
		Style: StyleFunc, Database: "d",
		Body: &Body{
			Engine: EngineSQLite, Statement: "SELECT ?1", Bindings: []Binding{{Argument: "zeta", Kind: BindValue, Type: TypeText,
				Role: RoleEqual}},
			Columns: []Column{{Name: "a", Type: TypeAny, Computed: true}}, Ordered: true,
		},
	}
}

func sampleTask() *Task {
	return &Task{
		ID: "t", Corpus: "c", Database: "d", Style: StyleFunc, Source: "f:1", Split: SplitTest,
		Messages: []Message{{"user", "what?"}},
		Gold: Gold{Kind: GoldAnyOf, Alternatives: []Gold{{
			Kind: GoldRows, Columns: []Column{{Name: "a", Type: TypeAny}}, Rows: []Row{Row(awkwardValues), {}},
			Blocks: []int{1, 1},
		}}},
		Plans: []Plan{{Kind: PlanDirect, Workflow: WorkflowSingle, Answer: "call_1",
			Calls: []Call{{Label: "call_1", Tool: "x", Arguments: map[string]any{
				"i": int64(math.MaxInt64), "f": 2.5, "list": []any{int64(1), "$a.b$", []any{nil, true}},
				"o": map[string]any{"k": int64(1)},
			}}}}},
		Literals: []Literal{{Value: Integer(3), Argument: "i"}, {Value: Blob("b")}, {Value: nil}, {Value: Real(1.0)}},
		Proof:    ProofExecuted, Chance: Chance{2, 1}, Flags: []string{FlagWeak}, Facets: map[string]string{"z": "1",
			"a": "2"},
	}
}

func TestArtefactRoundTrip(t *testing.T) {
	for _, v := range []any{sampleTool(), sampleTask(), &Action{Kind: ActionCall, Arguments: json.RawMessage(`{"a":1}`)}} {
		data, err := Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		if err := DecodeStrict(data, back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		again, err := Marshal(back)
		if err != nil || !bytes.Equal(again, data) {
			t.Errorf("%T comes back as\n%s\nnot\n%s (%v)", v, again, data, err)
		}
		if bytes.ContainsAny(data, "\n") || bytes.Contains(data, []byte(`\u003c`)) {
			t.Errorf("%s is not one plain line", data)
		}
	}
	var tool Tool
	data, _ := Marshal(sampleTool())
	if err := DecodeStrict(data, &tool); err != nil || !reflect.DeepEqual(&tool, sampleTool()) {
		t.Errorf("the tool comes back as %+v, %v", tool, err)
	}
	var task Task
	data, _ = Marshal(sampleTask())
	if err := DecodeStrict(data, &task); err != nil {
		t.Fatal(err)
	}
	if got, want := task.Plans[0].Calls[0].Arguments, sampleTask().Plans[0].Calls[0].Arguments; !reflect.DeepEqual(got,
		want) {
		t.Errorf("arguments come back as %#v, not %#v", got, want)
	}
	if !reflect.DeepEqual(task.Literals, sampleTask().Literals) {
		t.Errorf("literals come back as %#v", task.Literals)
	}
}

func TestDecodeStrict(t *testing.T) {
	for _, c := range []struct {
		text string
		into any
	}{
		{`{"name":"x","colour":1}`, &Tool{}}, {`{"id":"x"} {}`, &Task{}}, {`{"id":"x"}]`, &Task{}}, {`{"id":"x"`, &Task{}},
		{`{"plans":[{"calls":[{"label":"a","tools":"b"}]}]}`, &Task{}}, {`{"literals":[{"value":1,"valve":2}]}`, &Task{}},
		{`{"literals":[{"value":[1]}]}`, &Task{}}, {`{"gold":{"rows":[[[1]]]}}`, &Task{}}, {`{"gold":{"rows":[{"a":1}]}}`,
			&Task{}},
		{`{"parameters":{"format":"x"}}`, &Tool{}}, {`{"parameters":[]}`, &Tool{}}, {``, &Tool{}},
	} {
		if err := DecodeStrict([]byte(c.text), c.into); err == nil {
			t.Errorf("%s is read", c.text)
		}
	}
}

func FuzzValueRoundTrip(f *testing.F) {
	data, _ := Marshal(Row(awkwardValues))
	f.Add(string(data))
	f.Add(`[1e400,-1e400,{"$blob":"0f"},"\ud800",true]`)
	f.Fuzz(func(t *testing.T, text string) {
		var row Row
		if DecodeStrict([]byte(text), &row) != nil {
			return
		}
		data, err := Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(data) || !json.Valid(data) {
			t.Fatalf("%q is not JSON in UTF-8", data)
		}
		var back Row
		if err := DecodeStrict(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if again, err := Marshal(back); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%s comes back as %s, %v", data, again, err)
		}
	})
}

func FuzzSchema(f *testing.F) {
	data, _ := Marshal(sampleTool().Parameters)
	f.Add(string(data))
	f.Add(`{"type":["string","null"],"enum":[1,1.0,"a"]}`)
	f.Add(`{"properties":{},"required":[]}`)
	f.Add(`{"type":"object","additionalProperties":true}`)
	f.Add(`{"type":"object","properties":{"a":{},"a":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s Schema
		if DecodeStrict([]byte(text), &s) != nil {
			return
		}
		data, err := Marshal(&s)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var back Schema
		if err := DecodeStrict(data, &back); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		again, err := Marshal(&back)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%s comes back as %s, %v", data, again, err)
		}
	})
}

func TestSchema(t *testing.T) {
	s := sampleTool().Parameters
	data, err := Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if z, a := strings.Index(string(data), `"zeta":{`), strings.Index(string(data), `"alpha"`); z < 0 || a < z {
		t.Errorf("properties lose their order: %s", data)
	}
	if s.Property("alpha") != s.Properties[1].Schema || s.Property("Alpha") != nil {
		t.Error("Property does not find alpha alone")
	}
	for _, text := range []string{
		`{"type":1}`, `{"type":["a",1]}`, `{"enum":{}}`, `{"enum":1}`, `{"items":[]}`, `{"properties":[]}`,
		`{"properties":{"a":1}}`,
		`{"required":"a"}`, `{"additionalProperties":{}}`, `{"minimum":1}`, `{"description":1}`, `null`, `1`, `{"type":null}`,
		`{"enum":null}`,
		`{"properties":{"a":{},"a":{}}}`, `{"type":"string","type":"object"}`,
	} {
		if err := DecodeStrict([]byte(text), new(Schema)); err == nil {
			t.Errorf("%s is read as a schema", text)
		}
	}
}
