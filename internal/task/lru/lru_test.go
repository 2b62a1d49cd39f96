package lru_test

import (
	"fmt"
	"testing"

	"github.com/seatrial/seatrial/internal/task/lru"
)

func TestTheOldestLeaves(t *testing.T) {
	var gone []string
	c := lru.New(6, 4, func(key string, value int) { gone = append(gone, fmt.Sprint(key, value)) })
	for i, key := range []string{"a", "b", "c"} {
		if !c.Put(key, i, 2) {
			t.Errorf("%s was not added", key)
		}
	}
	if v, ok := c.Get("a"); !ok || v != 0 {
		t.Errorf("a is %d, %v", v, ok)
	}
	if c.Put("a", 9, 1) || c.Put("heavy", 9, 5) {
		t.Error("a known key or a heavy value was added")
	}
	c.Put("d", 3, 3)
	if got, want := fmt.Sprint(c.Keys(), gone, c.Weight()), "[d a] [b1 c2] 5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, ok := c.Get("b"); ok {
		t.Error("b is still there")
	}
	c.Clear()
	if got, want := fmt.Sprint(c.Keys(), gone, c.Weight()), "[] [b1 c2 a0 d3] 0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
