package listen

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// sampleLine is a line of Prometheus' text format with a value.
var sampleLine = regexp.MustCompile(`^[a-z_:][a-z0-9_:]*(\{([A-Za-z_]+="(\\.|[^"\\])*"(, ?)?)+\})? -?[0-9.e+-]+$`)

func TestOnlyOperatorsSeeTheProcess(t *testing.T) {
	m := NewMetrics("1.0 \"x\\y\"\n", time.Unix(7, 0))
	m.Count("seatrial_requests_total").Add(3)
	m.PrivateGauge(`seatrial_failures_total`, func() float64 { return 1 })
	m.Gauge("seatrial_open", func() float64 { return 2 })
	read := func(whole bool) string {
		w := httptest.NewRecorder()
		m.Handler(whole).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for line := range strings.Lines(w.Body.String()) {
			line = strings.TrimSuffix(line, "\n")
			if !strings.HasPrefix(line, "#") && !sampleLine.MatchString(line) {
				t.Errorf("%q is no sample", line)
			}
		}
		return w.Body.String()
	}
	everybody, operator := read(false), read(true)
	for _, line := range []string{
		"seatrial_requests_total 3\n", "seatrial_open 2\n", "seatrial_start_time_seconds 7\n",
		`seatrial_build_info{version="1.0 \"x\\y\"\n"} 1`,
	} {
		if !strings.Contains(everybody, line) || !strings.Contains(operator, line) {
			t.Errorf("%q is missing in:\n%s", line, everybody)
		}
	}
	for _, word := range []string{"failures", "process_", "go_"} {
		if strings.Contains(everybody, word) || !strings.Contains(operator, word) {
			t.Errorf("%q is for operators", word)
		}
	}
}
