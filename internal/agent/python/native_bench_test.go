//go:build linux && (amd64 || arm64)

package python

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// world returns n functions, as in a large open world.
func world(n int) []Function {
	functions := make([]Function, n)
	for i := range functions {
		functions[i] = Function{
			Name: fmt.Sprintf("table_%d_by_key", i), Parameters: []string{"key", "limit"},
			Document: "Rows of a table by their key.",
		}
	}
	return functions
}

func oneRow(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return json.RawMessage(`[{"name":"Ada","age":36}]`), nil
}

// BenchmarkNativeSession starts sessions with 5,000 functions, each of which answers one block.
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

// BenchmarkNativeCall runs blocks that make one call each.
func BenchmarkNativeCall(b *testing.B) {
	s := started(b, nativeEngine(b), &Setup{
		Functions: world(5000), Call: oneRow,
		Limits: Limits{SessionCalls: 1 << 30, SessionTime: time.Hour},
	})
	if o := ran(b, s, "table_7_by_key('a')"); o.Calls != 1 {
		b.Fatal(brief(o))
	}
	for b.Loop() {
		if o := ran(b, s, "rows = table_7_by_key('a', limit=3)\nrows[0]['name']"); o.Value != "'Ada'" {
			b.Fatal(brief(o))
		}
	}
}

// BenchmarkNativeLive starts 200 sessions, keeps them, and measures one more; it reports the memory of each.
func BenchmarkNativeLive(b *testing.B) {
	e := nativeEngine(b)
	setup := &Setup{Functions: world(5000), Call: oneRow}
	live := make([]Session, 200)
	for i := range live {
		live[i] = started(b, e, setup)
		if o := ran(b, live[i], fmt.Sprintf("rows = [r for _ in range(%d) for r in table_%d_by_key(1)]\nlen(rows)", 20,
			i)); o.Value != "20" {
			b.Fatal(brief(o))
		}
	}
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		s := started(b, e, setup)
		took = append(took, time.Since(began))
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for i, s := range live {
		if o := ran(b, s, fmt.Sprintf("table_%d_by_key(2)[0]['age'] + len(rows)", i)); o.Value != "56" {
			b.Fatal(brief(o))
		}
	}
	var resident, share float64
	for _, s := range live {
		resident += kilobytes(b, processOf(s), "Rss:")
		share += kilobytes(b, processOf(s), "Pss:")
	}
	reportQuantiles(b, took)
	b.ReportMetric(resident/float64(len(live))/1024, "MiB-resident/session")
	b.ReportMetric(share/float64(len(live))/1024, "MiB-own-share/session")
}

// kilobytes reads one memory statistic of a process.
func kilobytes(b *testing.B, pid int, name string) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		b.Skip(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			var n float64
			if _, err := fmt.Sscan(rest, &n); err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("no %s", name)
	return 0
}

// jupyter starts one kernel and times blocks in it, for comparison.
const jupyter = `import json, time
from jupyter_client.manager import start_new_kernel
began = time.perf_counter()
manager, client = start_new_kernel(kernel_name="python3")
start = time.perf_counter() - began
client.execute_interactive("1+1", silent=True)
began = time.perf_counter()
for _ in range(50):
    client.execute_interactive("rows = [{'name': 'Ada'}]\nrows[0]['name']", output_hook=lambda m: None)
block = (time.perf_counter() - began) / 50
client.stop_channels()
manager.shutdown_kernel(now=True)
print(json.dumps({"start": start, "block": block}))`

// BenchmarkJupyterKernel measures the installed notebook kernel: its start and a block without a call.
func BenchmarkJupyterKernel(b *testing.B) {
	if err := exec.CommandContext(b.Context(), "python3", "-c", "import ipykernel, jupyter_client").Run(); err != nil {
		b.Skip("python3 has no ipykernel and jupyter_client to compare with: pip install ipykernel jupyter_client")
	}
	for b.Loop() {
		text, err := exec.CommandContext(b.Context(), "python3", "-c", jupyter).Output()
		if err != nil {
			b.Fatal(err)
		}
		var took struct{ Start, Block float64 }
		if err := json.Unmarshal(text, &took); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(took.Start*1e3, "ms/session")
		b.ReportMetric(took.Block*1e3, "ms/block")
	}
}
