package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/pipeline"
	"github.com/seatrial/seatrial/internal/play/environment"
	"github.com/spf13/cobra"
)

func (a *app) demoCommand() *cobra.Command {
	var out string
	var workers int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "The whole path on the bundled corpus: suite, reference agents, report; no key, no network",
		Long: "Builds the bundled corpus, puts a few tasks under each kind of fault, runs the reference agents on both, and says what\n" +
			"came of it. With --json, one JSON value for each of the two runs.",
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkWorkers(workers); err != nil {
				return err
			}
			return a.demo(cmd.Context(), out, workers)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "folder for the suite and the run; a temporary one that is removed by default")
	workersFlag(cmd, &workers)
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
	r := runOptions{
		suite: dir, out: filepath.Join(out, "run"), conditions: []string{condition.RoleClean},
		agents: []string{"gold", "gold-direct", "gold-composed", "blind", "random", "mute"},
		trials: 1, temperature: "0", workers: workers, concurrency: 1, neighbours: 2, timeout: time.Minute,
		evidence: evidenceShown, handles: environment.HandlesReference,
	}
	err = a.run(ctx, &r, false)
	if err == nil {
		if !a.asJSON {
			a.printf("\n")
		}
		r.out, r.conditions, r.tables = filepath.Join(out, "run.faults"), []string{"*:*"}, []string{"tbx-3"}
		r.agents = []string{"blind", "retry", "fallback", "recover"}
		err = a.run(ctx, &r, false)
	}
	if err == nil && !temporary && !a.asJSON {
		a.printf("\n`seatrial report %s` says it by hazard, kind and workflow.\n", r.out)
	}
	if temporary {
		a.resumeHint = "" // what was finished is gone with its folder
	}
	return err
}
