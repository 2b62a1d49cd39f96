// Package proof proves what a suite claims: it plays plans and policies through the environment that agents meet, on
// the published database and on its neighbours, and compares what they give with the query's own result. It must never
// know where a query came from, and it decides nothing by the clock.
package proof

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/seatrial/seatrial/internal/sql/database"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/sql/witness"
	"github.com/seatrial/seatrial/internal/task"
)

// MaxRows bounds the results that are compared, in rows.
const MaxRows = 200_000

// shuffledCopies is how many copies with shuffled rows cross-check determinacy.
const shuffledCopies = 2

// Reasons for which a claim does not hold.
const (
	ReasonFailing       = "failing_sql"
	ReasonTooMany       = "too_many_rows"
	ReasonIndeterminate = "indeterminate"
	ReasonPlanFails     = "plan_fails"
	ReasonPlanDisagrees = "plan_disagrees"
)

// MaxAlternatives bounds how many right results a query may have that its gold lists. Each is in the suite whole
// and is compared with every answer, and few of Spider's and BIRD's queries have more: their numbers of right results
// fall off to 40 and go on from 72 into the hundreds.
const MaxAlternatives = 64

// Finding is what a query returns on the published database, or why that cannot be proven.
type Finding struct {
	Result *task.Result
	Blocks []int // see task.Gold
	// Alternatives are the other right results, where the order in which SQLite visits rows decides which of several it
	// returns.
	Alternatives []witness.Right
	Reason       string
	Message      string
	Line, Column int // within the SQL, 0 where unknown
}

// Gold makes the right answer of a finding, the query's own result standing before its alternatives; columns are the
// query's own.
func (f *Finding) Gold(columns []task.Column) task.Gold {
	gold := task.Gold{Kind: task.GoldRows, Columns: columns, Rows: f.Result.Rows, Blocks: f.Blocks}
	if len(f.Alternatives) == 0 {
		return gold
	}
	list := []task.Gold{gold}
	for _, a := range f.Alternatives {
		gold.Rows, gold.Blocks = a.Rows, a.Blocks
		list = append(list, gold)
	}
	return task.Gold{Kind: task.GoldAnyOf, Alternatives: list}
}

// Examiner runs queries on a published database and on copies of it with shuffled rows. It is not safe for concurrent
// use.
type Examiner struct {
	world    *database.World
	shuffled []*database.World
	found    map[string]*Finding // by SQL: many questions share theirs
}

// NewExaminer makes the shuffled copies.
func NewExaminer(ctx context.Context, w *database.World, seed uint64) (*Examiner, error) {
	x := &Examiner{world: w, found: map[string]*Finding{}}
	for i := range shuffledCopies {
		c, err := database.Shuffled(ctx, w, task.Draw(seed, "shuffled", fmt.Sprint(i)).Uint64())
		if err != nil {
			x.Close()
			return nil, fmt.Errorf("shuffled copy: %w", err)
		}
		x.shuffled = append(x.shuffled, c)
	}
	return x, nil
}

// Close frees the copies.
func (x *Examiner) Close() {
	for _, c := range x.shuffled {
		_ = c.Close() // in memory: nothing can be lost
	}
}

// Examine runs a query, finds which rows of an ordered result may change places, and decides whether the result depends
// on the order in which rows are visited: by construct, and by the shuffled copies. Where it does because the outermost
// LIMIT or OFFSET parts rows that tie, and few results are right, it lists them. A statement that runs into its time
// limit is an error ([database.LimitError]); it never becomes a reason.
func (x *Examiner) Examine(ctx context.Context, q *sqlast.Query, columns []task.Column) (*Finding, error) {
	if f := x.found[q.Source]; f != nil {
		return f, nil
	}
	f, err := x.ExamineOnce(ctx, q, columns)
	if err == nil {
		x.found[q.Source] = f
	}
	return f, err
}

// ExamineOnce examines a query and remembers nothing of it.
func (x *Examiner) ExamineOnce(ctx context.Context, q *sqlast.Query, columns []task.Column) (*Finding, error) {
	result, err := x.world.Query(ctx, q.Source, nil)
	if err != nil {
		return failed(err)
	}
	f := &Finding{Result: result}
	// What cannot depend on the order by its form is checked on one copy, to check the judgement of form.
	copies := x.shuffled[:1]
	if witness.MayDepend(q) {
		copies = x.shuffled
		found, err := witness.Determinate(ctx, x.world, q)
		if err != nil {
			return failed(fmt.Errorf("determinacy: %w", err))
		}
		if found != nil {
			return x.oneOf(ctx, q, columns, f, found)
		}
	}
	f.Blocks, err = blocks(ctx, x.world, q, result)
	if err != nil {
		return failed(err)
	}
	return x.shuffle(ctx, q, columns, f, copies)
}

