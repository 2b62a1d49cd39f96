package openenv

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/serve/training"
	"github.com/seatrial/seatrial/internal/task"
)

// Codes of errors, as OpenEnv has them.
const (
	codeJSON      = "INVALID_JSON"
	codeType      = "UNKNOWN_TYPE"
	codeInvalid   = "VALIDATION_ERROR"
	codeExecution = "EXECUTION_ERROR"
	codeCapacity  = "CAPACITY_REACHED"
)

// maxSessions bounds the environments at a time.
const maxSessions = 1024

// writeTime is how long a client may take to read a message.
var writeTime = time.Minute // tests lower it

// Handler serves the protocol.
type Handler struct {
	config Config

	mu   sync.Mutex
	open int
	made uint64
}

// New makes a handler.
func New(config Config) *Handler { return &Handler{config: config} }

// enter makes a session; ok is false when there are too many.
func (h *Handler) enter() (s *session, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open >= maxSessions {
		return nil, false
	}
	h.open++
	h.made++
	return &session{config: &h.config, number: h.made}, true
}

func (h *Handler) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
}

// Socket serves one environment over a WebSocket, until its client closes it or is silent for longer than idle.
func (h *Handler) Socket(w http.ResponseWriter, r *http.Request, idle time.Duration) {
	s, ok := h.enter()
	if ok {
		defer h.leave()
	}
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // the client has its answer
	}
	defer func() { _ = c.CloseNow() }() // already closed, or of no use
	c.SetReadLimit(h.config.MaxBody)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	defer cancel()
	defer context.AfterFunc(h.config.Draining, cancel)()
	if !ok {
		full, err := task.Marshal(map[string]any{"message": "There are too many environments.", "code": codeCapacity,
			"active_sessions": maxSessions, "max_sessions": maxSessions})
		if err == nil && write(ctx, c, "error", full) == nil {
			_ = c.Close(websocket.StatusTryAgainLater, "full") // the client may be gone
		}
		return
	}
	for h.exchange(ctx, c, s, idle) {
	}
}

// exchange answers one message; it is false when the connection ends.
func (h *Handler) exchange(ctx context.Context, c *websocket.Conn, s *session, idle time.Duration) bool {
	timer := time.AfterFunc(idle, func() { _ = c.Close(websocket.StatusGoingAway, "idle") })
	_, text, err := c.Read(ctx)
	timer.Stop()
	if err != nil {
		return false
	}
	kind, data, over := h.answer(ctx, s, text)
	if over {
		_ = c.Close(websocket.StatusNormalClosure, "") // the client may be gone
		return false
	}
	return write(ctx, c, kind, data) == nil
}

// write sends a message. A client that does not read it in time loses its environment.
func write(ctx context.Context, c *websocket.Conn, kind string, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return c.Write(ctx, websocket.MessageText, envelope(kind, data))
}

// envelope writes a message.
func envelope(kind string, data []byte) []byte {
	text := append(make([]byte, 0, len(data)+40), `{"type":"`...)
	text = append(append(text, kind...), `","data":`...)
	return append(append(text, data...), '}')
}

// answer returns the answer to a message; over says that the client ends the session.
func (h *Handler) answer(ctx context.Context, s *session, text []byte) (kind string, data []byte, over bool) {
	var m struct {
		Type string          `json:"type"`
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return "error", failure(codeJSON, "The message cannot be read: "+err.Error()), false
	}
	var err error
	kind = "observation"
	switch m.Type {
	case "reset":
		data, err = guarded(func() ([]byte, error) { return s.reset(ctx, m.Data) })
	case "step":
		data, err = guarded(func() ([]byte, error) { return s.step(ctx, m.Data) })
	case "state":
		kind = "state"
		data, err = task.Marshal(&s.state)
	case "close":
		return "", nil, true
	case "mcp":
		return "mcp", []byte(rpcRefusal), false
	default:
		return "error", failure(codeType, fmt.Sprintf("There is no message of the type %.100q.", m.Type)), false
	}
	if err != nil {
		return "error", h.failed(err), false
	}
	return kind, data, false
}

// rpcRefusal answers MCP over the socket: the server speaks it at /mcp.
const rpcRefusal = `{"jsonrpc":"2.0","id":null,"error":` +
	`{"code":-32601,"message":"MCP is spoken at /mcp?instance=ALIAS."}}`

func guarded(do func() ([]byte, error)) (data []byte, err error) {
	defer diag.Guard(&err, "environment")
	return do()
}

// failed writes an error: a client's mistake in its words, Seatrial's own failure without them.
func (h *Handler) failed(err error) []byte {
	var mistake *invalid
	var refusal *training.Refusal
	switch {
	case errors.As(err, &mistake):
		return failure(codeInvalid, mistake.message)
	case errors.As(err, &refusal):
		return failure(codeExecution, refusal.Message)
	}
	if h.config.Failed != nil {
		h.config.Failed(fmt.Errorf("OpenEnv: %w", err))
	}
	return failure(codeExecution, "The environment failed.")
}

func failure(code, message string) []byte {
	text, err := task.Marshal(struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	}{message, code})
	if err != nil {
		return []byte(`{"message":"The environment failed.","code":"` + codeExecution + `"}`)
	}
	return text
}

// Schemas are the JSON Schemas of actions, observations and the state, as the protocol asks for them.
//
//go:embed schema.json
var Schemas []byte

// Once resets an environment of its own and, where step is true, does one action in it: what HTTP requests do, which
// keep nothing for the next one. The body may have "reset" beside "action". Status is that of the answer.
func (h *Handler) Once(ctx context.Context, body []byte, step bool) (status int, data []byte) {
	s, ok := h.enter()
	if !ok {
		return http.StatusServiceUnavailable, failure(codeCapacity, "There are too many environments.")
	}
	defer h.leave()
	do := func() ([]byte, error) { return s.reset(ctx, body) }
	if step {
		var b struct {
			Action    json.RawMessage `json:"action"`
			Reset     json.RawMessage `json:"reset"`
			TimeoutS  float64         `json:"timeout_s"`
			RequestID string          `json:"request_id"`
		}
		if err := task.DecodeStrict(body, &b); err != nil {
			return http.StatusBadRequest, failure(codeInvalid, "The body cannot be read: "+err.Error()+".")
		}
		do = func() ([]byte, error) {
			if _, err := s.reset(ctx, b.Reset); err != nil {
				return nil, err
			}
			return s.step(ctx, b.Action)
		}
	}
	data, err := guarded(do)
	var mistake *invalid
	var refusal *training.Refusal
	switch {
	case err == nil:
		return http.StatusOK, data
	case errors.As(err, &mistake) && mistake.unreadable:
		return http.StatusBadRequest, h.failed(err)
	case errors.As(err, &mistake), errors.As(err, &refusal):
		return http.StatusUnprocessableEntity, h.failed(err)
	default:
		return http.StatusInternalServerError, h.failed(err)
	}
}
