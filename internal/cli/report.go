package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/judge/grade"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/papers"
	"github.com/seatrial/seatrial/internal/report/statistics"
	"github.com/seatrial/seatrial/internal/report/table"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/spf13/cobra"
)

// notesOf lists what a report must say about how a run came about.
func notesOf(path string, record settings.Record) []string {
	if settings.Text(record, "suite_files") != settings.FilesOpen {
		return nil
	}
	return []string{path + ": the commands that acted as agents could read the files of the suite, gold included."}
}

// graded reads the episodes of a run and grades them.
func graded(
	ctx context.Context, s *suite.Suite, store *episode.Store, visit func(grade.Grade, *suite.Instance,
		*transcript.Transcript) error,
) error {
	stage := episode.NewStage(s, nil, environment.Limits{})
	instances := make(map[string]*suite.Instance, len(s.Instances))
	for _, in := range s.Instances {
		instances[in.ID] = in
	}
	return store.Each(ctx, func(e *episode.Stored) error {
		h := e.Transcript.Header
		in := instances[h.Instance]
		if in == nil {
			return diag.Usagef("episode %s: the suite has no instance %q", h.ID, h.Instance)
		}
		g, err := gradeOf(stage, in, e.Transcript)
		if err != nil {
			return err
		}
		return visit(g, in, e.Transcript)
	})
}

// judge returns the verdicts of the grader.
func judge(stage *episode.Stage) func(*suite.Instance, *transcript.Transcript) (bool, error) {
	return func(in *suite.Instance, t *transcript.Transcript) (bool, error) {
		g, err := gradeOf(stage, in, t)
		return g.Success, err
	}
}

// gradeOf grades an episode of an instance. Grades depend on the task and the transcript alone, so an error means that
// one of them is broken.
func gradeOf(stage *episode.Stage, in *suite.Instance, script *transcript.Transcript) (g grade.Grade, err error) {
	defer diag.Guard(&err, "grade of episode %s", script.Header.ID)
	t, err := stage.Shown(in)
	if err == nil {
		g, err = grade.Of(t, script)
	}
	if err != nil {
		e := diag.Usagef("episode %s cannot be graded: %v", script.Header.ID, err)
		return g, e.WithHint("build the suite and run the agents again: their files must not be changed")
	}
	return g, nil
}

// gradeStore grades every episode of a run and stores the grades.
func gradeStore(ctx context.Context, s *suite.Suite, store *episode.Store) error {
	grades := map[string]json.RawMessage{}
	err := graded(ctx, s, store, func(g grade.Grade, _ *suite.Instance, _ *transcript.Transcript) error {
		text, err := task.Marshal(g)
		grades[g.Episode] = text
		return err
	})
	if err != nil {
		return err
	}
	return store.PutGrades(ctx, grades)
}

