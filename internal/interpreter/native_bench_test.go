//go:build linux && (amd64 || arm64)

package interpreter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"
)

// world is as many functions as a large open world has.
func world(n int) []Function {
	functions := make([]Function, n)
	for i := range functions {
		functions[i] = Function{
			Name: fmt.Sprintf("table_%d_by_key", i), Parameters: []string{"key", "limit"}, Document: "Rows of a table by their key.",
		}
	}
	return functions
}

func oneRow(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`[{"name":"Ada","age":36}]`), nil
}

// BenchmarkNativeSession starts sessions in a world of 5,000 functions and has each answer a block.
func BenchmarkNativeSession(b *testing.B) {
	e := nativeEngine(b)
	setup := &Setup{Functions: world(5000), Call: oneRow}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		s, err := e.Start(b.Context(), setup)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	reportQuantiles(b, took)
}

func reportQuantiles(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "ms/p50")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1e3, "ms/p95")
}
