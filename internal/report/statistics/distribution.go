package statistics

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// normalQuantile is the value below which a standard normal variable is with the chance p, in (0, 1).
func normalQuantile(p float64) float64 { return mathext.NormalQuantile(p) }

// studentCDF is the chance that a variable with Student's t distribution is at most t (Abramowitz and Stegun 1964,
// 26.7.1, by the incomplete beta function).
func studentCDF(t, freedom float64) float64 {
	tail := mathext.RegIncBeta(freedom/2, 0.5, freedom/(freedom+t*t)) / 2
	if t > 0 {
		return 1 - tail
	}
	return tail
}

// studentQuantile is the inverse of [studentCDF] for p in (0, 1).
func studentQuantile(p, freedom float64) float64 {
	if p < 0.5 {
		return -studentQuantile(1-p, freedom)
	}
	x := mathext.InvRegIncBeta(freedom/2, 0.5, 2*(1-p))
	return math.Sqrt(freedom * (1 - x) / x)
}
