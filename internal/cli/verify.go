package cli

import (
	"cmp"
	"fmt"

	"github.com/seatrial/seatrial/internal/certify/proof"
	"github.com/seatrial/seatrial/internal/certify/recheck"
	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/spf13/cobra"
)

func (a *app) verifyCommand() *cobra.Command {
	var o recheck.Options
	cmd := &cobra.Command{
		Use:   "verify SUITE",
		Short: "Execute every certificate of a suite again and report those that do not hold",
		Args:  oneArgument("SUITE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(settings.AtLeast("workers", o.Workers, 1),
				settings.Positive("statement-timeout", o.StatementTimeout)); err != nil {
				return err
			}
			began := a.Now()
			s, err := loadSuite(args[0])
			if err != nil {
				return err
			}
			m := a.meter()
			o.Progress = func(done, total, drifted int) { m.show("verify", done, total, fmt.Sprintf("%d drifted", drifted)) }
			outcome, err := recheck.Suite(cmd.Context(), s, o)
			m.clear()
			if err != nil {
				return err
			}
			outcome.Seconds = a.Now().Sub(began).Seconds()
			if a.asJSON {
				if err := a.printJSON(outcome); err != nil {
					return err
				}
			} else {
				for _, d := range outcome.Drift {
					a.printf("%s: %s\n", d.Instance, d.Message)
				}
				a.printf("%s: %d of %d certificates hold, %.1f s\n", args[0], outcome.Certificates-len(outcome.Drift),
					outcome.Certificates, outcome.Seconds)
			}
			if len(outcome.Drift) > 0 {
				return &diag.Error{Exit: diag.ExitFailed, Message: fmt.Sprintf("%d certificates do not hold", len(outcome.Drift))}
			}
			return nil
		},
	}
	settings.WorkersFlag(cmd.Flags(), &o.Workers)
	cmd.Flags().DurationVar(&o.StatementTimeout, "statement-timeout", proof.DefaultTimeout,
		"a statement that takes longer ends the command")
	return cmd
}