// oneOf lists the right results of a query whose own result is one of several, or says why they cannot be listed.
func (x *Examiner) oneOf(
	ctx context.Context, q *sqlast.Query, columns []task.Column, f *Finding, found *witness.Finding,
) (*Finding, error) {
	message := found.Construct + ": " + found.Message
	set, err := witness.RightResults(ctx, x.world, q)
	if err != nil && !Judged(err) {
		return nil, fmt.Errorf("right results: %w", err)
	}
	if err != nil || set == nil {
		f.indeterminate(message, found.Line, found.Column)
		return f, nil
	}
	results, complete := set.List(MaxAlternatives)
	if !complete {
		message = fmt.Sprintf("%s; more than %d results are right", message, MaxAlternatives)
		f.indeterminate(message, found.Line, found.Column)
		return f, nil
	}
	own := slices.IndexFunc(results, func(r witness.Right) bool {
		gold := task.Gold{Kind: task.GoldRows, Columns: columns, Rows: r.Rows, Blocks: r.Blocks}
		return gold.Holds(f.Result)
	})
	if own < 0 {
		f.indeterminate(message+"; its own result is not among those that were found right", found.Line, found.Column)
		return f, nil
	}
	f.Blocks = results[own].Blocks
	for _, r := range results {
		// What differs within the tolerance of computed reals alone is one answer.
		if gold := f.Gold(columns); !gold.Holds(&task.Result{Columns: f.Result.Columns, Rows: r.Rows}) {
			f.Alternatives = append(f.Alternatives, r)
		}
	}
	return x.shuffle(ctx, q, columns, f, x.shuffled)
}

// shuffle runs a query on copies with shuffled rows, and wants a right result of each.
func (x *Examiner) shuffle(
	ctx context.Context, q *sqlast.Query, columns []task.Column, f *Finding, copies []*database.World,
) (*Finding, error) {
	gold := f.Gold(columns)
	for _, c := range copies {
		other, err := c.Query(ctx, q.Source, nil)
		if err != nil {
			return failed(fmt.Errorf("on a copy with shuffled rows: %w", err))
		}
		if !gold.Holds(other) {
			f.indeterminate("the result changes when the rows are stored in another order", 0, 0)
			return f, nil
		}
	}
	return f, nil
}

func (f *Finding) indeterminate(message string, line, column int) {
	f.Reason, f.Message, f.Line, f.Column, f.Alternatives = ReasonIndeterminate, message, line, column, nil
}

// Judged reports whether an error of a statement is a judgement of SQLite's or of the row limit: the statement then
// shows nothing on that database. Time limits and Seatrial's own failures are no such judgement.
func Judged(err error) bool {
	var limit *database.LimitError
	var refused *database.QueryError
	return errors.As(err, &refused) || errors.As(err, &limit) && limit.Kind == database.LimitRows
}

// failed makes a finding of an error of SQLite's, and passes on what is no judgement of the query.
func failed(err error) (*Finding, error) {
	var limit *database.LimitError
	var refused *database.QueryError
	switch {
	case errors.As(err, &limit) && limit.Kind == database.LimitRows:
		return &Finding{Reason: ReasonTooMany, Message: err.Error()}, nil
	case errors.As(err, &refused):
		return &Finding{Reason: ReasonFailing, Message: refused.Error()}, nil
	default:
		return nil, err
	}
}

// blocks finds the runs of rows whose order is free, or nil where the query does not order. Where the ordering keys
// cannot be had beside the rows, every row counts as its own block: the shuffled copies then decide whether that holds.
func blocks(ctx context.Context, w *database.World, q *sqlast.Query, r *task.Result) ([]int, error) {
	if len(sqlast.Last(q.Stmt).OrderBy) == 0 {
		return nil, nil
	}
	sizes, err := witness.Blocks(ctx, w, q, r)
	var hidden *witness.KeysError
	if errors.As(err, &hidden) {
		sizes = make([]int, len(r.Rows))
		for i := range sizes {
			sizes[i] = 1
		}
		return sizes, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ordering: %w", err)
	}
	if sizes == nil {
		sizes = []int{}
	}
	return sizes, nil
}

// Columns returns the columns of a query's result under the names that the query itself gives them.
func Columns(q *sqlast.Query) []task.Column {
	output := q.Output(q.Stmt)
	names := make([]string, len(output))
	for i, c := range output {
		names[i] = c.Name
	}
	columns := make([]task.Column, len(output))
	for i, name := range task.UniqueNames(names) {
		c := output[i]
		columns[i] = task.Column{Name: name, Type: c.Type, Computed: c.Computed, Table: c.Table, Column: c.Column}
	}
	return columns
}
