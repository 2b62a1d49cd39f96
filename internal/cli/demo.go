package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/cli/participants"
	"github.com/seatrial/seatrial/internal/cli/result"
	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/pipeline"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/brief"
	"github.com/seatrial/seatrial/internal/report/runs"
	"github.com/seatrial/seatrial/internal/report/story"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/spf13/cobra"
)

func (a *app) demoCommand() *cobra.Command {
	var out string
	var workers int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try everything on the bundled corpus: suite, scripted policies, report; no key, no network",
		Long: "Builds the bundled corpus, injects each kind of fault into a few tasks, runs the scripted policies on " +
			"clean and\n" +
			"faulted tasks, and prints a short answer. --full prints the counts of the build and the whole report. The suite\n" +
			"and the run stay in the folder of --out for other commands. With --json, it prints the report as one JSON value.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.AtLeast("workers", workers, 1); err != nil {
				return err
			}
			return a.demo(cmd.Context(), out, workers)
		},
	}
	cmd.Flags().StringVar(&out, "out", demoFolder,
		"folder for the suite and the run; those of an earlier demo are replaced")
	a.fullFlag(cmd)
	settings.WorkersFlag(cmd.Flags(), &workers)
	return cmd
}

const (
	demoFolder  = "seatrial-demo"
	demoFaulted = 5 // tasks under each kind of fault
)

// demoAgents are the policies of the demo. All meet the clean tasks and those under faults.
var demoAgents = []string{
	"gold", "gold-direct", "gold-composed", "recover", "fallback", "retry", "blind", "random", "mute",
}

func (a *app) demo(ctx context.Context, out string, workers int) error {
	dir, path := filepath.Join(out, "suite"), filepath.Join(out, "run")
	if err := removeSuite(demoName, dir, path); err != nil {
		return err
	}
	o := pipeline.Defaults()
	o.Corpora, o.Name, o.Workers = []string{"demo"}, demoName, workers
	o.Faults, o.FaultLimit = []string{"all"}, demoFaulted
	s, err := a.makeSuite(ctx, o, dir)
	if err != nil {
		return err
	}
	if a.full && !a.asJSON {
		a.printBuild(&result.Build{Suite: dir, Counts: s.Manifest.Counts, Digest: s.Manifest.Digest, PeakMiB: peakMiB()})
		a.printf("\n")
	}
	r := settings.New()
	r.Suite, r.Out, r.Workers = dir, path, workers
	r.Conditions, r.Agents = []string{condition.RoleClean, "*:*"}, demoAgents
	if a.full || a.asJSON {
		return a.run(ctx, r, false)
	}
	a.quiet = true
	if err := a.runSilently(ctx, r); err != nil {
		return err
	}
	return a.printDemo(ctx, out)
}

// runSilently runs and prints no summary: the caller prints one of its own.
func (a *app) runSilently(ctx context.Context, r *settings.Run) error {
	shown := a.Out
	defer func() { a.Out = shown }()
	a.Out = io.Discard
	return a.run(ctx, r, false)
}

