package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/serve/proxy/record"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	typeJSON      = "application/json"
	typeEvents    = "text/event-stream"
)

// maxSessions bounds the sessions that are known at one time. Beyond it the oldest are forgotten: their calls are
// numbered from 1 again.
const maxSessions = 4096

// hopHeaders belong to one connection.
var hopHeaders = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// gateway is a proxy in front of a server that speaks streamable HTTP.
type gateway struct {
	p      *Proxy
	target *url.URL
	wire   http.RoundTripper

	mu        sync.Mutex
	sessions  map[string]*httpSession
	order     []string
	anonymous *httpSession // of requests without a session
}

// httpSession is a session with the stream on which the server speaks by itself, where the client keeps one open.
type httpSession struct {
	*session
	begun bool // a client has introduced itself, or called a tool

	mu     sync.Mutex
	stream *events
}

// Handler is the proxy as an HTTP handler in front of the MCP endpoint target. Requests to other paths are passed on to
// the same host, unread: metadata about authorization stands there.
func (p *Proxy) Handler(target *url.URL) (http.Handler, error) {
	if err := p.f.Usable(true); err != nil {
		return nil, err
	}
	return p.gateway(target, &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableCompression: true, MaxIdleConnsPerHost: 256, ForceAttemptHTTP2: true,
	}), nil
}

func (p *Proxy) gateway(target *url.URL, wire http.RoundTripper) *gateway {
	return &gateway{p: p, target: target, wire: wire, sessions: map[string]*httpSession{}}
}

// ParseTarget reads the address of an MCP endpoint.
func ParseTarget(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, diag.Usagef("%q is no address of an MCP server", address).WithHint("http://127.0.0.1:9001/mcp")
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// ServeHTTP is that of [http.Handler].
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != g.target.Path {
		g.pass(w, r, r.Body)
		return
	}
	switch r.Method {
	case http.MethodPost:
		g.post(w, r)
	case http.MethodGet:
		g.get(w, r)
	default:
		g.pass(w, r, r.Body)
	}
}

// request makes the request to the server: all that the client sent, but for what belongs to the connection.
func (g *gateway) request(r *http.Request, body io.Reader, length int64) *http.Request {
	u := *g.target
	u.Path, u.RawPath, u.RawQuery = r.URL.Path, r.URL.RawPath, r.URL.RawQuery
	if u.RawQuery == "" && r.URL.Path == g.target.Path {
		u.RawQuery = g.target.RawQuery
	}
	out := &http.Request{Method: r.Method, URL: &u, Header: r.Header.Clone(), Host: r.Host, ContentLength: length,
		Body: http.NoBody}
	if body != nil {
		out.Body = io.NopCloser(body)
	}
	for _, name := range strings.Split(r.Header.Get("Connection"), ",") {
		out.Header.Del(strings.TrimSpace(name))
	}
	for _, name := range hopHeaders {
		out.Header.Del(name)
	}
	if r.URL.Path == g.target.Path {
		out.Header.Set("Accept-Encoding", "identity") // what is compressed cannot be read
	}
	if _, sent := r.Header["User-Agent"]; !sent {
		out.Header["User-Agent"] = nil // none is made up
	}
	// A server on this machine guards itself by host and origin, so both pass. One elsewhere answers to its own name only.
	if !isLoopback(g.target.Host) && isLoopback(r.Host) {
		out.Host = g.target.Host
		if origin := out.Header.Get("Origin"); origin == "http://"+r.Host {
			out.Header.Set("Origin", g.target.Scheme+"://"+g.target.Host)
		}
	}
	return out.WithContext(r.Context())
}

// setName says in a header what a message is about, as servers check from the version of 2026-07-28 on.
func setName(header http.Header, m *message) {
	params := m.params()
	name, ok := text(params.get("name"))
	if m.method == "resources/read" {
		name, ok = text(params.get("uri"))
	}
	switch m.method {
	case "tools/call", "prompts/get", "resources/read":
	default:
		return
	}
	if !ok {
		return
	}
	header.Set(headerName, headerText(name))
}

func isLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// pass hands a request to the server and its response back, unread.
func (g *gateway) pass(w http.ResponseWriter, r *http.Request, body io.Reader) {
	response := g.ask(w, r, body, r.ContentLength)
	if response == nil {
		return
	}
	defer closeBody(response)
	if r.Method == http.MethodDelete && r.URL.Path == g.target.Path && response.StatusCode/100 == 2 {
		g.end(r.Header.Get(headerSession))
	}
	copyHead(w, response)
	copyStream(w, response.Body)
}

