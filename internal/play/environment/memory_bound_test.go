package environment

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/seatrial/seatrial/internal/task"
)

// TestMemoryBound fills memories from several goroutines with calls of all sizes: none holds more than its bound, and
// none keeps a call that would take an eighth of it.
func TestMemoryBound(t *testing.T) {
	const bound = 256 << 10
	m := NewMemory(bound)
	of := m.scene(nil, nil, Limits{})
	kit := &tool{}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			random := task.Draw(uint64(g), "sizes")
			for n := range 2000 {
				rows := make([]task.Row, random.IntN(1+n%200))
				for i := range rows {
					rows[i] = task.Row{int64(i), fmt.Sprint("text ", n)}
				}
				key := memoryKey{of, kit, fmt.Sprint(n % 700)}
				m.put(&memory{
					key: key, results: []*task.Result{{Rows: rows}, nil}, content: make(json.RawMessage, random.IntN(9000)),
				})
				m.get(of, kit, []byte(key.arguments))
				m.mu.Lock()
				if m.bytes > bound || len(m.known) != m.recent.Len() {
					t.Errorf("%d bytes in %d entries of %d", m.bytes, len(m.known), m.recent.Len())
				}
				m.mu.Unlock()
			}
		})
	}
	all.Wait()
	sum := 0
	for at := m.recent.Front(); at != nil; at = at.Next() {
		x := at.Value.(*memory)
		if sum += x.bytes; x.bytes > bound/8 || m.known[x.key] != at {
			t.Errorf("%d bytes under %q", x.bytes, x.key.arguments)
		}
	}
	if sum != m.bytes || sum < bound/2 {
		t.Errorf("entries of %d bytes are reckoned as %d", sum, m.bytes)
	}
}
