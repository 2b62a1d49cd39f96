package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/corpus/toolsets"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/seatrial/seatrial/internal/play/episode"
	"github.com/seatrial/seatrial/internal/play/evaluation"
	"github.com/seatrial/seatrial/internal/report/runs"
	"github.com/seatrial/seatrial/internal/suite"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/spf13/cobra"
)

func (a *app) exportCommand() *cobra.Command {
	var out, under, bundle, suiteDir string
	var filter runs.Filter
	cmd := &cobra.Command{
		Use:   "export RUN [--bundle FILE] | SUITE --out DIR",
		Short: "Write a run as JSON Lines, episodes as a bundle, or a suite's questions",
		Long: "Writes a run's episodes, events and grades as JSON Lines to the standard output. --bundle writes one file\n" +
			"with the selected episodes instead: requests, gold, tools, transcripts and grades, and the clean episodes to\n" +
			"compare with. `seatrial show FILE` opens it on a machine that has neither the suite nor the run. It contains\n" +
			"right answers.\n\n" +
			"For a suite of tools that cannot be run, it writes the questions in the format of the Berkeley Function Calling\n" +
			"Leaderboard: a file for each part, and the possible answers in a separate folder. Tool documents are byte for " +
			"byte\n" +
			"those of the corpus.\n\n" +
			"For other suites it writes the evaluation set of NL2API, a JSON file for each style and one of its tools: the\n" +
			"question, its SQL, the step that opens starting tables, each call with its output, and the answer.",
		Args: oneArgument("RUN or SUITE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if info, err := os.Stat(args[0]); err == nil && info.IsDir() {
				return a.exportSuite(cmd.Context(), args[0], out, under)
			}
			if out != "" || cmd.Flags().Changed("condition") {
				return diag.Usagef("--out and --condition are for suites, and %s is not one", args[0]).
					WithHint("a run is written to the standard output: seatrial export %s > FILE", args[0])
			}
			if bundle != "" {
				return a.exportBundle(cmd.Context(), args[0], suiteDir, bundle, filter)
			}
			if !filter.Empty() {
				return diag.Usagef("episodes are selected for a bundle").WithHint("--bundle FILE")
			}
			store, err := runs.OpenStore(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			err = store.Export(cmd.Context(), a.Out)
			return errors.Join(err, store.Close())
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the questions of a suite; it must be new")
	cmd.Flags().StringVar(&under, "condition", condition.RoleClean,
		"the `CONDITION` whose instances are written, as surface:3")
	cmd.Flags().StringVar(&bundle, "bundle", "", "write the selected episodes of a run to this `FILE`")
	cmd.Flags().IntVar(&filter.Limit, "limit", 0, "at most so many episodes; 0 takes all")
	filterFlags(cmd, &filter)
	settings.SuiteFlag(cmd.Flags(), &suiteDir)
	return cmd
}

// exportSuite writes the questions of a suite, as they read under a condition.
func (a *app) exportSuite(ctx context.Context, dir, out, under string) error {
	if out == "" {
		return diag.Usagef("a suite is exported into a folder").WithHint("seatrial export %s --out DIR", dir)
	}
	if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
		return diag.Usagef("%s exists", out).WithHint("give another --out")
	}
	s, err := runs.LoadSuite(dir)
	if err != nil {
		return err
	}
	stage, tasks := episode.NewStage(s, nil, environment.Limits{}), s.Index()
	var questions []toolsets.Shown
	known := []string{condition.RoleClean}
	for _, in := range s.Instances {
		t := tasks[in.Task]
		if t == nil || t.Proof != task.ProofStatic {
			continue
		}
		name := cmp.Or(condition.Specification(in.Conditions), condition.RoleClean)
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
		if name != under {
			continue
		}
		shown, err := stage.Shown(in)
		if err != nil {
			return err
		}
		if shown.Gold.Expected != nil && shown.Gold.Expected.Shown != nil {
			return diag.Usagef("under %s, tools are renamed",
				under).WithHint("export the instances of another condition")
		}
		questions = append(questions, toolsets.Shown{Task: shown, Tools: s.Toolkit(in, t)})
	}
	if questions == nil && slices.ContainsFunc(s.Tasks, func(t *task.Task) bool { return t.Proof != task.ProofStatic }) {
		return a.exportEvaluation(ctx, s, out, under)
	}
	if questions == nil {
		if !slices.Contains(known, under) {
			return diag.Unknown("condition", under, known)
		}
		return diag.Usagef("%s has no tasks whose tools cannot be run",
			dir).WithHint("build from bfcl:, api-bank: or toolbench:")
	}
	files, err := toolsets.Export(questions, s.Tools[task.StyleStatic])
	if err != nil {
		return err
	}
	return a.writeFiles(out, files, len(questions))
}

// exportEvaluation writes the evaluation set of a suite whose tools can be run.
func (a *app) exportEvaluation(ctx context.Context, s *suite.Suite, out, under string) error {
	worlds := proof.NewWorlds(s, 0)
	defer worlds.Close()
	stage, files, n := episode.NewStage(s, worlds, environment.Limits{}), map[string][]byte{}, 0
	for _, style := range slices.Sorted(maps.Keys(s.Tools)) {
		list, err := evaluation.Samples(ctx, stage, s, style, under)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			continue
		}
		n += len(list)
		if files[style+".json"], err = evaluation.Encode(list); err != nil {
			return err
		}
		tools, err := task.Marshal(s.Tools[style])
		if err != nil {
			return err
		}
		files[filepath.Join("tools", style+".json")] = append(tools, '\n')
	}
	if n == 0 {
		var known []string
		for _, in := range s.Instances {
			if name := cmp.Or(condition.Specification(in.Conditions), condition.RoleClean); !slices.Contains(known, name) {
				known = append(known, name)
			}
		}
		return diag.Unknown("condition", under, known)
	}
	return a.writeFiles(out, files, n)
}

// writeFiles writes the files of an export into a new folder, in one move.
func (a *app) writeFiles(out string, files map[string][]byte, questions int) (err error) {
	partial := out + ".partial"
	if err := os.RemoveAll(partial); err != nil { // of an export that was killed
		return err
	}
	defer func() {
		if err != nil {
			_ = os.RemoveAll(partial) // the error of the export counts
		}
	}()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(partial, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	if err := os.Rename(partial, out); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%d questions in %d files: %s\n", questions, len(files), out)
	return err
}
