package decide

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/comparison"
	"github.com/seatrial/seatrial/internal/report/plan"
	"github.com/spf13/cobra"
)

func (h *Host) planCommand() *cobra.Command {
	r := plan.Request{}
	var suiteDir, part, cluster string
	var agents []string
	var points float64
	cmd := &cobra.Command{
		Use:   "plan [RUN...] --detect POINTS",
		Short: "Say how many tasks and trials detect a difference, and what a finished run could have detected",
		Long: "Plans a comparison of agents on the same tasks. Variances come from a pilot (one or two runs, with one or\n" +
			"two agents), or from assumptions: --rate, --consistency, --correlation.",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Difference = points / 100
			if err := r.Check(); err != nil {
				return err
			}
			if !slices.Contains(report.Parts(), part) {
				return diag.Unknown("part", part, report.Parts())
			}
			if !slices.Contains(report.Clusters(), cluster) {
				return diag.Unknown("level of clusters", cluster, report.Clusters())
			}
			arms, err := h.pilot(cmd.Context(), args, suiteDir, part, cluster, agents)
			if err != nil {
				return err
			}
			p, err := plan.Make(r, arms...)
			if err != nil {
				return err
			}
			if h.JSON() {
				return h.PrintJSON(p)
			}
			h.Printf("%s", p.Text(h.Width()))
			return nil
		},
	}
	f := cmd.Flags()
	settings.SuiteFlag(f, &suiteDir)
	f.Float64Var(&points, "detect", 5, "difference to detect, in percentage points")
	f.Float64Var(&r.Power, "power", 0.8, "chance of detecting it")
	f.Float64Var(&r.Alpha, "alpha", 0.05, "accepted chance of detecting a difference that does not exist, two-sided")
	f.IntVar(&r.Arms, "arms", 2, "agents to compare, each with the first")
	f.IntVar(&r.Comparisons, "comparisons", 1, "kinds or parts that are tested side by side")
	f.Float64Var(&r.Rate, "rate", 0.7, "assumed success of the first arm")
	f.Float64Var(&r.Consistency, "consistency", 0.5,
		"assumed share of the variance that is between tasks: 1 if all trials of a task end alike")
	f.Float64Var(&r.Correlation, "correlation", 0.5, "assumed correlation of the arms' rates over tasks")
	f.Float64Var(&r.Effect, "design-effect", 0, "design effect of clusters of tasks; 0 takes the pilot's")
	f.StringVar(&part, "part", report.PartClean, "episodes of the pilot: "+strings.Join(report.Parts(), ", "))
	f.StringVar(&cluster, "cluster", report.ClusterSQL, "what counts as one observation: "+
		strings.Join(report.Clusters(), ", "))
	f.StringSliceVar(&agents, "agent", nil, "agents of the pilot, one or two")
	return cmd
}

// pilot returns the episodes of the arms of a pilot: none, one or two.
func (h *Host) pilot(
	ctx context.Context, paths []string, dir, part, cluster string, agents []string,
) ([][]*report.Row, error) {
	var list []report.Run
	for _, path := range paths {
		run, rows, err := h.Open(ctx, path, dir)
		if err != nil {
			return nil, err
		}
		list = append(list, report.Run{Name: path, Rows: rows})
		if err := errors.Join(err, run.Close()); err != nil {
			return nil, err
		}
	}
	sides, err := comparison.Sides(list, report.Options{Cluster: cluster})
	if err != nil {
		return nil, err
	}
	var names []string
	var arms [][]*report.Row
	for _, s := range sides {
		names = append(names, s.Agent)
		if len(agents) > 0 && !slices.Contains(agents, s.Agent) {
			continue
		}
		if rows := report.Where(s.Rows, func(r *report.Row) bool { return r.Part() == part }); rows != nil {
			arms = append(arms, rows)
		}
	}
	for _, name := range agents {
		if !slices.Contains(names, name) {
			return nil, diag.Unknown("agent", name, names)
		}
	}
	switch {
	case len(paths) > 0 && len(arms) == 0:
		return nil, diag.Usagef("the pilot has no %s episode", part).
			WithHint("play some: seatrial run SUITE --out NEW")
	case len(arms) > 2:
		return nil, diag.Usagef("the pilot has %d agents, and a plan compares two", len(arms)).
			WithHint("--agent %s,%s", names[0], names[1])
	}
	return arms, nil
}
