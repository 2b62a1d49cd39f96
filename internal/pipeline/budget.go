package pipeline

import (
	"context"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/seatrial/seatrial/internal/diag"
)

// watchEvery is how often a build looks at its memory.
const watchEvery = 50 * time.Millisecond

// budget bounds what a build may use. It ends the build and names the examples at work: neither time nor memory decides
// what is published.
type budget struct {
	timeout time.Duration // of one example over all passes; 0 is no limit
	memory  int64         // resident bytes of the process; 0 is no limit

	mu     sync.Mutex
	spent  map[*item]time.Duration
	atWork map[string]bool // examples and databases, as errors name them
}

// begin notes what is worked on, and end that it is done.
func (b *budget) begin(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.atWork[name] = true
}

func (b *budget) end(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.atWork, name)
}

// watch cancels the context when the process uses more memory than it may.
func (b *budget) watch(ctx context.Context, stop context.CancelCauseFunc) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for ctx.Err() == nil && b.memory > 0 {
		select {
		case <-ctx.Done():
		case <-tick.C:
			if used := resident(); used > b.memory {
				e := &diag.Error{Exit: diag.ExitFailed, Message: fmt.Sprintf("the build uses %d MiB of memory, more than %d%s",
					used>>20, b.memory>>20, b.names())}
				stop(e.WithHint("raise --max-memory, lower --workers, or leave the example out"))
			}
		}
	}
}

// names lists the examples that are being worked on.
func (b *budget) names() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.atWork) == 0 {
		return ""
	}
	return "; it works on " + strings.Join(slices.Sorted(maps.Keys(b.atWork)), ", ")
}

// example does a part of the work on an example within what is left of its time.
func (b *budget) example(ctx context.Context, it *item, work func(context.Context) error) error {
	b.begin("example " + it.id)
	defer b.end("example " + it.id)
	b.mu.Lock()
	left := b.timeout - b.spent[it]
	b.mu.Unlock()
	within, stop := ctx, context.CancelFunc(func() {})
	if b.timeout > 0 {
		within, stop = context.WithTimeout(ctx, left)
	}
	defer stop()
	began := time.Now()
	err := work(within)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spent[it] += time.Since(began)
	if b.timeout > 0 && b.spent[it] > b.timeout && ctx.Err() == nil {
		e := &diag.Error{Position: it.example.Position, Exit: diag.ExitFailed,
			Message: fmt.Sprintf("example %s takes longer than %s", it.id, b.timeout)}
		return e.WithHint("raise --example-timeout, or leave the example out: time never decides what is published")
	}
	return err
}

// resident returns the bytes of memory that the process has, or what the Go runtime has where the system does not say.
func resident() int64 {
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			if pages, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return pages * int64(os.Getpagesize())
			}
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}