// printDemo prints the short answer: a table, an episode, and what to type next.
func (a *app) printDemo(ctx context.Context, out string) (err error) {
	dir, path := filepath.Join(out, "suite"), filepath.Join(out, "run")
	run, err := runs.Open(ctx, path, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	rows, err := run.Rows(ctx)
	if err != nil {
		return err
	}
	a.sentence(fmt.Sprintf("%d tasks, and %d instances with one of %d kinds of faults. Right answers:",
		run.Suite.Manifest.Counts.Tasks, distinctFaults(rows, func(r *report.Row) string { return r.Grade.Instance }),
		distinctFaults(rows, func(r *report.Row) string { return r.Condition })))
	a.printf("\n")
	list := brief.Tallies(rows, demoAgents...)
	list = slices.DeleteFunc(list, func(t brief.Tally) bool { return strings.HasPrefix(t.Agent, "gold") })
	for i := range list {
		list[i].Other = brief.Share{} // look-alikes, mirrors and controls are for the full report
	}
	a.printf("%s", brief.Table(list, a.width()))
	a.sentence("\n" + brief.SharesNote)
	a.printf("\n")
	if _, faulted := brief.StoryOf(rows, "retry", "fallback", "blind"); faulted != nil {
		if err := a.printStory(ctx, run, faulted.Grade.Episode); err != nil {
			return err
		}
	}
	a.printf("Suite and run are in %s. Next:\n  seatrial report %s\n  seatrial show %s --failed\n", out, path, path)
	a.printf("  seatrial run %s --agent 'cmd: YOUR AGENT' --out my-run\n", dir)
	return nil
}

// printStory prints an episode in six lines beside its clean twin, and the command that shows all of it.
func (a *app) printStory(ctx context.Context, run *runs.Run, id string) error {
	source := story.Of(run)
	c, err := source.Case(ctx, id)
	if err != nil {
		return err
	}
	pair, err := story.Beside(ctx, source, c)
	if err == nil && pair.Twin != nil {
		a.printf("%s  seatrial show %s %.8s\n\n", pair.Brief(a.width()), run.Path, id)
	}
	return err
}

// distinctFaults counts the distinct values of a property among the rows of faults.
func distinctFaults(rows []report.Row, property func(*report.Row) string) int {
	seen := map[string]bool{}
	for i := range rows {
		if brief.IsFault(&rows[i]) {
			seen[property(&rows[i])] = true
		}
	}
	return len(seen)
}

// demoName is the name of the demo's suite, by which an earlier demo is recognised.
const demoName = "demo"

// removeSuite removes the suite of that name and the runs of an earlier demo or try, and nothing else.
func removeSuite(name, dir string, paths ...string) error {
	text, err := os.ReadFile(filepath.Join(dir, suite.FileManifest))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var manifest struct{ Name string }
	if err == nil {
		err = json.Unmarshal(text, &manifest)
	}
	if err != nil || manifest.Name != name {
		return diag.Usagef("%s is not the suite of a %s", dir, name).
			WithHint("give another folder: seatrial %s --out FOLDER", name)
	}
	remove := []string{dir}
	for _, path := range paths {
		remove = append(remove, path, path+"-wal", path+"-shm", path+".stderr")
	}
	for _, name := range remove {
		if err := os.RemoveAll(name); err != nil {
			return fmt.Errorf("remove an earlier %s: %w", name, err)
		}
	}
	return nil
}

const (
	tryName   = "try"
	tryTasks  = 20
	tryFolder = "seatrial-try"
)

// tryFaults are the kinds of `try`: one of each hazard, on a few of its tasks.
var tryFaults = []string{"exec.timeout", "exec.first-tried", "spec.unit", "out.truncated", "call.default-argument",
	"conflict.stale"}

func (a *app) tryCommand() *cobra.Command {
	var out string
	o := settings.New()
	cmd := &cobra.Command{
		Use:   "try COMMAND | PROVIDER/NAME | URL",
		Short: "Try an agent: does it start and answer, and where is it weakest?",
		Long: "Tries an agent on twenty small tasks, clean and under faults. First it plays one task, and stops if the\n" +
			"agent does not start or answer. Then it prints how often the agent was right, the first causes of its failures,\n" +
			"the faults under which it is weakest, and what to do next. COMMAND is a program as in `run --agent 'cmd: ...'`\n" +
			"('mcp: ...' for MCP clients) or the name of a scripted policy. URL is that of an OpenAI-compatible server;\n" +
			"--name chooses its model.",
		Example: "  seatrial try 'python3 my_agent.py'\n  seatrial try http://127.0.0.1:8000/v1 --name my-model",
		Args:    oneArgument("COMMAND, PROVIDER/NAME or URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			participants.Target(o, args[0], cmd.Flags().Lookup("name").Value.String())
			return a.try(cmd.Context(), o, out)
		},
	}
	cmd.Flags().StringVar(&out, "out", tryFolder, "folder for the suite and the run; those of an earlier try are replaced")
	cmd.Flags().String("name", "default", "the model of a server that is given by its URL")
	o.TryFlags(cmd.Flags())
	a.fullFlag(cmd)
	return cmd
}

// try builds a small suite, plays one task as a probe and then all.
func (a *app) try(ctx context.Context, o *settings.Run, out string) (err error) {
	dir, path := filepath.Join(out, "suite"), filepath.Join(out, "run")
	if err := removeSuite(tryName, dir, path, path+"-probe"); err != nil {
		return err
	}
	b := pipeline.Defaults()
	b.Corpora, b.Name, b.Limit, b.Neighbours, b.Workers = []string{"demo"}, tryName, tryTasks, 3, o.Workers
	b.Styles, b.Faults, b.FaultLimit = []string{task.StyleFunc}, tryFaults, 4
	if _, err := a.makeSuite(ctx, b, dir); err != nil {
		return err
	}
	play := func(to string, limit int, conditions ...string) ([]report.Row, error) {
		o.Suite, o.Out, o.Limit, o.Conditions = dir, to, limit, conditions
		if err := a.runSilently(ctx, o); err != nil {
			return nil, err
		}
		run, err := runs.Open(ctx, to, dir)
		if err != nil {
			return nil, err
		}
		rows, err := run.Rows(ctx)
		return rows, errors.Join(err, run.Close())
	}
	rows, err := play(path+"-probe", 1, condition.RoleClean)
	if err != nil {
		return err
	}
	if text := brief.Probe(rows); text != "" {
		return &diag.Error{Exit: diag.ExitFailed, Message: text, Hint: "seatrial show " + path + "-probe"}
	}
	if !a.asJSON {
		a.printf("The agent starts and answers. %d tasks, clean and under %d kinds of faults:\n\n", tryTasks, len(tryFaults))
	}
	if rows, err = play(path, 0, condition.RoleClean, condition.RoleFault+":*"); err != nil {
		return err
	}
	if a.asJSON {
		run, err := runs.Open(ctx, path, dir)
		if err != nil {
			return err
		}
		return errors.Join(a.summaryOf(run, rows), run.Close())
	}
	a.printf("%s", brief.Tried(rows, a.width()))
	a.printf("\nNext:\n  seatrial show %s --worst\n  seatrial report %s --full\n", path, path)
	a.printf("  seatrial build --help    # tasks from your own database\n")
	return nil
}
