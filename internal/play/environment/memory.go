package environment

import (
	"encoding/json"
	"sync"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/lru"
)

// Memory caches the results of calls for all environments that share it. Worlds do not change, so a result depends only
// on the worlds, the tool and the arguments, unless these refer to earlier calls or a condition changes calls.
// Transcripts are the same with and without it. It is bounded, evicts the least recently used, and is safe for
// concurrent use.
type Memory struct {
	mu     sync.Mutex
	scenes map[sceneKey]*scene
	known  *lru.Cache[memoryKey, *memory]
}

// NewMemory returns an empty memory of that many bytes. One call takes at most an eighth of it. Worlds of environments
// that share it must be comparable.
func NewMemory(bound int) *Memory {
	return &Memory{scenes: map[sceneKey]*scene{}, known: lru.New[memoryKey, *memory](bound, bound/8, nil)}
}

// scene is a world with its neighbours and limits: the last link of a chain with one world each.
type scene struct{ sceneKey }

type sceneKey struct {
	before *scene
	world  World
	limits Limits
}

// memoryKey is a call: its arguments are the JSON that the agent wrote.
type memoryKey struct {
	scene     *scene
	tool      *tool
	arguments string
}

// memory is the result of a call. Episodes share it, and it does not change.
type memory struct {
	key       memoryKey
	arguments map[string]any
	results   []*task.Result
	content   json.RawMessage
	note      string
	digest    string
	neighbour []string
}

// scene returns the scene of these worlds.
func (m *Memory) scene(world World, neighbours []World, limits Limits) *scene {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	last := m.setting(sceneKey{world: world, limits: limits})
	for _, n := range neighbours {
		last = m.setting(sceneKey{before: last, world: n})
	}
	return last
}

func (m *Memory) setting(key sceneKey) *scene {
	known := m.scenes[key]
	if known == nil {
		known = &scene{key}
		m.scenes[key] = known
	}
	return known
}

func (m *Memory) get(s *scene, t *tool, arguments []byte) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	found, _ := m.known.Get(memoryKey{scene: s, tool: t, arguments: string(arguments)})
	return found
}

func (m *Memory) put(x *memory) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known.Put(x.key, x, x.size())
}

// size estimates its bytes. Decoded arguments are estimated by the length of their JSON.
func (x *memory) size() int {
	n := 600 + 5*len(x.key.arguments) + cap(x.content) + len(x.note) + 48*len(x.neighbour)
	for _, r := range x.results {
		if r != nil {
			n += r.Size()
		}
	}
	return n
}

// recall finds the result of an identical earlier call.
func (e *Environment) recall(c *call) *memory {
	if e.scene == nil || len(c.action.Arguments) > maxRecalled {
		return nil
	}
	return e.config.Memory.get(e.scene, c.tool, c.action.Arguments)
}

// maxRecalled bounds the remembered arguments, in bytes: longer ones rarely repeat.
const maxRecalled = 4 << 10

// remember keeps the result of a call.
func (e *Environment) remember(c *call, handed *returned) {
	if e.scene == nil || len(c.action.Arguments) > maxRecalled || c.resolved || c.timeouts > 0 {
		return
	}
	if len((&task.Call{Arguments: c.arguments}).References()) > 0 {
		return
	}
	e.config.Memory.put(&memory{
		key:       memoryKey{scene: e.scene, tool: c.tool, arguments: string(c.action.Arguments)},
		arguments: c.arguments, results: handed.results, content: c.delivery.Content, note: c.delivery.Note, digest: c.digest,
		neighbour: c.neighbour,
	})
}

// deliverAgain delivers the result of an identical earlier call.
func (c *call) deliverAgain(x *memory) {
	c.digest, c.neighbour, c.rows = x.digest, x.neighbour, len(x.results[0].Rows)
	c.outcome.names, c.outcome.columns, c.outcome.results = c.tool.names, c.tool.specification.Body.Columns, x.results
	c.delivery = fault.Delivery{Content: x.content[:len(x.content):len(x.content)], Note: x.note}
}
