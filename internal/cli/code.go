package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/seatrial/seatrial/internal/agent/policy"
	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/agent/python"
	"github.com/seatrial/seatrial/internal/diag"
)

// codeOptions choose the interpreter of agents that write code.
type codeOptions struct {
	engine string
	bare   bool
	limits map[string]string
	python pythonOptions
}

func (o *codeOptions) flags(f *pflag.FlagSet) {
	f.StringVar(&o.engine, "interpreter", "",
		"what runs the Python of agents that write code: native (the system's, in a sandbox) or wasi; empty takes the first that works")
	f.BoolVar(&o.bare, "python-without-any-sandbox", false,
		"run the code of agents with your own rights: it can read, change and send whatever you can")
	f.StringToStringVar(&o.limits, "python-limits", nil,
		"what the code of an agent may use, as block-time=20s,memory=256MiB: "+strings.Join(codeLimits(), ", "))
	o.python.register(f)
}

// codeLimit is one limit of [python.Limits]: a time, a number of bytes, or a number.
type codeLimit struct {
	name  string
	into  func(l *python.Limits, value int64)
	parse func(text string) (int64, error)
}

// codeLimitTable is what --python-limits knows.
var codeLimitTable = []codeLimit{
	{"block-time", func(l *python.Limits, v int64) { l.BlockTime = time.Duration(v) }, parseTime},
	{"block-cpu", func(l *python.Limits, v int64) { l.BlockCPU = time.Duration(v) }, parseTime},
	{"session-time", func(l *python.Limits, v int64) { l.SessionTime = time.Duration(v) }, parseTime},
	{"memory", func(l *python.Limits, v int64) { l.Memory = v }, parseBytes},
	{"output", func(l *python.Limits, v int64) { l.Output = int(v) }, parseBytes},
	{"value", func(l *python.Limits, v int64) { l.Value = int(v) }, parseBytes},
	{"block-calls", func(l *python.Limits, v int64) { l.BlockCalls = int(v) }, parseCount},
	{"session-calls", func(l *python.Limits, v int64) { l.SessionCalls = int(v) }, parseCount},
}

// codeLimits are the names of the limits.
func codeLimits() []string {
	var names []string
	for _, l := range codeLimitTable {
		names = append(names, l.name)
	}
	return names
}

func parseTime(text string) (int64, error) {
	d, err := time.ParseDuration(text)
	return int64(d), err
}

func parseCount(text string) (int64, error) { return strconv.ParseInt(text, 10, 32) }

// parseBytes reads a number of bytes up to a quarter of what 32 bits hold, with KiB or MiB behind it or nothing.
func parseBytes(text string) (int64, error) {
	number, unit := text, int64(1)
	if before, ok := strings.CutSuffix(text, "KiB"); ok {
		number, unit = before, 1<<10
	} else if before, ok := strings.CutSuffix(text, "MiB"); ok {
		number, unit = before, 1<<20
	}
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	if err == nil && n > math.MaxInt32/unit {
		err = strconv.ErrRange
	}
	return n * unit, err
}

// bounds reads the limits; those that are not given are the interpreter's own.
func (o *codeOptions) bounds() (l python.Limits, err error) {
	for _, name := range slices.Sorted(maps.Keys(o.limits)) {
		i := slices.IndexFunc(codeLimitTable, func(c codeLimit) bool { return c.name == name })
		if i < 0 {
			return l, diag.Unknown("limit", name, codeLimits())
		}
		value, err := codeLimitTable[i].parse(o.limits[name])
		if err != nil || value <= 0 {
			return l, diag.Usagef("--python-limits: %q is nothing that %s can be", o.limits[name], name).
				WithHint("times as 20s or 2m, sizes as 65536, 64KiB or 256MiB up to 2047MiB, numbers of calls as 200")
		}
		codeLimitTable[i].into(&l, value)
	}
	return l, nil
}

// settings writes the limits as [codeOptions.restore] reads them.
func (o *codeOptions) settings(into map[string]string) {
	if o.engine != "" {
		into["interpreter"] = o.engine
	}
	for name, value := range o.limits {
		into[settingLimit+name] = value
	}
}

const settingLimit = "python_limit_"

func (o *codeOptions) restore(s map[string]string) {
	if o.engine == "" {
		o.engine = s["interpreter"]
	}
	for _, name := range codeLimits() {
		if value, set := s[settingLimit+name]; set {
			if o.limits == nil {
				o.limits = map[string]string{}
			}
			o.limits[name] = value
		}
	}
}

// open makes the interpreter; nil where no agent writes code.
func (o *codeOptions) open(ctx context.Context, writes bool) (python.Engine, error) {
	if !writes {
		if o.bare || len(o.limits) > 0 {
			return nil, diag.Usagef("--python-limits and --python-without-any-sandbox are for agents that write code").
				WithHint("--protocol codeact, or --agent gold-code")
		}
		return nil, nil
	}
	limits, err := o.bounds()
	if err != nil {
		return nil, err
	}
	if o.engine != "" && !slices.Contains(python.Engines(), o.engine) {
		return nil, diag.Unknown("interpreter", o.engine, python.Engines())
	}
	if o.bare && o.engine != "native" {
		return nil, diag.Usagef("--python-without-any-sandbox is for the interpreter native").WithHint("--interpreter native")
	}
	choice := o.python.choice()
	choice.Engine, choice.Native.WithoutAnySandbox = o.engine, o.bare
	engine, err := python.Open(ctx, choice)
	var lacks *python.NoSandboxError
	if errors.As(err, &lacks) {
		return nil, &diag.Error{Exit: diag.ExitFailed, Message: "the agents' code cannot be run here: " + lacks.Error(),
			Hint: lacks.Hint()}
	}
	if err != nil || len(o.limits) == 0 {
		return engine, err
	}
	// Whether a session can live within its limits is better known before the first episode.
	session, err := engine.Start(ctx, &python.Setup{Limits: limits})
	if err == nil {
		err = session.Close()
	}
	if err != nil && ctx.Err() == nil {
		err = &diag.Error{
			Exit: diag.ExitUsage, Message: fmt.Sprintf("the interpreter %s cannot keep to --python-limits", engine.Name()),
			Cause: err,
			Hint:  "more memory",
		}
	}
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return engine, nil
}

// writesCode says whether some agent of a run writes Python.
func (o *runOptions) writesCode() bool {
	for _, p := range policy.List() {
		if p.Code && slices.Contains(o.agents, p.Name) {
			return true
		}
	}
	for _, p := range protocol.List() {
		if p.Code && slices.Contains(o.protocols, p.Name) && len(o.models) > 0 {
			return true
		}
	}
	return false
}
