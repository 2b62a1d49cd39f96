package python

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// scripted is a process that replays a fixed output, whatever it receives.
type scripted struct {
	io.Reader
	heard bytes.Buffer
}

func (p *scripted) Write(b []byte) (int, error) { return p.heard.Write(b) }
func (*scripted) interrupt() bool               { return false }
func (*scripted) kill()                         {}
func (*scripted) cpu() (time.Duration, bool)    { return 0, false }
func (*scripted) end() string                   { return ReasonExit }

func frameOf(kind byte, payload string) string {
	var b bytes.Buffer
	if err := writeFrame(&b, kind, []byte(payload)); err != nil {
		panic(err)
	}
	return b.String()
}

// FuzzSessionIsNotBelieved lets a session send anything. There must always be an outcome, within its limits, and only
// known functions are called, with JSON objects.
func FuzzSessionIsNotBelieved(f *testing.F) {
	done := `{"id": 1, "value": "2", "traceback": "", "cut": false, "lost": ""}`
	for _, said := range []string{
		"", "o", frameOf('d', done), frameOf('o', "hello\n") + frameOf('d', done),
		frameOf('c', `{"function": "echo", "arguments": {"value": 1}}`) + frameOf('d', done),
		frameOf('c', `{"function": "other", "arguments": {}}`), frameOf('c', `{"function": "echo", "arguments": []}`),
		frameOf('c', `{"function": "fail", "arguments": {`), frameOf('d', `{"id": 2}`), frameOf('y', ""), frameOf('v', "1"),
		frameOf('o', strings.Repeat("é", 3000)) + frameOf('d', done), "o\xff\xff\xff\xff", "c\x00\x00\x00\x05{",
		frameOf('d', "\xff"),
		strings.Repeat(frameOf('c', `{"function": "echo", "arguments": {}}`), 9) + frameOf('d', done),
		frameOf('d', `{"id": 1, "lost": "memory"}`), frameOf('d', `{"id": 1, "lost": "everything"}`),
	} {
		f.Add([]byte(said))
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		calls := 0
		limits := Limits{Output: 2000, Value: 500, BlockCalls: 5, BlockTime: time.Hour, SessionTime: time.Hour}
		setup := &Setup{
			Functions: hostileFunctions, Limits: limits,
			Call: func(ctx context.Context, function string, arguments json.RawMessage) (json.RawMessage, error) {
				calls++
				var object map[string]any
				if json.Unmarshal(arguments, &object) != nil || object == nil || len(arguments) > limits.Value {
					t.Errorf("a call with %q", arguments)
				}
				if function != "echo" && function != "fail" && function != "many" {
					t.Errorf("a call of %q", function)
				}
				return json.RawMessage(`[1]`), nil
			},
		}
		p := &scripted{Reader: io.MultiReader(strings.NewReader(frameOf('y', "")), bytes.NewReader(said))}
		s, err := newBridge(t.Context(), setup, func(context.Context) (process, error) { return p, nil })
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Run(t.Context(), "echo(1)")
		if err != nil {
			t.Fatal(err)
		}
		if len(o.Output) > limits.Output || !utf8.ValidString(o.Output) || len(o.Value) > limits.Output ||
			len(o.Traceback) > limits.Output {
			t.Errorf("an outcome over its limits: %s", brief(o))
		}
		if o.Calls != calls || calls > limits.BlockCalls {
			t.Errorf("%d calls of %d reported", calls, o.Calls)
		}
		if (o.Reason != "") != o.Fresh {
			t.Errorf("fresh %t for %q", o.Fresh, o.Reason)
		}
	})
}

// TestFramesAreReadAsWritten round-trips frames, and checks that lengths are limited before anything is read.
func TestFramesAreReadAsWritten(t *testing.T) {
	l := Limits{Output: 100, Value: 100}
	for _, kind := range []byte("ocd") {
		for _, size := range []int{0, 1, 100} {
			payload := strings.Repeat("x", size)
			got, body, err := readFrame(strings.NewReader(frameOf(kind, payload)), l.frame)
			if err != nil || got != kind || string(body) != payload {
				t.Errorf("%q of %d bytes comes back as %q, %d bytes, %v", kind, size, got, len(body), err)
			}
		}
		most, _ := l.frame(kind)
		head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(most+1))
		if _, _, err := readFrame(bytes.NewReader(head), l.frame); !errors.Is(err, errTampered) {
			t.Errorf("%q over its limit gives %v", kind, err)
		}
	}
	for _, kind := range []byte("srfvel\x00\xff") {
		if _, _, err := readFrame(strings.NewReader(frameOf(kind, "")), l.frame); !errors.Is(err, errTampered) {
			t.Errorf("%q is taken from a session: %v", kind, err)
		}
	}
}

// TestFunctionsAreSentWhenTheyAreNamed checks that a session receives the functions that its code and its results name,
// once each.
func TestFunctionsAreSentWhenTheyAreNamed(t *testing.T) {
	done := func(id string) string { return frameOf('d', `{"id": `+id+`}`) }
	// The second end must not be readable before the second block is sent.
	p := &scripted{Reader: io.MultiReader(
		strings.NewReader(frameOf('y', "")+frameOf('c', `{"function": "echo", "arguments": {}}`)+done("1")),
		strings.NewReader(done("2")),
	)}
	s, err := newBridge(t.Context(), &Setup{
		Functions: hostileFunctions,
		Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"use": "many"}`), nil
		},
	}, func(context.Context) (process, error) { return p, nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"echo()", "echo(many(fail))"} {
		if o, err := s.Run(t.Context(), code); err != nil || o.Fresh {
			t.Fatal(o, err)
		}
	}
	var told []string
	for p.heard.Len() > 0 {
		kind, body, err := readFrame(&p.heard, func(byte) (int, bool) { return 1 << 20, true })
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range hostileFunctions {
			if (kind == 'r' || kind == 'f') && bytes.Contains(body, []byte(`["`+f.Name+`"`)) {
				told = append(told, string(kind)+f.Name)
			}
		}
	}
	if want := "recho fmany rfail"; strings.Join(told, " ") != want {
		t.Errorf("the model got %q, want %s", told, want)
	}
}
