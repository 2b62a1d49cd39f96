package python

import (
	"cmp"
	_ "embed"
)

//go:embed session.py
var sessionProgram string

// orDefault returns the limits with zero values replaced by defaults.
func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	return Limits{
		BlockTime: cmp.Or(l.BlockTime, d.BlockTime), BlockCPU: cmp.Or(l.BlockCPU, d.BlockCPU),
		SessionTime: cmp.Or(l.SessionTime, d.SessionTime), Memory: cmp.Or(l.Memory, d.Memory),
		Output: cmp.Or(l.Output, d.Output), Value: cmp.Or(l.Value, d.Value),
		BlockCalls: cmp.Or(l.BlockCalls, d.BlockCalls), SessionCalls: cmp.Or(l.SessionCalls, d.SessionCalls),
	}
}
