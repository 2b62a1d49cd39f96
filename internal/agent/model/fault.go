package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Kinds of provider errors, a closed list.
const (
	KindAuth          = "auth"           // the key is missing, wrong or not allowed this
	KindQuota         = "quota"          // the account has no money left
	KindRateLimit     = "rate_limit"     // too many requests or tokens for now
	KindTimeout       = "timeout"        // no answer in time
	KindServer        = "server"         // the service failed or is overloaded
	KindBadRequest    = "bad_request"    // the service refuses the request
	KindContextLength = "context_length" // the conversation is longer than the model reads
	KindConnection    = "connection"     // the service was not reached, or hung up
	KindBadReply      = "bad_reply"      // the answer is not of the wire format
	KindReplayMiss    = "replay_miss"    // the record has no answer to the request
)

// ProviderError is a failure of a model's provider, or of the record that replaces it: never the agent's mistake.
type ProviderError struct {
	Kind         string // one of the Kind constants
	Status       int    // of HTTP; 0 where no answer came
	ProviderName string // openai or anthropic
	Model        string
	Message      string        // what the provider says, without secrets
	RetryAfter   time.Duration // how long the provider asks to wait; 0 if it does not say
	Attempts     int           // how often the request was tried
	Cause        error         // of a failed connection
}

// Error returns model, kind, status and message.
func (e *ProviderError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s: %s", e.ProviderName, e.Model, strings.ReplaceAll(e.Kind, "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (%d)", e.Status)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " (after %d attempts)", e.Attempts)
	}
	return b.String()
}

// Unwrap returns the failure of the connection, if there is one.
func (e *ProviderError) Unwrap() error { return e.Cause }

// Provider tells other packages, which declare the one-method interface, that the failure is the provider's.
func (e *ProviderError) Provider() bool { return true }

// retryable reports whether the same request may succeed later.
func (e *ProviderError) retryable() bool {
	switch e.Kind {
	case KindRateLimit, KindTimeout, KindServer, KindConnection, KindBadReply:
		return true
	default:
		return false
	}
}

// SpendingError says that the spending limit is reached: the request was not sent.
type SpendingError struct {
	LimitUSD    float64
	SpentUSD    float64
	EstimateUSD float64 // of the request that was not sent
}

// Error returns the limit, what was spent and what the request might have cost.
func (e *SpendingError) Error() string {
	return fmt.Sprintf("spending limit reached: %.4f USD of %.4f USD are spent and the next request may cost %.4f USD",
		e.SpentUSD, e.LimitUSD, e.EstimateUSD)
}

// classify turns an answer that is no reply into an error. Only 408, 409, 429 and 5xx may be tried again.
func classify(status int, header http.Header, body []byte, now time.Time) *ProviderError {
	message, codes := errorText(body)
	e := &ProviderError{Status: status, Message: message, RetryAfter: retryAfter(header, now)}
	lower := strings.ToLower(message)
	has := func(texts ...string) bool {
		for _, t := range texts {
			if strings.Contains(lower, t) || strings.Contains(codes, t) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Kind = KindAuth
	case status == http.StatusPaymentRequired,
		status < 500 && has("insufficient_quota", "billing_error", "credit balance is too low"):
		e.Kind = KindQuota
	case status == http.StatusTooManyRequests:
		e.Kind = KindRateLimit
	case status == http.StatusRequestTimeout:
		e.Kind = KindTimeout
	case status == http.StatusConflict || status >= 500:
		e.Kind = KindServer
	case status == http.StatusRequestEntityTooLarge,
		has("context_length_exceeded", "exceed_context_size", "maximum context length",
			"context window", "prompt is too long", "input is too long", "available context size"):
		e.Kind = KindContextLength
	default:
		e.Kind = KindBadRequest
		if location := header.Get("Location"); status < 400 && location != "" && message == "" {
			e.Message = "the server redirects to another address: check the base URL"
		}
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(status))
	}
	return e
}

// errorText reads the message and the codes of an error body in the forms that services use:
// {"error": {"message", "type", "code"}}, {"error": "…"}, {"message": "…"}, {"detail": …}, or plain text.
func errorText(body []byte) (message, codes string) {
	var envelope struct {
		Error   json.RawMessage `json:"error"`
		Message any             `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return shorten(strings.TrimSpace(string(body)), 500), ""
	}
	var inner struct {
		Message any `json:"message"`
		Type    any `json:"type"`
		Code    any `json:"code"`
	}
	var text string
	switch {
	case json.Unmarshal(envelope.Error, &inner) == nil && isObject(envelope.Error):
		text, _ = inner.Message.(string)
		kind, _ := inner.Type.(string)
		code, _ := inner.Code.(string)
		codes = strings.ToLower(kind + " " + code)
	case json.Unmarshal(envelope.Error, &text) == nil && text != "":
	case envelope.Message != nil:
		text, _ = envelope.Message.(string)
	case len(envelope.Detail) > 0:
		if json.Unmarshal(envelope.Detail, &text) != nil {
			text = string(envelope.Detail)
		}
	}
	if text == "" {
		text = strings.TrimSpace(string(body))
	}
	return shorten(text, 500), codes
}

// embeddedError finds an error that a gateway sends with status 200: {"error": {"code": 429, …}} without choices.
func embeddedError(body []byte) (status int, found bool) {
	var envelope struct {
		Error   json.RawMessage `json:"error"`
		Choices json.RawMessage `json:"choices"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(body, &envelope) != nil || len(envelope.Error) == 0 || string(envelope.Error) == "null" ||
		len(envelope.Choices) > 0 || len(envelope.Content) > 0 {
		return 0, false
	}
	var inner struct {
		Code any `json:"code"`
	}
	_ = json.Unmarshal(envelope.Error, &inner) // an error that is not an object has no code
	if code, ok := inner.Code.(float64); ok && code >= 400 && code < 600 {
		return int(code), true
	}
	return http.StatusBadGateway, true
}

// retryAfter reads how long the service asks to wait: retry-after-ms in milliseconds, else Retry-After in
// seconds or as an HTTP date (RFC 9110 §10.2.3). Nonsense counts as 0, more than a year as a year.
func retryAfter(header http.Header, now time.Time) time.Duration {
	const year = 365 * 24 * time.Hour
	scaled := func(text string, unit time.Duration) (time.Duration, bool) {
		f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) || f != f {
			return 0, false
		}
		if f *= float64(unit); f >= float64(year) {
			return year, true
		}
		return max(time.Duration(f), 0), true
	}
	if d, ok := scaled(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	text := header.Get("Retry-After")
	if d, ok := scaled(text, time.Second); ok {
		return d
	}
	if date, err := http.ParseTime(text); err == nil {
		return min(max(date.Sub(now), 0), year)
	}
	return 0
}

// shorten cuts a text to at most n bytes, at a character's start, and marks the cut.
func shorten(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	for n > 0 && text[n]&0xC0 == 0x80 {
		n--
	}
	return text[:n] + "…"
}

// isObject reports whether the text is a valid JSON object.
func isObject(data []byte) bool {
	for _, b := range data {
		switch b {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return json.Valid(data)
		}
		return false
	}
	return false
}