// ask asks the server; where that fails the client is told, and there is no response.
func (g *gateway) ask(w http.ResponseWriter, r *http.Request, body io.Reader, length int64) *http.Response {
	response, err := g.wire.RoundTrip(g.request(r, body, length))
	if err != nil {
		if r.Context().Err() == nil {
			http.Error(w, "The server behind the proxy does not answer: "+err.Error(), http.StatusBadGateway)
		}
		return nil
	}
	return response
}

func closeBody(r *http.Response) { _ = r.Body.Close() } // what matters was read

func copyHead(w http.ResponseWriter, r *http.Response) {
	for name, values := range r.Header {
		w.Header()[name] = values
	}
	for _, name := range hopHeaders {
		w.Header().Del(name)
	}
	w.WriteHeader(r.StatusCode)
}

// copyStream copies what comes as it comes.
func copyStream(w http.ResponseWriter, from io.Reader) {
	control := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, failed := w.Write(buffer[:n]); failed != nil {
				return
			}
			_ = control.Flush() // a writer that cannot sends it later
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				panic(http.ErrAbortHandler) // the client must not take the part for the whole
			}
			return
		}
	}
}

// post carries a message of the client and what the server answers.
func (g *gateway) post(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(r.Body, r.ContentLength, g.p.limit)
	if err != nil {
		http.Error(w, "The message did not arrive whole.", http.StatusBadRequest)
		return
	}
	s := g.session(r, body)
	if len(body) > g.p.limit {
		s.t.Add(&record.Line{Session: s.number, From: "client", Unread: len(body)})
		g.pass(w, r, io.MultiReader(bytes.NewReader(body), r.Body))
		return
	}
	t := s.fromClient(body)
	if t.forward == nil {
		g.deliver(w, r, s, t, nil, nil)
		return
	}
	if t.changed && r.Header.Get(headerName) != "" {
		if m, ok := readMessage(t.forward); ok {
			setName(r.Header, m)
			setMirrored(r.Header, t.mirrored, m)
		}
	}
	response := g.ask(w, r, bytes.NewReader(t.forward), int64(len(t.forward)))
	if response == nil {
		return
	}
	defer closeBody(response)
	if id := response.Header.Get(headerSession); id != "" {
		g.know(id, s)
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case typeEvents:
		copyHead(w, response)
		e := newEvents(w)
		for _, notice := range t.notices {
			e.message(s, notice)
		}
		e.carry(r.Context(), s, response.Body, g.p.limit)
		for _, d := range t.replies {
			e.hand(r.Context(), s, d, nil)
		}
	case typeJSON:
		head, err := readBody(response.Body, response.ContentLength, g.p.limit)
		switch {
		case err != nil:
			panic(http.ErrAbortHandler) // the server broke off
		case len(head) > g.p.limit:
			s.t.Add(&record.Line{Session: s.number, From: "server", Unread: len(head)})
			copyHead(w, response)
			copyStream(w, io.MultiReader(bytes.NewReader(head), response.Body))
		default:
			g.deliver(w, r, s, t, response, s.fromServer(head))
		}
	default:
		if len(t.replies) > 0 {
			g.deliver(w, r, s, t, nil, nil)
			return
		}
		s.push(t.notices)
		copyHead(w, response)
		copyStream(w, response.Body)
	}
}

// deliver answers a POST with one JSON message: the server's, where there is one, together with those that the proxy
// makes. Where something has to be said before it, the answer is a stream of events.
func (g *gateway) deliver(w http.ResponseWriter, r *http.Request, s *httpSession, t *turn, response *http.Response,
	d *delivery) {
	all := t.replies
	if d != nil {
		all = append([]*delivery{d}, all...)
	}
	notices := s.push(t.notices)
	if len(notices) > 0 {
		header(w, response, typeEvents)
		w.WriteHeader(http.StatusOK)
		e := newEvents(w)
		for _, notice := range notices {
			e.message(s, notice)
		}
		for _, one := range all {
			e.hand(r.Context(), s, one, nil)
		}
		return
	}
	answer := all[0]
	if len(all) > 1 || t.batch && d == nil {
		answer = combined(all)
	}
	if !wait(r.Context(), s, answer) {
		return
	}
	status := http.StatusOK
	if response != nil {
		status = response.StatusCode
	}
	if answer.fate == fateStatus {
		status = answer.status
		if answer.retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(answer.retryAfter))
		}
	}
	header(w, response, typeJSON)
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.message)))
	w.WriteHeader(status)
	if _, err := w.Write(answer.message); err != nil {
		s.undelivered(answer)
		return
	}
	s.delivered(answer)
	for _, one := range all {
		if one != answer {
			s.delivered(one)
		}
	}
}

