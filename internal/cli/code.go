package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"github.com/seatrial/seatrial/internal/agent"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/interpreter"
)

// codeOptions choose the interpreter of agents that write code.
type codeOptions struct {
	engine string
	bare   bool
	python pythonOptions
}

func (o *codeOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.engine, "interpreter", "", "what runs the Python of agents that write code: native (the system's, in a sandbox) or wasi; empty takes the first that works")
	f.BoolVar(&o.bare, "python-without-any-sandbox", false, "run the code of agents with your own rights: it can read, change and send whatever you can")
	o.python.register(f)
}

// open makes the interpreter; nil where no agent writes code.
func (o *codeOptions) open(ctx context.Context, writes bool) (interpreter.Engine, error) {
	if !writes {
		return nil, nil
	}
	if o.engine != "" && !slices.Contains(interpreter.Engines(), o.engine) {
		return nil, diag.Unknown("interpreter", o.engine, interpreter.Engines())
	}
	if o.bare && o.engine != "native" {
		return nil, diag.Usagef("--python-without-any-sandbox is for the interpreter native").WithHint("--interpreter native")
	}
	choice := o.python.choice()
	choice.Engine, choice.Native.WithoutAnySandbox = o.engine, o.bare
	engine, err := interpreter.Open(ctx, choice)
	var lacks *interpreter.NoSandboxError
	if errors.As(err, &lacks) {
		return nil, &diag.Error{Exit: diag.ExitFailed, Message: "the agents' code cannot be run here: " + lacks.Error(), Hint: lacks.Hint()}
	}
	return engine, err
}

// writesCode says whether some agent of a run writes Python.
func (o *runOptions) writesCode() bool {
	for _, p := range agent.Policies() {
		if p.Code && slices.Contains(o.agents, p.Name) {
			return true
		}
	}
	for _, p := range agent.Protocols() {
		if p.Code && slices.Contains(o.protocols, p.Name) && len(o.models) > 0 {
			return true
		}
	}
	return false
}
