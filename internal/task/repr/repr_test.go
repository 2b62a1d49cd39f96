package repr_test

import (
	"encoding/json"
	"testing"

	"github.com/seatrial/seatrial/internal/task/repr"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		`['Oslo', None, True]`:     `["Oslo",null,true]`,
		`(1, 2.5,)`:                `[1,2.5]`,
		`[('a', 1), ('b', False)]`: `[["a",1],["b",false]]`,
		`{'it': "it's"}`:           `{"it":"it's"}`,
		`['a "b" \\ \n']`:          `["a \"b\" \\ \n"]`,
		`['<&>']`:                  `["<&>"]`,
		`[1, 2, ]`:                 `[1,2]`,
		`[1, 2]`:                   ``, // JSON already
		`['open`:                   ``,
		`['a' 'b']`:                ``,
		`[Oslo]`:                   ``,
		`['\x41']`:                 ``, // an escape it does not know
		`Oslo`:                     ``,
		``:                         ``,
	} {
		got := repr.Read(text)
		if want == "" {
			if got != nil {
				t.Errorf("%s is read as %s", text, got)
			}
			continue
		}
		var a, b any
		if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil {
			t.Errorf("%s: no JSON: %s", text, got)
			continue
		}
		x, _ := json.Marshal(a)
		y, _ := json.Marshal(b)
		if string(x) != string(y) {
			t.Errorf("%s is read as %s, want %s", text, x, y)
		}
	}
}
