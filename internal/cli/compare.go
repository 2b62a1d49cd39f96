package cli

import (
	"errors"
	"slices"

	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/table"
	"github.com/spf13/cobra"
)

func (a *app) compareCommand() *cobra.Command {
	var suiteDir string
	var options report.Options
	cmd := &cobra.Command{
		Use:   "compare RUN RUN...",
		Short: "Say where runs differ: clean, under faults and by kind of fault",
		Long: "Compares runs by task: one sentence for each two subjects, then paired differences on clean tasks, under faults and\n" +
			"by kind of fault (tests are corrected for the number of kinds), then the tasks whose outcome differs.",
		Args: someArguments("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return diag.Usagef("compare needs two runs").WithHint("seatrial compare RUN RUN")
			}
			var runs []report.Run
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
				runs = append(runs, report.Run{Name: runName(args, i), Rows: rows})
			}
			r, err := report.Build(runs, options)
			if err != nil {
				return err
			}
			if a.asJSON {
				return a.printReport(r, formatJSON)
			}
			width, terminal := a.Width(a.Out)
			a.printf("%s", r.Comparison(table.Terminal{Width: width, Colour: terminal && a.Getenv("NO_COLOR") == ""}))
			return nil
		},
	}
	settings.SuiteFlag(cmd.Flags(), &suiteDir)
	cmd.Flags().StringVar(&options.Cluster, "cluster", "", "what intervals and tests treat as one observation: task, sql or database")
	return cmd
}
