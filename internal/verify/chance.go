package verify

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/database"
	"github.com/seatrial/seatrial/internal/environment"
	"github.com/seatrial/seatrial/internal/transcript"
	"github.com/seatrial/seatrial/internal/universe"
)

// chance counts the single calls with the request's own literals that return gold.
func (p *Prover) chance(ctx context.Context, c *Claim, gold *universe.Gold) (universe.Chance, error) {
	var chance universe.Chance
	u := p.universes[c.Style]
	for _, call := range universe.SingleCalls(u.tools, c.Literals) {
		chance.Calls++
		t := u.byName[call.Tool]
		if possible, err := p.couldBe(ctx, t, gold); err != nil || !possible {
			if err != nil {
				return chance, err
			}
			continue
		}
		r, err := p.single(ctx, u, &call)
		if err != nil {
			return chance, err
		}
		if r != nil && len(r.Rows) == len(gold.Rows) && gold.Accepts(universe.Answer{Result: r}).Strict {
			chance.Hits++
		}
	}
	return chance, nil
}

// couldBe says whether a tool can return gold at all: a result of another width cannot, nor can one row where gold has
// several, nor a column of the database that lacks a value of gold. What cannot need not be run.
func (p *Prover) couldBe(ctx context.Context, t *universe.Tool, gold *universe.Gold) (bool, error) {
	if len(t.Body.Columns) != len(gold.Columns) || t.Body.SingleRow && len(gold.Rows) != 1 {
		return false, nil
	}
	if len(gold.Rows) == 0 || len(gold.Columns) > 1 {
		return true, nil // columns may be accepted in another order: only a single one has its place
	}
	column := &t.Body.Columns[0]
	// The column of a UNION is called after that of its first branch, and holds the values of all.
	if column.Computed || column.Table == "" || strings.Contains(strings.ToUpper(t.Body.Statement), "UNION") {
		return true, nil
	}
	if gold.Rows[0][0] == nil {
		return true, nil
	}
	domain, err := p.domain(ctx, column.Table, column.Column)
	if err != nil || domain == nil {
		return true, err
	}
	return domain[loose(gold.Rows[0][0])], nil
}

// maxDomain bounds how many different values of a column are kept: of larger columns every value counts as possible.
const maxDomain = 20_000

// domain gives the different values of a column of the published database, loosely written, or nil where there are too
// many.
func (p *Prover) domain(ctx context.Context, table, column string) (map[string]bool, error) {
	key := table + "\n" + column
	if d, known := p.domains[key]; known {
		return d, nil
	}
	values, err := p.config.World.Values(ctx, table, column, maxDomain+1)
	if err != nil {
		return nil, fmt.Errorf("values of %s.%s: %w", table, column, err)
	}
	var d map[string]bool
	if len(values) <= maxDomain {
		d = make(map[string]bool, len(values))
		for _, v := range values {
			d[loose(v)] = true
		}
	}
	p.domains[key] = d
	return d, nil
}

// loose writes a value so that whatever SQLite, under any affinity or collation, or the comparison of answers may take
// for equal is written alike: text that is a number as that number, letters in one case, no white space around.
func loose(v universe.Value) string {
	text := ""
	switch v := v.(type) {
	case string:
		text = strings.TrimSpace(v)
	case universe.Blob:
		return "blob"
	default:
		text = string(universe.AppendValue(nil, v))
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return strconv.FormatFloat(f, 'g', 6, 64)
	}
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

// callKey tells calls of one universe apart.
func callKey(call *universe.Call) (key string, arguments []byte, err error) {
	arguments, err = universe.Marshal(call.Arguments)
	return call.Tool + string(arguments), arguments, err
}

// deadKey tells calls apart as callKey does, but for values that stand nowhere in the column that they are compared with
// for equality: no row can tell them apart, so all of them give the same result.
func (p *Prover) deadKey(ctx context.Context, t *universe.Tool, call *universe.Call) (string, error) {
	var b strings.Builder
	b.WriteString(call.Tool)
	for i := range t.Body.Bindings {
		g := &t.Body.Bindings[i]
		v := call.Arguments[g.Argument]
		b.WriteByte('\n')
		if g.Role == universe.RoleEqual && g.Kind == universe.BindValue && g.Table != "" && g.Column != "" && v != nil {
			domain, err := p.domain(ctx, g.Table, g.Column)
			if err != nil {
				return "", err
			}
			if domain != nil && !domain[loose(unescaped(v))] {
				b.WriteString("dead")
				continue
			}
		}
		text, err := universe.Marshal(v)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// unescaped gives the value that a literal argument stands for.
func unescaped(v any) universe.Value {
	if text, ok := v.(string); ok {
		return universe.UnescapeText(text)
	}
	return v
}

// single runs one call, once for each different call of the database. It gives nil where the call fails or returns more
// rows than any gold has.
func (p *Prover) single(ctx context.Context, u *toolset, call *universe.Call) (*universe.Result, error) {
	key, arguments, err := callKey(call)
	if err != nil {
		return nil, err
	}
	if r, known := u.singles[key]; known {
		return r, nil
	}
	dead, err := p.deadKey(ctx, u.byName[call.Tool], call)
	if err != nil {
		return nil, err
	}
	if r, known := u.dead[dead]; known {
		return r, nil
	}
	env, err := environment.New(environment.Config{
		Toolkit: u.toolkit, World: p.config.World.WithRows(p.config.LongestGold), Parallelism: 1,
	})
	if err != nil {
		return nil, err
	}
	_, err = env.Step(ctx, universe.Turn{Actions: []universe.Action{
		{Kind: universe.ActionCall, Label: call.Label, Tool: call.Tool, Arguments: arguments},
		{Kind: universe.ActionAnswer, Answer: []byte(`"$` + call.Label + `$"`)},
	}})
	if err != nil {
		return nil, err
	}
	if env.Timeouts() > 0 {
		return nil, &database.LimitError{Kind: database.LimitTime}
	}
	var r *universe.Result
	for _, e := range env.Transcript().Events {
		if e.Kind == transcript.EventAnswer && e.Columns != nil {
			r = &universe.Result{Columns: e.Columns, Rows: e.Result}
		}
	}
	r = p.keep(u, key, r)
	u.dead[dead] = r
	return r, nil
}

// keep remembers what a single call gave.
func (p *Prover) keep(u *toolset, key string, r *universe.Result) *universe.Result {
	if r != nil && len(r.Rows) > p.config.LongestGold {
		r = nil
	}
	u.singles[key] = r
	return r
}
