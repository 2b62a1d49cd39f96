package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/seatrial/seatrial/internal/task"
)

// headerRequest is the header with the id of a request, in answers and in the log. A client's own id is kept.
const headerRequest = "X-Request-Id"

// logLevels are the levels of the log of requests, beside none.
var logLevels = []struct {
	name  string
	level slog.Level
}{{"error", slog.LevelError}, {"warn", slog.LevelWarn}, {"debug", slog.LevelDebug}}

// LogLevels lists the names of the levels of the log of requests.
func LogLevels() []string {
	names := []string{"none"}
	for _, l := range logLevels {
		names = append(names, l.name)
	}
	return names
}

// NewLog makes the log of requests at a level; nil for none.
func NewLog(w io.Writer, level string) *slog.Logger {
	for _, l := range logLevels {
		if l.name == level {
			return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: l.level}))
		}
	}
	return nil
}

// serveHealth says whether the process runs, whether it takes episodes, and which version it is. None of it needs a
// token.
func (a *api) serveHealth(mux *http.ServeMux) {
	say := func(w http.ResponseWriter, status int, v any) {
		text, err := task.Marshal(v)
		if err != nil { // it contains only texts and numbers
			status, text = http.StatusInternalServerError, []byte(`{}`)
		}
		w.Header()[headerType] = typeJSON
		send(w, status, text)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if reason := a.core.unready(); reason != "" {
			say(w, http.StatusServiceUnavailable, map[string]string{"status": reason})
			return
		}
		say(w, http.StatusOK, map[string]string{"status": "ready"})
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, map[string]string{"version": a.options.Version, "suite": a.core.config.Suite.Manifest.Digest})
	})
}

// unready says why no episode can begin, "" if one can.
func (s *Episodes) unready() string {
	if s.Err() != nil {
		return "the store failed"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closing:
		return "shutting down"
	case s.open >= s.limits.Episodes:
		return "full"
	default:
		return ""
	}
}

// logged writes a line of JSON for each request, if the log takes it: failures of the server as errors, refused
// requests and failed calls as warnings, all others at the level debug.
func (a *api) logged(next http.Handler) http.Handler {
	log := a.options.Log
	if log == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequest)
		if id == "" || len(id) > maxName || strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c > '~' }) {
			id = task.Hash(uint64(a.requests.Add(1)), "request", string(a.core.config.Secret))[:16]
		}
		w.Header().Set(headerRequest, id)
		seen := &statusWriter{ResponseWriter: w}
		begin := a.core.now()
		defer func() {
			level := slog.LevelDebug
			switch {
			case seen.code == codeInternal: // other codes from 500 on are faults that were injected
				level = slog.LevelError
			case seen.status >= 400:
				level = slog.LevelWarn
			}
			attributes := []slog.Attr{
				slog.String("request", id), slog.String("method", r.Method), slog.String("path", r.URL.Path),
				slog.Int("status", seen.status), slog.String("code", seen.code), slog.Duration("took", a.core.now().Sub(begin)),
			}
			if e := a.addressed(r); e != nil {
				attributes = append(attributes, slog.String("episode", e.ID()), slog.String("instance", e.instance.ID))
			}
			log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attributes...)
		}()
		next.ServeHTTP(seen, r)
	})
}

// addressed returns the episode of a request, by its address or its session.
func (a *api) addressed(r *http.Request) *Episode {
	if rest, found := strings.CutPrefix(r.URL.Path, "/v1/episodes/"); found {
		handle, _, _ := strings.Cut(rest, "/")
		return a.core.Get(handle)
	}
	a.desks.mu.Lock()
	defer a.desks.mu.Unlock()
	if h := a.desks.sessions[r.Header.Get(headerSession)]; h != nil {
		return h.episode
	}
	return nil
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
	code   string // of a problem
}

// WriteHeader is that of [http.ResponseWriter].
func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write is that of [http.ResponseWriter].
func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// SetWriteDeadline is for answers to clients that read slowly.
func (w *statusWriter) SetWriteDeadline(at time.Time) error {
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(at)
}
