package task

import (
	"math"
	"reflect"
	"testing"
)

// TestCallsReadBack: what is written of a call or a literal is read as the same values, whole reals included.
func TestCallsReadBack(t *testing.T) {
	for _, v := range []any{
		nil, true, int64(3200), 3200.0, -0.5, 1e300, math.Inf(-1), "3200", "<é\u2028>", []any{int64(1), 1.0, []any{}},
		map[string]any{"b": 2.0, "a": int64(2)},
	} {
		call := Call{Label: "l", Tool: "f", Arguments: map[string]any{"x": v}}
		text, err := Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		var back Call
		if err := DecodeStrict(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(call, back) {
			t.Errorf("%#v is written %s and read %#v", call, text, back)
		}
	}
	for _, v := range []Value{nil, Integer(7), Real(7.0), Text("7"), Blob("\x00\xff")} {
		literal := Literal{Value: v, Argument: "x", Table: "t", Column: "c", Start: 1, End: 2}
		text, err := Marshal(literal)
		if err != nil {
			t.Fatal(err)
		}
		var back Literal
		if err := DecodeStrict(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !reflect.DeepEqual(literal, back) {
			t.Errorf("%#v is written %s and read %#v", literal, text, back)
		}
	}
}
