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
					rows[i] = task.Row{task.Integer(i), task.Text(fmt.Sprint("text ", n))}
				}
				key := memoryKey{of, kit, fmt.Sprint(n % 700)}
				m.put(&memory{
					key: key, results: []*task.Result{{Rows: rows}, nil}, content: make(json.RawMessage, random.IntN(9000)),
				})
				m.get(of, kit, []byte(key.arguments))
				m.mu.Lock()
				if m.known.Weight() > bound {
					t.Errorf("%d bytes of %d", m.known.Weight(), bound)
				}
				m.mu.Unlock()
			}
		})
	}
	all.Wait()
	sum := 0
	for _, key := range m.known.Keys() {
		x, _ := m.known.Get(key)
		if sum += x.size(); x.size() > bound/8 {
			t.Errorf("%d bytes under %q", x.size(), key.arguments)
		}
	}
	if sum != m.known.Weight() || sum < bound/2 {
		t.Errorf("entries of %d bytes weigh %d", sum, m.known.Weight())
	}
}