// header copies the headers of the server's response, if there is one, for a body of the proxy's.
func header(w http.ResponseWriter, response *http.Response, kind string) {
	if response != nil {
		for name, values := range response.Header {
			w.Header()[name] = values
		}
		for _, name := range hopHeaders {
			w.Header().Del(name)
		}
		w.Header().Del("Content-Length")
	}
	if response == nil || kind == typeEvents {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
	}
}

// combined makes one answer of the replies to a batch: a list that holds those of the server's own, too.
func combined(all []*delivery) *delivery {
	flat := make([]*delivery, 0, len(all))
	answer := &delivery{}
	for _, d := range all {
		answer.wait, answer.fate = max(answer.wait, d.wait), max(answer.fate, d.fate)
		if d.status != 0 {
			answer.status, answer.retryAfter = d.status, d.retryAfter
		}
		if list, ok := readArray(d.message); ok && json.Valid(d.message) {
			for _, raw := range list {
				flat = append(flat, &delivery{message: raw})
			}
			continue
		}
		flat = append(flat, d)
	}
	answer.message = together(flat).message
	return answer
}

// wait waits until a message is due, and says whether it is to be written. A connection that a fault breaks ends here.
func wait(ctx context.Context, s *httpSession, d *delivery) bool {
	if d.fate == fateSilence {
		s.delivered(d)
		if pause(ctx, d.wait) {
			panic(http.ErrAbortHandler) // it was held for long enough
		}
		return false
	}
	if d.wait > 0 && !pause(ctx, d.wait) {
		s.undelivered(d)
		return false
	}
	if d.fate == fateDrop {
		s.delivered(d)
		panic(http.ErrAbortHandler) // breaks the connection without a word
	}
	return true
}

// get opens the stream on which the server speaks by itself.
func (g *gateway) get(w http.ResponseWriter, r *http.Request) {
	response := g.ask(w, r, nil, 0)
	if response == nil {
		return
	}
	defer closeBody(response)
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	copyHead(w, response)
	if kind != typeEvents {
		copyStream(w, response.Body)
		return
	}
	s := g.session(r, nil)
	e := newEvents(w)
	e.flush()
	s.listen(e)
	defer s.deafen(e)
	e.carry(r.Context(), s, response.Body, g.p.limit)
}

// readBody reads a body to its end, or one byte further than the limit. The length is what was announced, or negative.
func readBody(from io.Reader, length int64, limit int) ([]byte, error) {
	const most = 1 << 20 // that is believed before it has come
	body := bytes.NewBuffer(make([]byte, 0, min(max(length, 0), int64(limit), most)+bytes.MinRead))
	_, err := body.ReadFrom(io.LimitReader(from, int64(limit)+1))
	return body.Bytes(), err
}

// session gives the session of a request. A request that opens one begins a session of its own; what a client asks
// before it introduces itself belongs to it.
func (g *gateway) session(r *http.Request, body []byte) *httpSession {
	id := r.Header.Get(headerSession)
	g.mu.Lock()
	defer g.mu.Unlock()
	if id != "" {
		if s := g.sessions[id]; s != nil {
			return s
		}
		s := &httpSession{session: g.p.newSession()}
		g.remember(id, s)
		return s
	}
	m, ok := readMessage(body)
	opens := ok && m.method == "initialize"
	if g.anonymous == nil || opens && g.anonymous.begun {
		g.anonymous = &httpSession{session: g.p.newSession()}
	}
	g.anonymous.begun = g.anonymous.begun || opens || ok && m.method == "tools/call"
	return g.anonymous
}

// know takes note of the id that the server gave a session.
func (g *gateway) know(id string, s *httpSession) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.sessions[id] == nil {
		g.remember(id, s)
	}
	if g.anonymous == s {
		g.anonymous = nil
	}
}

