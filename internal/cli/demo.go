package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/pipeline"
	"github.com/spf13/cobra"
)

func (a *app) demoCommand() *cobra.Command {
	var out string
	var workers int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try everything on the bundled corpus: suite, scripted policies, report; no key, no network",
		Long: "Builds the bundled corpus, injects each kind of fault into a few tasks, runs the scripted policies on clean and\n" +
			"faulted tasks, and prints a report of each run. With --json, it prints one JSON value for each of the two runs.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := settings.AtLeast("workers", workers, 1); err != nil {
				return err
			}
			return a.demo(cmd.Context(), out, workers)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the suite and the runs; by default a temporary folder, removed at the end")
	settings.WorkersFlag(cmd.Flags(), &workers)
	return cmd
}

// demoFaulted is how many tasks the demo puts under each kind of fault.
const demoFaulted = 5

func (a *app) demo(ctx context.Context, out string, workers int) error {
	temporary := out == ""
	if temporary {
		dir, err := os.MkdirTemp("", "seatrial-demo-")
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		defer func() { _ = os.RemoveAll(dir) }() // a leftover in the system's temporary folder harms nobody
		out = dir
	}
	o := pipeline.Defaults()
	o.Corpora, o.Name, o.Workers = []string{"demo"}, "demo", workers
	o.Faults, o.FaultLimit = []string{"all"}, demoFaulted
	dir := filepath.Join(out, "suite")
	s, err := a.makeSuite(ctx, o, dir)
	if err != nil {
		return err
	}
	if !a.asJSON {
		a.printBuild(&buildResult{Suite: "demo", Counts: s.Manifest.Counts, Digest: s.Manifest.Digest, PeakMiB: peakMiB()})
		a.printf("\n")
	}
	r := settings.New()
	r.Suite, r.Out, r.Workers = dir, filepath.Join(out, "run"), workers
	r.Conditions = []string{condition.RoleClean}
	r.Agents = []string{"gold", "gold-direct", "gold-composed", "blind", "random", "mute"}
	err = a.run(ctx, r, false)
	if err == nil {
		if !a.asJSON {
			a.printf("\n")
		}
		r.Out, r.Conditions, r.Tables = filepath.Join(out, "run.faults"), []string{"*:*"}, []string{"tbx-3"}
		r.Agents = []string{"blind", "retry", "fallback", "recover"}
		err = a.run(ctx, r, false)
	}
	if err == nil && !temporary && !a.asJSON {
		a.printf("\n`seatrial report %s` breaks it down by hazard, kind and workflow.\n", r.Out)
	}
	if temporary {
		a.resumeHint = "" // its folder is removed
	}
	return err
}
