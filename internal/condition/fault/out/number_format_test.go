package out

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
)

// TestNumbersReadAsWritten: a number is written as a person of the locale would write it, without the noise of binary
// arithmetic, and reading it back returns the number.
func TestNumbersReadAsWritten(t *testing.T) {
	tenth, fifth := 0.1, 0.2
	for _, c := range []struct {
		number       task.Value
		locale, want string
	}{
		{task.Real(tenth + fifth), "de-DE", "0,3"}, {task.Real(1.1 * 1000 * 1.1), "de-DE", "1.210,0"},
		{task.Real(-1234567.25), "fr-FR", "-1 234 567,25"},
		{task.Integer(-999), "pt-BR", "-999"}, {task.Integer(math.MaxInt64), "de-DE", "9.223.372.036.854.775.807"},
		{task.Real(1e21), "pt-BR",
			"1.000.000.000.000.000.000.000,0"}, {task.Real(100.0 / 3), "fr-FR", "33,3333333333333"},
		{task.Real(0.0), "de-DE", "0,0"},
	} {
		if got := formatNumber(c.number, c.locale); got != c.want {
			t.Errorf("%v is written %q in %s, want %q", c.number, got, c.locale, c.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		cents := float64(r.Int64N(1e10)) / 100
		for name, l := range locales {
			for _, v := range []float64{cents, cents * 3, cents + 0.1} {
				written := formatNumber(task.Real(v), name)
				plain := strings.ReplaceAll(strings.ReplaceAll(written, l.group, ""), l.point, ".")
				got, err := strconv.ParseFloat(plain, 64)
				if err != nil || math.Abs(got-v) > 1e-14*math.Abs(v) {
					t.Fatalf("%v is written %q in %s, which is read as %v (%v)", v, written, name, got, err)
				}
				if _, fraction, _ := strings.Cut(plain, "."); len(fraction) > 3 {
					t.Fatalf("%v is written %q in %s", v, written, name)
				}
			}
		}
	}
}

// TestStoredDigitsStay: only computed reals may be rounded, because answers must repeat stored ones exactly.
func TestStoredDigitsStay(t *testing.T) {
	tenth, fifth := 0.1, 0.2
	for _, c := range []struct {
		computed bool
		value    task.Value
		want     bool
	}{
		{false, task.Real(tenth + fifth), true}, {true, task.Real(tenth + fifth), false}, {false, task.Real(0.3), false},
		{false, task.Integer(3), false},
		{false, nil, false}, {false, task.Blob{1}, false}, {false, task.Real(math.Inf(1)), false},
	} {
		if got := fault.LosesDigits(task.Column{Computed: c.computed}, []task.Value{c.value}); got != c.want {
			t.Errorf("%v (computed %v): %v, want %v", c.value, c.computed, got, c.want)
		}
	}
}

// TestIdsAreNotGrouped: no program writes 5.038 for the id 5038, or 2.015 for a year.
func TestIdsAreNotGrouped(t *testing.T) {
	suits := NumberFormat.New().(*form).writing.suits
	for name, want := range map[string]bool{
		"call_id": false, "built": false, "release_year": false, "year": false, "price": true, "COUNT(*)": true, "n": true,
		"gross_tonnage": true, "AVG(price)": true, "MAX(year)": false,
	} {
		if got := suits(name, nil); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
