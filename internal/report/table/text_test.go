package table

import "testing"

func TestDisplayWidth(t *testing.T) {
	for s, want := range map[string]int{"abc": 3, "日本": 4, "é": 1, "e\u0301": 1, "–": 1, "": 0} {
		if got := Width(s); got != want {
			t.Errorf("%q takes %d cells, want %d", s, got, want)
		}
	}
	if got := Cut("日本語", 4); got != "日…" {
		t.Errorf("cut to %q", got)
	}
}
