// Package python runs the Python that agents write, block by block, in sessions that keep their variables.
//
// The package treats code as hostile. Code can reach nothing of the host but an interpreter with its standard library
// and the functions that it is given; the worst it can cause is a Python error or a fresh session. The package must
// never know what a tool is, what the question is, or what the right answer is: calls leave through [Caller] as names
// with arguments, and results return as JSON.
package python

import (
	"context"
	"encoding/json"
	"time"
)

// Engine makes sessions. It is safe for concurrent use.
type Engine interface {
	// Name is the engine's name on the command line and in records.
	Name() string
	// Start begins a session. The error is Seatrial's own failure or the context's.
	Start(ctx context.Context, s *Setup) (Session, error)
	// Close ends every session and frees the engine's resources. It may be called twice.
	Close() error
}

// Session is one Python namespace. It is not safe for concurrent use.
type Session interface {
	// Run executes one block. The outcome reports what the code does wrong; the error is Seatrial's own failure or the
	// context's. After an outcome that is Fresh, the namespace is as it was at the start.
	Run(ctx context.Context, code string) (*Outcome, error)
	// Close ends the session. It may be called twice.
	Close() error
}

// Setup is what a session starts with.
type Setup struct {
	// Functions are callable by name from the first block. There may be thousands.
	Functions []Function
	// Lookup finds further callable functions by a name that code or a result mentions; it may be nil. Once it has
	// returned a function for a name, it must always return the same one. It is called from the same goroutine as Call.
	Lookup func(name string) *Function
	// Call serves the functions' calls. It is called from one goroutine at a time.
	Call Caller
	// Limits bound the session; a zero limit means that of [DefaultLimits].
	Limits Limits
}

// Function is a Python function implemented outside the interpreter.
type Function struct {
	Name       string   // a Python identifier
	Parameters []string // in order, for positional arguments; each may also be passed by name
	Document   string   // its docstring
}

// Caller makes a call for code in the interpreter. Arguments are a JSON object by parameter. The result becomes the
// function's result, with JSON objects as dicts. A [CallError] is raised in Python; any other error is Seatrial's own
// and ends the session.
type Caller func(ctx context.Context, function string, arguments json.RawMessage) (json.RawMessage, error)

// CallError is raised in Python as a ToolError with the message.
type CallError struct{ Message string }

// Error implements error.
func (e *CallError) Error() string { return e.Message }

// Limits bound what code may use.
type Limits struct {
	BlockTime    time.Duration // wall time of a block, without the time spent in calls
	BlockCPU     time.Duration // processor time of a block
	SessionTime  time.Duration // wall time of all blocks of a session, without the time spent in calls
	Memory       int64         // bytes of address space or linear memory
	Output       int           // bytes that a block may print; the rest is cut, with a notice
	Value        int           // bytes of one argument or result as JSON
	BlockCalls   int           // calls of functions in a block
	SessionCalls int           // calls of functions in a session
}

// Outcome is what a notebook would show after a block.
type Outcome struct {
	Output    string // what the block printed, standard output and error in order
	Value     string // repr of the last expression; empty if it is None or the block does not end in one
	Traceback string // as Python prints it, with only the block's own lines; empty if nothing was raised
	Fresh     bool   // the session and its variables were lost; the next block begins a new one
	Reason    string // why the session was lost: one of the Reason constants
	Cut       bool   // the output was longer than its limit
	Calls     int    // calls of functions that were sent
}

// Reasons why a session is lost.
const (
	ReasonTime   = "time"   // a block or the session ran too long and could not be interrupted
	ReasonMemory = "memory" // the interpreter ran out of memory
	ReasonExit   = "exit"   // the code ended the interpreter
	ReasonCrash  = "crash"  // the code crashed the interpreter: a memory fault, unbounded recursion
	ReasonBridge = "bridge" // the code tampered with the bridge to its functions
	ReasonKilled = "killed" // something outside ended the interpreter
)

// DefaultLimits returns the limits of a session that sets none.
func DefaultLimits() Limits {
	return Limits{
		BlockTime: 20 * time.Second, BlockCPU: 10 * time.Second, SessionTime: 2 * time.Minute,
		Memory: 256 << 20, Output: 64 << 10, Value: 4 << 20, BlockCalls: 200, SessionCalls: 1000,
	}
}
