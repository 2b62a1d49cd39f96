package telemetry

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Call is a tool call that passed through a proxy.
type Call struct {
	Session, Number int
	Tool            string
	Request         string // the id of the request, as JSON
	// Parent is the traceparent of the client's own span, from the _meta of the request; "" if it sent none.
	Parent string

	start time.Time
}

// Fault is a rule that struck a call.
type Fault struct {
	Rule, Kind string
	Landed     bool // its effect reached the client
}

// parentForm is a traceparent (W3C Trace Context, section 3.2).
var parentForm = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$`)

// Began returns a call that begins now; nil if nothing is sent.
func (e *Exporter) Began(c Call) *OpenCall {
	if e == nil {
		return nil
	}
	c.start = e.now()
	return &OpenCall{exporter: e, call: c}
}

// OpenCall is a call on its way. The methods of a nil one do nothing. It is used by one goroutine at a time.
type OpenCall struct {
	exporter *Exporter
	call     Call
	sent     bool
}

// Ended sends a call that ends now, once: a reply may come again. It joins the client's trace, or else that of the
// proxy's session.
func (o *OpenCall) Ended(failed bool, faults []Fault) {
	if o == nil || o.sent {
		return
	}
	o.sent = true
	e, c, end := o.exporter, o.call, nanos(o.exporter.now())
	e.add(func() []span {
		began, session := nanos(e.began), strconv.Itoa(c.Session)
		s := span{TraceID: hash(16, began, "session", session), SpanID: hash(8, began, session, strconv.Itoa(c.Number)),
			Name: "tools/call " + c.Tool, Kind: kindServer, Start: nanos(c.start), End: end,
			Attributes: attributes{}.text(mcpMethod, "tools/call").text(genOperation, operationTool).text(genTool, c.Tool).
				text(rpcRequest, strings.Trim(c.Request, `"`)).number(ownSession, c.Session)}
		if m := parentForm.FindStringSubmatch(c.Parent); m != nil && strings.Trim(m[1], "0") != "" &&
			strings.Trim(m[2], "0") != "" {
			s.TraceID, s.ParentID = m[1], m[2]
		}
		for _, f := range faults {
			s.Events = append(s.Events, event{end, eventFault, attributes{}.text(ownRule, f.Rule).text(ownCondition, f.Kind).
				flag(ownLanded, f.Landed)})
		}
		if failed {
			s.fail("tool_error", "")
		}
		return []span{s}
	})
}
