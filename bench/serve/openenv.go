package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// openEnv plays episodes over OpenEnv's protocol in so many environments, each on a connection of its own: a reset, the
// first call of a plan, and the answer. It counts the steps, which resets are not.
func openEnv(dir, address string, size int, digests bool, pid int, long time.Duration) error {
	type message struct {
		Type string         `json:"type"`
		Data map[string]any `json:"data"`
	}
	var episodes [][2][]byte // the reset and the call
	err := lines(filepath.Join(dir, "tasks.jsonl"), func(t task) error {
		if len(t.Plans) == 0 || len(t.Plans[0].Calls) != 1 {
			return nil
		}
		c := t.Plans[0].Calls[0]
		reset, err := json.Marshal(message{"reset", map[string]any{"instance": t.ID + "/clean", "tools_digest": digests}})
		if err != nil {
			return err
		}
		call, err := json.Marshal(message{"step", map[string]any{
			"type": "call_tool", "tool_name": c.Tool, "arguments": c.Arguments}})
		episodes = append(episodes, [2][]byte{reset, call})
		return err
	})
	if err == nil && len(episodes) == 0 {
		err = errors.New("the suite has no such calls")
	}
	if err != nil {
		return err
	}
	var clients []*websocket.Conn
	for range size {
		c, answer, err := websocket.Dial(context.Background(), "ws://"+address+"/ws", nil)
		if err != nil {
			return err
		}
		if answer.Body != nil {
			_ = answer.Body.Close() // the connection is a WebSocket now
		}
		c.SetReadLimit(-1)
		defer func() { _ = c.CloseNow() }()
		clients = append(clients, c)
	}
	play := func(until time.Time) (int64, error) {
		var steps atomic.Int64
		errs := make([]error, size)
		var all sync.WaitGroup
		for i, c := range clients {
			all.Go(func() {
				episode := episodes[i%len(episodes)]
				for errs[i] == nil && time.Now().Before(until) {
					errs[i] = exchange(c, episode[0], `"done":false`)
					if errs[i] == nil {
						errs[i] = exchange(c, episode[1], `"done":false`)
					}
					if errs[i] == nil {
						errs[i] = exchange(c, []byte(`{"type":"step","data":{"type":"answer","answer":"$call_1$"}}`), `"reward":1`)
					}
					steps.Add(2)
				}
			})
		}
		all.Wait()
		return steps.Load(), errors.Join(errs...)
	}
	if _, err := play(time.Now().Add(time.Second)); err != nil { // every result is asked for once
		return err
	}
	began, before := time.Now(), processor(pid)
	steps, err := play(began.Add(long))
	fmt.Printf("%.0f %.0f\n", float64(steps)/time.Since(began).Seconds(),
		float64(steps)/(processor(pid)-before).Seconds())
	return err
}

// exchange sends a message and reads the answer, which must be an observation that contains a text.
func exchange(c *websocket.Conn, text []byte, wanted string) error {
	if err := c.Write(context.Background(), websocket.MessageText, text); err != nil {
		return err
	}
	_, answer, err := c.Read(context.Background())
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(answer, []byte(`{"type":"observation"`)) || !bytes.Contains(answer, []byte(wanted)) {
		return fmt.Errorf("%s was answered %.200s", text, answer)
	}
	return nil
}
