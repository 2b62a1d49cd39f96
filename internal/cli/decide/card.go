package decide

import (
	"errors"
	"time"

	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/card"
	"github.com/seatrial/seatrial/internal/suite/transcript"
	"github.com/spf13/cobra"
)

func (h *Host) cardCommand() *cobra.Command {
	var suiteDir string
	cmd := &cobra.Command{
		Use:   "card RUN",
		Short: "Describe a run on one page: what was measured, how, at what cost, and its limits",
		Long:  "Prints Markdown, or with --json the same as JSON.",
		Args:  h.One("RUN"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			run, rows, err := h.Open(cmd.Context(), args[0], suiteDir)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, run.Close()) }()
			r, err := report.Build([]report.Run{{Name: args[0], Rows: rows}}, report.Options{})
			if err != nil {
				return err
			}
			r.Notes = run.Notes()
			clock := &card.Clock{}
			err = run.Store.EachTime(cmd.Context(), func(position int, h transcript.Header, took time.Duration) {
				clock.Add(position, report.Subject{Agent: h.Agent, Protocol: h.Protocol, Arm: h.Arm}, took)
			})
			if err != nil {
				return err
			}
			c, err := card.Of(&run.Suite.Manifest, run.Store.Meta().Settings, r, rows, clock)
			if err != nil {
				return err
			}
			if h.JSON() {
				return h.PrintJSON(c)
			}
			h.Printf("%s", c.Markdown())
			return nil
		},
	}
	settings.SuiteFlag(cmd.Flags(), &suiteDir)
	return cmd
}
