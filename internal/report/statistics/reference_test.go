package statistics

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"
)

// TestFiguresOfNumpyScipyAndStatsmodels compares with figures that testdata/reference.py computed with numpy 2, scipy
// and statsmodels; it shares no code with this package.
func TestFiguresOfNumpyScipyAndStatsmodels(t *testing.T) {
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var reference struct {
		Cases []struct {
			Valid, Right []int
			Other        []float64
			Rate         float64
			SE           float64 `json:"standard_error"`
			DesignEffect float64 `json:"design_effect"`
			Within       float64
			Between      float64
			Correlation  *float64
			Pass2        float64 `json:"pass_2"`
			Lower        float64 `json:"lower_95"`
			Ratio        float64
			RatioLow     float64 `json:"ratio_low"`
			RatioHigh    float64 `json:"ratio_high"`
		}
		McNemar []struct {
			A, B int
			P    float64
		}
		SignFlip []struct {
			Differences []float64
			P           float64
		} `json:"sign_flip"`
		Holm   []struct{ P, Adjusted []float64 }
		Wilson []struct {
			N        int
			Interval [2]float64
		}
		Variation []struct {
			Values      []float64
			Coefficient float64
		}
		Fleiss struct {
			Yes    []int
			Raters int
			Kappa  float64
		}
		Power []struct{ Variance, Difference, Power, Alpha, Tasks float64 }
	}
	if err := json.Unmarshal(data, &reference); err != nil {
		t.Fatal(err)
	}
	same := func(what string, got *float64, want, tolerance float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > tolerance {
			t.Errorf("%s: %v, want %v", what, deref(got), want)
		}
	}
	const exact = 1e-9
	for _, c := range reference.Variation {
		same(fmt.Sprintf("variation of %d values", len(c.Values)), Variation(c.Values), c.Coefficient, exact)
	}
	if len(reference.Variation) == 0 {
		t.Error("no variation")
	}
	for i, c := range reference.Cases {
		name := func(what string) string { return fmt.Sprintf("case %d, %s", i, what) }
		outcomes, ratios, trials := Clusters{}, Clusters{}, map[string]Trials{}
		var list []Trials
		var rates []float64
		for k, n := range c.Valid {
			id := fmt.Sprint(k)
			rate := float64(c.Right[k]) / float64(n)
			outcomes.Add(id, float64(c.Right[k]), float64(n))
			ratios.Add(id, c.Other[k], rate)
			trials[id], list, rates = Trials{n, c.Right[k]}, append(list, Trials{n, c.Right[k]}), append(rates, rate)
		}
		same(name("rate"), outcomes.Ratio(), c.Rate, exact)
		same(name("standard error"), outcomes.StandardError(), c.SE, exact)
		same(name("design effect"), outcomes.DesignEffect(), c.DesignEffect, exact)
		parts := ComponentsOf(list)
		same(name("within-task variance"), parts.Within, c.Within, exact)
		same(name("between-task variance"), parts.Between, c.Between, exact)
		if c.Correlation != nil {
			same(name("correlation"), Correlation(rates, c.Other), *c.Correlation, exact)
		}
		pass, _ := PassHatK(trials, 2)
		same(name("pass^2"), pass, c.Pass2, exact)
		lower := outcomes.BoundOf(Below, 0).At(0.05)
		same(name("lower bound"), &lower, c.Lower, 1e-6)
		ratio := ratios.Estimate(0, Options{Seed: 1}, "reference")
		same(name("ratio"), ratio.Value, c.Ratio, exact)
		same(name("low end of the ratio"), &ratio.CI95[0], c.RatioLow, 0.05*c.Ratio)
		same(name("high end of the ratio"), &ratio.CI95[1], c.RatioHigh, 0.05*c.Ratio)
	}
	for _, c := range reference.McNemar {
		p := mcNemar(c.A, c.B)
		same(fmt.Sprintf("McNemar %d %d", c.A, c.B), &p, c.P, exact)
	}
	for i, c := range reference.SignFlip {
		clusters := Clusters{}
		for k, d := range c.Differences {
			clusters.Add(fmt.Sprint(k), d, 1)
		}
		p := clusters.SignFlip(1)
		same(fmt.Sprintf("sign flips %d", i), &p, c.P, exact)
	}
	for i, c := range reference.Holm {
		var values []*float64
		for k := range c.P {
			values = append(values, &c.P[k])
		}
		for k, p := range Holm(values) {
			same(fmt.Sprintf("Holm %d %d", i, k), p, c.Adjusted[k], exact)
		}
	}
	for _, c := range reference.Wilson {
		interval := unseen(0, c.N, 0, Options{}.squared())
		same(fmt.Sprintf("Wilson of 0 of %d", c.N), &interval[1], c.Interval[1], exact)
	}
	kappa, _ := Fleiss(reference.Fleiss.Yes, reference.Fleiss.Raters)
	same("Fleiss' kappa", kappa, reference.Fleiss.Kappa, exact)
	for i, c := range reference.Power {
		d := Design{Between: c.Variance, Alpha: c.Alpha, Power: c.Power}
		tasks := float64(d.Tasks(c.Difference, 1))
		same(fmt.Sprintf("power %d", i), &tasks, math.Ceil(c.Tasks), 1)
		if back := d.Detectable(int(tasks), 1); math.Abs(back-c.Difference) > 0.01*c.Difference {
			t.Errorf("power %d: %v tasks detect %v, want %v", i, tasks, back, c.Difference)
		}
	}
	if len(reference.Cases) < 10 || len(reference.McNemar) < 10 || len(reference.SignFlip) < 5 {
		t.Error("the reference has fewer cases than it should")
	}
}

func deref(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}
