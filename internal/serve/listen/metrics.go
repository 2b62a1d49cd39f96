package listen

import (
	"net/http"
	"strings"
	"time"

	"github.com/VictoriaMetrics/metrics"
)

// Metrics are figures for Prometheus. Agents may be able to read them, so the figures that everybody sees count only
// what a client does itself: nothing in them differs between a call under a fault and the same call without one.
type Metrics struct {
	everybody *metrics.Set
	operator  *metrics.Set // what only the bearer of a token sees
}

// NewMetrics returns metrics that say which version runs since when.
func NewMetrics(version string, now time.Time) *Metrics {
	m := &Metrics{metrics.NewSet(), metrics.NewSet()}
	m.everybody.NewGauge(`seatrial_build_info{version=`+label(version)+`}`, func() float64 { return 1 })
	m.everybody.NewGauge("seatrial_start_time_seconds", func() float64 { return float64(now.Unix()) })
	return m
}

// label writes a text as the value of a label.
func label(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// Count returns a counter that everybody sees. Its name may have a label with a value of a closed set.
func (m *Metrics) Count(name string) *metrics.Counter { return m.everybody.GetOrCreateCounter(name) }

// Gauge adds a value that everybody sees. One whose name ends in _total only grows.
func (m *Metrics) Gauge(name string, value func() float64) { m.everybody.NewGauge(name, value) }

// PrivateGauge adds a value that only an operator sees.
func (m *Metrics) PrivateGauge(name string, value func() float64) { m.operator.NewGauge(name, value) }

// Handler writes the metrics, with those of the operator and of the process if whole is set. These are not for agents:
// how much a process computes or allocates tells whether a call ran.
func (m *Metrics) Handler(whole bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		m.everybody.WritePrometheus(w)
		if whole {
			m.operator.WritePrometheus(w)
			metrics.WriteProcessMetrics(w)
		}
	})
}
