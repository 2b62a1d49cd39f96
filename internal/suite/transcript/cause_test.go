package transcript

import "testing"

// TestCauses counts pairs of messages as one cause or as two.
func TestCauses(t *testing.T) {
	const head = "openai/gpt-4.1: "
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{head + "server (500): failed (request ID req_011CQabcdEFG)",
			head + "server (500): failed (request ID req_7h2kLmnOPQR)", true},
		{head + "server (500): request id: abcdef", head + "server (500): request id: uvwxyz", true},
		{head + "server (503): trace 1b4e28ba-2fa1-11d2-883f-b9a761bde3fb",
			head + "server (503): trace 6fa459ea-ee8a-3ca4-894e-db77e160355e", true},
		{head + "rate limit (429): Limit 10000, Used 9800, Requested 500. Try again in 1.8s.",
			head + "rate limit (429): Limit 10000, Used 9,911, Requested 1200. Try again in 6m0s.", true},
		{head + "bad request (400): failed at 2026-11-22T10:00:00Z",
			head + "bad request (400): failed at 2026-11-23T11:30:59.5Z", true},
		{head + "connection: read tcp 127.0.0.1:43210: reset (after 3 attempts)",
			head + "connection: read tcp 127.0.0.1:51112: reset (after 6 attempts)", true},
		{head + "server (500): failed", head + "server (502): failed", false},
		{head + "server (500): failed", head + "server (500): overloaded", false},
		{"anthropic/claude-3-5-sonnet-20241022: auth (401): no",
			"anthropic/claude-3-5-haiku-20241022: auth (401): no", false},
		{"provider: openai/a-20241022: auth (401): no", "provider: openai/b-20241022: auth (401): no", false},
	} {
		var causes Causes
		causes.Add(c.a)
		causes.Add(c.b)
		if same := len(causes.Messages) == 1; same != c.same {
			t.Errorf("one cause: %v, want %v:\n%s\n%s", same, c.same, c.a, c.b)
		}
		if causes.Messages[0] != c.a || c.same && causes.Counts[c.a] != 2 {
			t.Errorf("messages %q with counts %v", causes.Messages, causes.Counts)
		}
	}
}
