package transcript_test

import (
	"testing"

	"github.com/seatrial/seatrial/internal/suite/transcript"
)

func TestArmsParseBack(t *testing.T) {
	texts := map[string]transcript.Arm{}
	for _, hint := range []string{"", "start", "deferred", "oracle", "a-2"} {
		for _, scale := range []float64{0, 0.1, 0.5, 1, 2, 4, 1e6, 1e22, 1e-7} {
			for k := range 16 {
				informed := k&1 != 0
				arm := transcript.Arm{
					Hint: hint, Budget: scale, Informed: informed, Shots: []int{0, 4}[k>>1&1], Scenario: []string{"", "error"}[k>>2&1],
					World: 3 * (k >> 3),
				}
				text := arm.String()
				if other, taken := texts[text]; taken {
					t.Errorf("%+v and %+v are both %q", other, arm, text)
				}
				texts[text] = arm
				if back, err := transcript.ParseArm(text); err != nil || back != arm {
					t.Errorf("%q reads as %+v, %v; want %+v", text, back, err, arm)
				}
			}
		}
	}
	if len(texts) != 720 {
		t.Errorf("%d arms", len(texts))
	}
	for text, want := range map[string]transcript.Arm{
		"budget=0.5":              {Budget: 0.5},
		"start,budget=2":          {Hint: "start", Budget: 2},
		"start,budget=2,informed": {Hint: "start", Budget: 2, Informed: true},
		"oracle,shots=4":          {Hint: "oracle", Shots: 4},
		"after=error":             {Scenario: "error"},
		"world=12":                {World: 12},
	} {
		if back, err := transcript.ParseArm(text); err != nil || back != want {
			t.Errorf("%q reads as %+v, %v", text, back, err)
		}
	}
}

func TestArmsOfAnotherFormAreErrors(t *testing.T) {
	for _, text := range []string{
		",", "start,", "budget=", "budget=0", "budget=-1", "budget=+Inf", "budget=NaN", "budget=1.0", "budget=01", "budget=x",
		"budget=2,start", "informed,start", "informed,informed", "budget=1,budget=2", "shots=0", "shots=+4", "shots=x",
		"after=", "after=Error", "after=x,shots=4", "world=0", "world=01", "world=x", "informed,world=1", "start,oracle",
		"Start", "st art", "a=b",
	} {
		if arm, err := transcript.ParseArm(text); err == nil {
			t.Errorf("%q reads as %+v", text, arm)
		}
	}
}

func FuzzParseArm(f *testing.F) {
	for _, text := range []string{"", "start", "budget=0.5", "start,budget=2,informed", "shots=4,after=error",
		"budget=1e-7", "budget=1.0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if arm, err := transcript.ParseArm(text); err == nil && arm.String() != text {
			t.Errorf("%q reads as %+v, which is written %q", text, arm, arm.String())
		}
	})
}
