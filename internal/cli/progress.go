package cli

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// meter shows the progress of a command, on a terminal only: what is done, the rate, the remaining time, and failures.
type meter struct {
	app   *app
	width int
	shown bool

	mu    sync.Mutex
	pass  string
	began time.Time
	last  time.Time
}

// refresh is the shortest time between two lines.
const refresh = 100 * time.Millisecond

func (a *app) meter() *meter {
	width, ok := a.Width(a.raw.Err)
	if !ok || a.asJSON {
		width = 0
	}
	return &meter{app: a, width: width}
}

// show replaces the line. A total of 0 is unknown.
func (m *meter) show(pass string, done, total int, rest string) {
	if m.width == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.app.Now()
	if pass != m.pass {
		m.pass, m.began, m.last = pass, now, time.Time{}
	}
	if now.Sub(m.last) < refresh && done != total {
		return
	}
	m.last = now
	line := fmt.Sprintf("%-8s %d/%d", pass, done, total)
	if elapsed := now.Sub(m.began).Seconds(); elapsed > 0.5 && done > 0 {
		rate := float64(done) / elapsed
		line += fmt.Sprintf("  %.0f/s", rate)
		if total > done {
			left := time.Duration(float64(total-done) / rate * float64(time.Second)).Round(time.Second)
			line += fmt.Sprintf("  %s left", left)
		}
	}
	if rest != "" {
		line += "  " + rest
	}
	if len(line) > m.width-1 {
		line = line[:m.width-1]
	}
	m.shown = true
	_, _ = fmt.Fprintf(m.app.raw.Err, "\r%s%s", line, strings.Repeat(" ", m.width-1-len(line)))
}

// clear removes the line.
func (m *meter) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shown {
		_, _ = fmt.Fprintf(m.app.raw.Err, "\r%s\r", strings.Repeat(" ", m.width-1))
		m.shown = false
	}
}