func (g *gateway) remember(id string, s *httpSession) {
	g.sessions[id] = s
	g.order = append(g.order, id)
	if len(g.order) > maxSessions {
		delete(g.sessions, g.order[0])
		g.order = g.order[1:]
	}
}

func (g *gateway) end(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.sessions[id]; s != nil {
		s.left()
		delete(g.sessions, id)
	}
}

func (s *httpSession) listen(e *events) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stream = e
}

func (s *httpSession) deafen(e *events) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == e {
		s.stream = nil
	}
}

// push says things on the stream that the client keeps open; what it gives back has to be said elsewhere.
func (s *httpSession) push(notices [][]byte) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock() // the stream stays open while something is said on it
	if s.stream == nil {
		return notices
	}
	for _, notice := range notices {
		s.stream.message(s, notice)
	}
	return nil
}

// events is a stream of server-sent events to a client.
type events struct {
	mu      sync.Mutex
	w       io.Writer
	control *http.ResponseController
}

func newEvents(w http.ResponseWriter) *events {
	return &events{w: w, control: http.NewResponseController(w)}
}

func (e *events) flush() { _ = e.control.Flush() } // a writer that cannot sends it later

func (e *events) write(raw []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, err := e.w.Write(raw); err != nil {
		return err
	}
	e.flush()
	return nil
}

// message says something of the proxy's own.
func (e *events) message(s *httpSession, raw []byte) {
	s.notice(raw)
	_ = e.write(fmt.Appendf(nil, "event: message\ndata: %s\n\n", raw)) // who is gone needs no notice
}

// carry carries events. Those that hold messages are looked at; comments, ids and whatever else there is stay as they
// are.
func (e *events) carry(ctx context.Context, s *httpSession, from io.Reader, limit int) {
	f := newFrames(from, limit)
	var event [][]byte
	size := 0
	for {
		raw, long, err := f.next()
		if len(raw) > 0 {
			event, size = append(event, raw), size+len(raw)
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			panic(http.ErrAbortHandler) // the server broke off, so the client's stream breaks too
		case err != nil:
			if size > 0 && e.write(bytes.Join(event, nil)) != nil { // half an event
				return
			}
			return
		case long || size > limit:
			if !e.unread(s, event, f, long) {
				return
			}
			event, size = nil, 0
		default:
			if body, _ := lineEnd(raw); len(body) > 0 {
				continue
			}
			if !e.event(ctx, s, event) {
				return
			}
			event, size = nil, 0
		}
	}
}

// unread passes on an event that is too long to be looked at.
func (e *events) unread(s *httpSession, event [][]byte, f *frames, long bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	defer e.flush()
	head := bytes.Join(event, nil)
	total := len(head)
	if _, err := e.w.Write(head); err != nil {
		return false
	}
	if long && head[len(head)-1] != '\n' {
		n, err := f.rest(e.w)
		total += n
		if err != nil {
			return false
		}
	}
	s.t.Add(&record.Line{Session: s.number, From: "server", Unread: total})
	return true
}

// event looks at one event and passes it on.
func (e *events) event(ctx context.Context, s *httpSession, event [][]byte) bool {
	var data []byte
	found := false
	for _, raw := range event {
		body, _ := lineEnd(raw)
		if value, ok := bytes.CutPrefix(body, []byte("data:")); ok {
			if found {
				data = append(data, '\n')
			}
			data, found = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return e.write(bytes.Join(event, nil)) == nil
	}
	return e.hand(ctx, s, s.fromServer(data), event)
}

// hand hands over a message as an event: the one in which it came, if it came in one.
func (e *events) hand(ctx context.Context, s *httpSession, d *delivery, event [][]byte) bool {
	if !wait(ctx, s, d) {
		return false
	}
	raw := bytes.Join(event, nil)
	if d.changed || event == nil {
		raw = nil
		for _, line := range event {
			if body, _ := lineEnd(line); len(body) > 0 && !bytes.HasPrefix(body, []byte("data:")) {
				raw = append(raw, line...)
			}
		}
		raw = fmt.Appendf(raw, "data: %s\n\n", d.message)
	}
	if e.write(raw) != nil {
		s.undelivered(d)
		return false
	}
	s.delivered(d)
	return true
}
