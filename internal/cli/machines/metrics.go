package machines

import (
	"context"
	"net"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/diag/program"
	"github.com/seatrial/seatrial/internal/play/fleet"
	"github.com/seatrial/seatrial/internal/serve/listen"
)

// serveMetrics serves the figures of a worker until it is stopped. Agents on this machine can read them, so they say
// nothing of episodes but how many there are.
func (w *worker) serveMetrics(ctx context.Context, p *fleet.Worker) (stop func() error, err error) {
	if w.metrics == "" {
		return func() error { return nil }, nil
	}
	listener, err := net.Listen("tcp", w.metrics)
	if err != nil {
		return nil, diag.Usagef("--metrics: %v", err).WithHint("--metrics 127.0.0.1:9464")
	}
	m := listen.NewMetrics(version(), w.Now())
	for name, value := range map[string]func(fleet.Figures) int{
		"seatrial_worker_episodes_done_total": func(f fleet.Figures) int { return f.Done },
		"seatrial_worker_episodes_playing":    func(f fleet.Figures) int { return f.Playing },
		"seatrial_worker_records_unsent":      func(f fleet.Figures) int { return f.Unsent },
		"seatrial_worker_paused":              func(f fleet.Figures) int { return one(f.Paused) },
		"seatrial_worker_drained":             func(f fleet.Figures) int { return one(f.Drained) },
	} {
		m.Gauge(name, func() float64 { return float64(value(p.Figures())) })
	}
	m.Gauge("seatrial_worker_connected", func() float64 { return float64(one(p.Conn.IsConnected())) })
	for class, slots := range p.Slots {
		m.Gauge(`seatrial_worker_slots{class="`+class+`"}`, func() float64 { return float64(slots) })
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler(false))
	w.Note("figures for Prometheus: http://%s/metrics", listener.Addr())
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		server := listen.Server{Handler: mux}
		_, done, err := server.Serve(ctx, listener)
		done()
		ended <- err
	}()
	return func() error {
		cancel()
		return <-ended
	}, nil
}

// version is that of the program, as figures show it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	r := program.RecordedIn(info)
	return strings.TrimRight(r.Version+" "+r.Commit+" "+r.Modified, " ")
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}
