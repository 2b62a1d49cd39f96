// Package python runs the Python that agents write, block by block, in sessions that keep their variables.
//
// The code is hostile by assumption. It meets nothing of the host but an interpreter with its standard library, and the
// functions that it is given; whatever it does ends in a Python error or in a fresh session. The package never knows
// what a tool is, what is asked, or what is right: calls go out through [Caller] as names with arguments, results come
// back as JSON.
package python

import (
	"context"
	"encoding/json"
	"time"
)

// Engine makes sessions. Its methods may be called from several goroutines.
type Engine interface {
	// Name is how the engine is chosen on the command line and recorded.
	Name() string
	// Start begins a session. The error is Seatrial's own failure, or the context's.
	Start(ctx context.Context, s *Setup) (Session, error)
	// Close ends every session and frees what the engine holds. It may be called twice.
	Close() error
}

// Session is one Python namespace. Its methods must not be called side by side.
type Session interface {
	// Run executes one block. What the code does wrong stands in the outcome; the error is Seatrial's own failure, or the
	// context's. After an outcome that is Fresh, the namespace is as it was at the start.
	Run(ctx context.Context, code string) (*Outcome, error)
	// Close ends the session. It may be called twice.
	Close() error
}

// Setup is what a session starts with.
type Setup struct {
	// Functions are callable by name from the first block on. There may be thousands.
	Functions []Function
	// Lookup finds functions beyond these, which are callable as well, by a name that code or a result mentions; nil for
	// none. It gives the same for a name whenever it has given one, and is called where Call is.
	Lookup func(name string) *Function
	// Call serves them. It is called from one goroutine at a time.
	Call Caller
	// Limits bound the session; what is zero is as in [DefaultLimits].
	Limits Limits
}

// Function is a Python function whose body is outside.
type Function struct {
	Name       string   // a Python identifier
	Parameters []string // in order, for positional arguments; each may be given by name as well
	Document   string   // its docstring
}

// Caller makes a call from inside. Arguments are a JSON object by parameter. What is returned becomes the function's
// result, with JSON objects as dicts; a [CallError] is raised in Python; any other error is Seatrial's own and ends the
// session.
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
	Output       int           // bytes that a block may print; more is cut, and the cut is said
	Value        int           // bytes of one argument or result as JSON
	BlockCalls   int           // calls of functions in a block
	SessionCalls int           // calls of functions in a session
}

// Outcome is what a notebook would show after a block.
type Outcome struct {
	Output    string // what the block printed, standard output and error in order
	Value     string // the representation of the last expression, empty where it is None or the block does not end in one
	Traceback string // as Python prints it, with the block's own lines alone; empty where nothing was raised
	Fresh     bool   // the session was lost with its variables, and begins anew with the next block
	Reason    string // why it was lost: one of the Reason constants
	Cut       bool   // the output was longer than its limit
	Calls     int    // calls of functions that went out
}

// Reasons for which a session is lost.
const (
	ReasonTime   = "time"   // a block or the session ran too long and could not be interrupted
	ReasonMemory = "memory" // the interpreter ran out of memory
	ReasonExit   = "exit"   // the code ended the interpreter
	ReasonCrash  = "crash"  // the code brought the interpreter down: a fault in memory, a stack without end
	ReasonBridge = "bridge" // the code tampered with what joins it to its functions
	ReasonKilled = "killed" // the interpreter ended from outside
)

// DefaultLimits bound a session unless a limit is given.
func DefaultLimits() Limits {
	return Limits{
		BlockTime: 20 * time.Second, BlockCPU: 10 * time.Second, SessionTime: 2 * time.Minute,
		Memory: 256 << 20, Output: 64 << 10, Value: 4 << 20, BlockCalls: 200, SessionCalls: 1000,
	}
}
