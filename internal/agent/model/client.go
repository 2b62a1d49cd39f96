package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/seatrial/seatrial/internal/task"
)

// maxReplyBytes bounds the body of an answer.
const maxReplyBytes = 64 << 20

// client is the one implementation of Client: it retries, limits, meters and records; its wire encodes, sends and
// decodes.
type client struct {
	provider, name string
	wire           wire
	options        Options // with defaults
	price          Price
	priced         bool
	secrets        *strings.Replacer
	session        *session // nil where nothing is recorded
}

func newClient(provider, name string, o Options) *client {
	if o.Transport == nil {
		o.Transport = sharedTransport()
	}
	if o.Timeout <= 0 {
		o.Timeout = 5 * time.Minute
	}
	if o.Clock == nil {
		o.Clock = machineClock{}
	}
	if o.Meter == nil {
		o.Meter = NewMeter()
	}
	o.Retry = o.Retry.withDefaults()
	c := &client{provider: provider, name: name, options: o, secrets: redactor(o)}
	c.price, c.priced = o.Prices.Lookup(provider + "/" + name)
	if o.Record != nil {
		c.session = o.Record.unscoped
	}
	return c
}

// NewTransport makes a transport that keeps a connection open for each of thousands of concurrent requests. proxy finds
// the proxy of a request, as http.ProxyFromEnvironment does; nil means none.
func NewTransport(proxy func(*http.Request) (*url.URL, error)) *http.Transport {
	return &http.Transport{
		Proxy:                 proxy,
		DialContext:           (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   4096,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   30 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

var sharedTransport = sync.OnceValue(func() *http.Transport { return NewTransport(nil) })

// redactor replaces the key, in every form in which an answer may echo it. Short keys are placeholders such as "none",
// which servers of one's own ask for, and would be found in ordinary text.
func redactor(o Options) *strings.Replacer {
	secrets := []string{o.APIKey}
	if u, err := url.Parse(o.BaseURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		secrets = append(secrets, password)
	}
	var pairs []string
	for _, secret := range secrets {
		if len(secret) < 12 {
			continue
		}
		escaped, err := json.Marshal(secret)
		if err != nil {
			panic(err) // text always has a JSON form
		}
		for _, form := range []string{secret, strings.Trim(string(escaped), `"`), url.QueryEscape(secret)} {
			pairs = append(pairs, form, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// Complete implements [Client].
func (c *client) Complete(ctx context.Context, r Request) (*Reply, error) {
	if r.Model == "" {
		r.Model = c.name
	}
	if err := checkRequest(&r); err != nil {
		return nil, err
	}
	x := &exchange{client: c, model: r.Model, output: c.wire.outputEstimate(r)}
	if c.session != nil {
		defer c.session.release(x)
	}
	for attempt := 1; ; attempt++ {
		reply, err := c.attempt(ctx, x, r)
		if err == nil {
			return reply, nil
		}
		var failed *ProviderError
		if !errors.As(err, &failed) {
			return nil, err
		}
		failed.Attempts = attempt
		if !failed.retryable() || attempt >= c.options.Retry.Attempts ||
			failed.RetryAfter > c.options.Retry.MaxRetryAfter {
			return nil, err
		}
		c.options.Meter.retried()
		if err := c.options.Clock.Sleep(ctx, c.options.Retry.delay(x.name, attempt, failed.RetryAfter)); err != nil {
			return nil, fmt.Errorf("%s/%s: %w", c.provider, r.Model, err)
		}
	}
}

// attempt sends the request once, or answers it from the record.
func (c *client) attempt(ctx context.Context, x *exchange, r Request) (*Reply, error) {
	x.answer = answer{}
	sent := c.wire.send(context.WithValue(ctx, exchangeKey{}, x), r)
	reply, err := c.judge(x, len(r.Messages), sent)
	var used task.Usage
	if reply != nil {
		used = reply.Usage
	}
	if x.reserved != nil {
		x.reserved(used)
		x.reserved = nil
	}
	var failed *ProviderError
	if errors.As(err, &failed) {
		failed.ProviderName, failed.Model = c.provider, r.Model
		failed.Message = c.secrets.Replace(failed.Message)
	}
	if c.session != nil && x.status != 0 && !x.replayed {
		decided := err == nil || failed != nil && !failed.retryable()
		if recordErr := c.session.write(x, c.provider, decided); recordErr != nil {
			return nil, recordErr
		}
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// judge says what came of an attempt; sent is what the library made of it, which counts only where nothing was sent.
func (c *client) judge(x *exchange, turn int, sent error) (*Reply, error) {
	switch {
	case x.err != nil:
		return nil, x.err
	case x.status == 0 && sent != nil:
		return nil, fmt.Errorf("%s/%s: chat request: %w", c.provider, x.model, sent)
	case x.status == 0:
		return nil, fmt.Errorf("%s/%s: nothing was sent", c.provider, x.model)
	case x.status < 200 || x.status > 299:
		return nil, classify(x.status, x.header, x.body, c.options.Clock.Now())
	}
	if status, found := embeddedError(x.body); found {
		return nil, classify(status, x.header, x.body, c.options.Clock.Now())
	}
	reply, err := c.wire.decode(x.body, turn)
	if err != nil {
		return nil, &ProviderError{Kind: KindBadReply, Status: x.status, Message: err.Error()}
	}
	if reply.Model == "" {
		reply.Model = x.model
	}
	if c.priced {
		u := reply.Usage
		if u.InputTokens == 0 && u.OutputTokens == 0 { // the service does not count
			u = task.Usage{InputTokens: x.inputEstimate(), OutputTokens: estimateTokens(len(reply.Message.Raw))}
		}
		reply.Usage.CostUSD = c.price.Cost(u)
	}
	return reply, nil
}

// exchange is one request with all its attempts.
type exchange struct {
	client *client
	model  string
	output int    // estimate of the reply's tokens
	name   string // of the request, for jitter: a hash of its body

	request []byte // as sent
	key     string // of the canonical body; empty where nothing is recorded
	form    []byte // the canonical body
	n       int    // which occurrence of key in the session this is, from 1

	answer
	reserved func(used task.Usage) // settles limits and spending; nil where nothing is reserved
}

// answer is what came of one attempt: a status with header and body, or err.
type answer struct {
	status   int
	header   http.Header
	body     []byte // valid UTF-8; compact where it is JSON; without secrets
	replayed bool
	err      error
}

type exchangeKey struct{}

// tap is the transport below the providers' libraries. It sees bodies as they are on the wire, answers from the record,
// waits for limits and budget, and keeps what came back in the context's exchange.
type tap struct{}

// RoundTrip implements http.RoundTripper.
func (tap) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request outside of an exchange")
	}
	x.answer = x.roundTrip(req)
	if x.err != nil {
		return nil, x.err
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", x.status, http.StatusText(x.status)), StatusCode: x.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: x.header.Clone(), Request: req,
		Body: io.NopCloser(bytes.NewReader(x.body)), ContentLength: int64(len(x.body)),
	}, nil
}

func (x *exchange) roundTrip(req *http.Request) answer {
	ctx, c := req.Context(), x.client
	body, err := io.ReadAll(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return answer{err: fmt.Errorf("read the request's body: %w", err)}
	}
	if x.request == nil {
		x.request = body
		sum := sha256.Sum256(body)
		x.name = hex.EncodeToString(sum[:8])
	}
	if c.session != nil {
		found, err := c.session.find(x, c.provider)
		if err != nil {
			return answer{err: err}
		}
		if found != nil {
			return *found
		}
	}
	if err := c.reserve(ctx, x); err != nil {
		return answer{err: c.cancelled(ctx, err)}
	}
	defer c.options.Limits.release()
	return c.deliver(ctx, req, body)
}

// estimateTokens errs on the side of too many: English text and JSON have about four bytes a token.
func estimateTokens(bytes int) int { return bytes/3 + 1 }

func (x *exchange) inputEstimate() int { return estimateTokens(len(x.request)) }

// reserve waits for budget and limits. After it, x.reserved settles both once.
func (c *client) reserve(ctx context.Context, x *exchange) error {
	input := x.inputEstimate()
	cost := c.price.Cost(task.Usage{InputTokens: input, OutputTokens: x.output})
	if err := c.options.Meter.reserve(ctx, c.options.MaxCostUSD, cost); err != nil {
		return err
	}
	if err := c.options.Limits.acquire(ctx, c.options.Clock, input); err != nil {
		c.options.Meter.settle(cost, task.Usage{})
		return err
	}
	x.reserved = func(used task.Usage) {
		c.options.Meter.settle(cost, used)
		c.options.Limits.settle(c.options.Clock.Now(), input, used.InputTokens+used.OutputTokens)
	}
	return nil
}

// cancelled names the model in the error of an ended context; other errors pass.
func (c *client) cancelled(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%s/%s: %w", c.provider, c.name, err)
	}
	return err
}

// deliver sends the request and reads the whole answer within the timeout.
func (c *client) deliver(ctx context.Context, req *http.Request, body []byte) answer {
	bounded, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	req = req.Clone(bounded)
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody() // never fails
	req.ContentLength = int64(len(body))
	response, err := c.options.Transport.RoundTrip(req)
	var content []byte
	if err == nil {
		content, err = io.ReadAll(io.LimitReader(response.Body, maxReplyBytes+1))
		if closeErr := response.Body.Close(); err == nil {
			err = closeErr
		}
	}
	if err == nil && len(content) > maxReplyBytes {
		err = fmt.Errorf("an answer of more than %d MiB", maxReplyBytes>>20)
	}
	if err != nil {
		return answer{err: c.connectionError(ctx, bounded, err)}
	}
	return answer{status: response.StatusCode, header: response.Header, body: c.tidy(content)}
}

// tidy makes the body the same whether it comes from the wire or from the record.
func (c *client) tidy(content []byte) []byte {
	content = []byte(c.secrets.Replace(string(bytes.ToValidUTF8(content, []byte("\uFFFD")))))
	var compact bytes.Buffer
	if json.Compact(&compact, content) == nil {
		return compact.Bytes()
	}
	return content
}

// connectionError tells apart the caller's cancellation, our timeout and a broken connection.
func (c *client) connectionError(ctx, bounded context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s/%s: %w", c.provider, c.name, ctx.Err())
	}
	failed := &ProviderError{Kind: KindConnection, Message: c.secrets.Replace(err.Error()), Cause: err}
	var network net.Error
	switch {
	case bounded.Err() != nil:
		failed.Kind, failed.Message = KindTimeout, fmt.Sprintf("no answer within %s", c.options.Timeout)
	case errors.As(err, &network) && network.Timeout():
		failed.Kind = KindTimeout
	}
	return failed
}

// noRedirect hands a redirect back as the answer: a key must not follow it to another address.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