// rowsOf grades a run and returns a row for each episode.
func rowsOf(ctx context.Context, s *suite.Suite, store *episode.Store) ([]report.Row, error) {
	shown := make(map[string]report.Row, len(s.Instances)) // by instance: what its episodes share
	tasks := s.Index()
	certificates := make(map[string]*suite.Certificate, len(s.Certificates))
	for _, c := range s.Certificates {
		certificates[c.Instance] = c
	}
	opinions, err := opinionsOf(ctx, store)
	if err != nil {
		return nil, err
	}
	stage := episode.NewStage(s, nil, environment.Limits{})
	var rows []report.Row
	err = graded(ctx, s, store, func(g grade.Grade, in *suite.Instance, t *transcript.Transcript) error {
		row, known := shown[in.ID]
		if !known {
			row = report.RowOf(grade.Grade{}, tasks[in.Task], in, certificates[in.ID])
			shown[in.ID] = row
		}
		row.Grade = g
		row.Sample = papers.SampleOf(t)
		if text, is := explanationIn(&g, t); is {
			var err error
			if row.Explained, err = explainedOf(stage, s, in, text, opinions[g.Episode]); err != nil {
				return err
			}
		}
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

// setOf returns the rows of a run with what tables need.
func setOf(name string, s *suite.Suite, rows []report.Row, record settings.Record) papers.Set {
	set := papers.Set{Name: name, Suite: s, Rows: rows, Shown: episode.NewStage(s, nil, environment.Limits{}).Shown}
	o, err := settings.Restore(record)
	if err == nil {
		set.Labels, _ = o.LabelMap()
	}
	for _, l := range proof.ReadLeftOut(o.LeftOut) {
		if set.LeftOut == nil {
			set.LeftOut = map[string]int{}
		}
		set.LeftOut[l.Reason]++
	}
	return set
}

// explainedOf assesses an explanation by what its instance lacks.
func explainedOf(
	stage *episode.Stage, s *suite.Suite, in *suite.Instance, text string, opinions map[string]bool,
) (*report.Explained, error) {
	shown, err := stage.Shown(in)
	if err != nil {
		return nil, err
	}
	lack, err := s.Lacking(in, shown)
	if err != nil {
		return nil, err
	}
	return papers.ExplainedOf(&lack, s.Toolkit(in, shown), shown, text, opinions), nil
}

// warnUnfinished says on standard error how many episodes of a run are missing, where its settings say so.
func (a *app) warnUnfinished(path string, record settings.Record, s *suite.Suite, rows []report.Row) {
	o, err := settings.Restore(record)
	if err != nil || len(o.Agents)+len(o.Models) == 0 {
		return
	}
	instances, err := o.Instances(s)
	arms, armsErr := o.Arms()
	if err != nil || armsErr != nil {
		return
	}
	left := map[string]bool{}
	for _, l := range proof.ReadLeftOut(o.LeftOut) {
		left[l.Instance] = true
	}
	instances = slices.DeleteFunc(slices.Clone(instances), func(in *suite.Instance) bool { return left[in.ID] })
	planned := len(instances) * o.Trials * len(arms) * (len(o.Agents) + len(o.Models)*len(o.Protocols))
	done := 0
	for i := range rows {
		if arm, err := transcript.ParseArm(rows[i].Grade.Arm); err == nil && !arm.Informed &&
			rows[i].Grade.Invalid != transcript.EndInterrupted {
			done++
		}
	}
	if done < planned {
		a.warn("%s is not finished: %d of %d episodes; seatrial resume %s", path, done, planned, path)
	}
}

// summary prints the report of one run.
func (a *app) summary(ctx context.Context, s *suite.Suite, store *episode.Store, path string) error {
	rows, err := rowsOf(ctx, s, store)
	if err != nil {
		return err
	}
	r, err := report.Build([]report.Run{{Name: path, Rows: rows}}, report.Options{})
	if err != nil {
		return err
	}
	r.Notes = notesOf(path, store.Meta().Settings)
	if a.full || a.asJSON {
		return a.printReport(r, formatText)
	}
	a.printBrief(r, []report.Run{{Name: path, Rows: rows}}, []string{path})
	return nil
}

// Formats of reports.
const (
	formatText     = "text"
	formatMarkdown = "markdown"
	formatCSV      = "csv"
	formatJSON     = "json"
)

var formats = []string{formatText, formatMarkdown, formatCSV, formatJSON}

func (a *app) printReport(r *report.Report, format string) error {
	if a.asJSON {
		format = formatJSON
	}
	switch format {
	case formatText:
		width, terminal := a.Width(a.raw.Out)
		a.printf("%s", r.Text(table.Terminal{Width: width, Colour: terminal && a.Getenv("NO_COLOR") == ""}))
	case formatMarkdown:
		a.printf("%s", r.Markdown())
	case formatCSV:
		text, err := r.CSV()
		if err != nil {
			return err
		}
		a.printf("%s", text)
	case formatJSON:
		text, err := r.JSON()
		if err != nil {
			return err
		}
		a.printf("%s", text)
	default:
		return diag.Unknown("format", format, formats)
	}
	return nil
}

// openRun opens a run for reading, with its suite: the one named, or the one that the run names.
func openRun(ctx context.Context, path, suiteDir string) (*episode.Store, *suite.Suite, error) {
	store, err := episode.Open(ctx, path)
	if err != nil {
		return nil, nil, storeError(err, path)
	}
	s, err := suiteOf(store, path, suiteDir)
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	return store, s, nil
}

func suiteOf(store *episode.Store, path, dir string) (*suite.Suite, error) {
	if dir == "" {
		dir = settings.Text(store.Meta().Settings, "suite")
	}
	s, err := loadSuite(dir)
	if err != nil {
		var e *diag.Error
		if errors.As(err, &e) {
			e.Hint = "give the folder where the suite of " + path + " is now: --suite DIR"
		}
		return nil, err
	}
	if s.Manifest.Digest != store.Meta().Suite {
		return nil, diag.Usagef("%s is not the suite that %s was run on", dir, path).WithHint("--suite DIR")
	}
	return s, nil
}

func (a *app) reportCommand() *cobra.Command {
	var suiteDir, format string
	var options report.Options
	var tables []string
	var vote bool
	cmd := &cobra.Command{
		Use:   "report RUN...",
		Short: "Report the results of runs; several runs are paired by task",
		Long: "Reports the results of runs: a short answer, or with --full (and in every format but text) all tables. " +
			"Several\n" +
			"runs are paired by task. --table prints a table of a paper instead, from the episodes of all given runs.\n\n" +
			"Tables:\n" + tableHelp(),
		Args: someArguments("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(formats, format) {
				return diag.Unknown("format", format, formats)
			}
			if err := settings.AtLeast("resamples", options.Resamples, 1); err != nil {
				return err
			}
			if options.Cluster != "" && !slices.Contains(report.Clusters(), options.Cluster) {
				return diag.Unknown("level of clusters", options.Cluster, report.Clusters())
			}
			if vote && !slices.Contains(tables, settings.TableVotes) {
				tables = append(tables, settings.TableVotes)
			}
			for _, name := range tables {
				if _, err := papers.Build(name, papers.Input{}); err != nil {
					return err
				}
			}
			var runs []report.Run
			var sets []papers.Set
			var notes []string
			for i, path := range args {
				if slices.Contains(args[:i], path) {
					return diag.Usagef("%s is given twice", path).WithHint("name two different runs")
				}
				store, s, err := openRun(cmd.Context(), path, suiteDir)
				if err != nil {
					return err
				}
				rows, err := rowsOf(cmd.Context(), s, store)
				record := store.Meta().Settings
				if err = errors.Join(err, store.Close()); err != nil {
					return err
				}
				a.warnUnfinished(path, record, s, rows)
				notes = append(notes, notesOf(path, record)...)
				runs = append(runs, report.Run{Name: runName(args, i), Rows: rows})
				sets = append(sets, setOf(runName(args, i), s, rows, record))
			}
			if len(tables) > 0 {
				return a.printTables(tables, papers.Input{Sets: sets, Options: options}, format)
			}
			r, err := report.Build(runs, options)
			if err != nil {
				return err
			}
			r.Notes = notes
			if a.full || a.asJSON || format != formatText {
				return a.printReport(r, format)
			}
			a.printBrief(r, runs, args)
			return nil
		},
	}
	settings.SuiteFlag(cmd.Flags(), &suiteDir)
	a.fullFlag(cmd)
	cmd.Flags().StringSliceVar(&tables, "table", nil,
		"print this table instead of the report; repeatable")
	cmd.Flags().BoolVar(&vote, "vote", false,
		"print the effect of votes over repeated trials and of informed retries: --table "+settings.TableVotes)
	cmd.Flags().StringVar(&format, "format", formatText, "text, markdown, csv or json")
	cmd.Flags().Uint64Var(&options.Seed, "seed", 0, "seed of the bootstrap")
	cmd.Flags().IntVar(&options.Resamples, "resamples", statistics.DefaultResamples, "resamples of the bootstrap")
	cmd.Flags().StringVar(&options.Cluster, "cluster", "",
		"what intervals and tests treat as one observation: task, sql or database; by default intervals cluster by distinct "+
			"SQL and tests by task")
	return cmd
}

func tableHelp() string {
	var b strings.Builder
	for _, t := range papers.Tables() {
		fmt.Fprintf(&b, "  %-12s %s; needs %s\n", t.Name, t.Title, t.Needs)
	}
	return b.String()
}

// printTables prints tables by name.
func (a *app) printTables(names []string, in papers.Input, format string) error {
	if a.asJSON {
		format = formatJSON
	}
	for i, name := range names {
		t, err := papers.Build(name, in)
		if err != nil {
			return err
		}
		text := ""
		switch format {
		case formatMarkdown:
			text = t.Markdown()
		case formatCSV:
			text, err = t.CSV()
		case formatJSON:
			var data []byte
			data, err = t.JSON()
			text = string(data)
		default:
			width, _ := a.Width(a.raw.Out)
			text = t.Text(table.Terminal{Width: width})
		}
		if err != nil {
			return err
		}
		if i > 0 && format != formatJSON {
			a.printf("\n")
		}
		a.printf("%s", text)
	}
	return nil
}

// runName is a run's file name, or its path if two runs share the name.
func runName(paths []string, at int) string {
	name := filepath.Base(paths[at])
	for i, p := range paths {
		if i != at && filepath.Base(p) == name {
			return paths[at]
		}
	}
	return name
}

func (a *app) gradeCommand() *cobra.Command {
	var suiteDir string
	o := settings.New()
	cmd := &cobra.Command{
		Use:   "grade RUN",
		Short: "Grade a run again, from its transcripts alone",
		Long: "Grades a run again, from its transcripts alone. With --judge, a model also assesses the explanations of " +
			"the\n" +
			"protocol explain. Its opinions are stored with the run; it assesses each explanation once.",
		Args: oneArgument("RUN"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			store, err := episode.Edit(cmd.Context(), args[0])
			if err != nil {
				return storeError(err, args[0])
			}
			defer func() { err = errors.Join(err, store.Close()) }()
			s, err := suiteOf(store, args[0], suiteDir)
			if err != nil {
				return err
			}
			if err := gradeStore(cmd.Context(), s, store); err != nil {
				return err
			}
			if o.Judge != "" {
				if err := a.judgeRun(cmd.Context(), o, s, store); err != nil {
					return err
				}
			}
			return a.summary(cmd.Context(), s, store, args[0])
		},
	}
	settings.SuiteFlag(cmd.Flags(), &suiteDir)
	a.fullFlag(cmd)
	o.ProviderFlags(cmd.Flags())
	return cmd
}
