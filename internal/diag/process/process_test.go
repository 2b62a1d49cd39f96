package process

import (
	"os"
	"runtime"
	"testing"
)

func TestRead(t *testing.T) {
	for text, want := range map[string]State{
		"12 (go) S 7 12 12 0":          {Parent: 7},
		"12 (go) Z 7 12 12 0":          {Parent: 7, Dead: true},
		"12 (go) X 1 0":                {Parent: 1, Dead: true},
		"12 (a) Z 9 (b) R 7 12 12 0":   {Parent: 7},
		"12 (new\nline) S 7 12 12 0\n": {Parent: 7},
	} {
		if got, ok := read([]byte(text)); !ok || got != want {
			t.Errorf("%q: %+v, %t; want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "12 (go)", "12 (go) S", "12 (go) S x"} {
		if got, ok := read([]byte(text)); ok {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestOf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("it reads /proc of Linux")
	}
	if got, ok := Of(os.Getpid()); !ok || got != (State{Parent: os.Getppid()}) {
		t.Errorf("this process: %+v, %t", got, ok)
	}
	if got, ok := Of(1 << 30); ok {
		t.Errorf("a number above those of processes: %+v", got)
	}
}
