package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/seatrial/seatrial/internal/cli/settings"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/report"
	"github.com/seatrial/seatrial/internal/report/gate"
	"github.com/seatrial/seatrial/internal/report/runs"
)

func (a *app) gateCommand() *cobra.Command {
	var suiteDir, baseline, rules, junit, markdown string
	cmd := &cobra.Command{
		Use:   "gate RUN",
		Short: "Decide from a run by rules: PASS, BLOCK or INCONCLUSIVE",
		Long: "Tests the rules that `run --gate FILE` sealed, or those of --rules, against a run.\n\n" +
			"Exit codes: 0 PASS, 1 BLOCK, 5 INCONCLUSIVE (the answer says how many more tasks would decide), 2 bad rules.\n\n" +
			"Measures: " + strings.Join(gate.Measures(), ", ") + ".\nParts: " + strings.Join(report.Parts(), ", ") +
			".\nHazards: " + strings.Join(report.Hazards(), ", ") + ".\n\n" +
			"In a workflow of GitHub, the verdict is also written as a step summary and as annotations.",
		Args: oneArgument("RUN"),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := a.judgeRules(cmd.Context(), args[0], suiteDir, rules, baseline)
			if err != nil {
				return err
			}
			return a.printGate(v, junit, markdown)
		},
	}
	settings.SuiteFlag(cmd.Flags(), &suiteDir)
	cmd.Flags().StringVar(&rules, "rules", "", "YAML file of rules; default: those that the run sealed")
	cmd.Flags().StringVar(&baseline, "baseline", "", "`RUN` that rules with a margin compare with")
	cmd.Flags().StringVar(&junit, "junit", "", "write the verdict to this file as JUnit XML")
	cmd.Flags().StringVar(&markdown, "markdown", "", "write the verdict to this file as Markdown, for a comment")
	return cmd
}

// sealRules reads the rules of --gate into the settings of a run.
func sealRules(o *settings.Run) error {
	if o.Gate == "" {
		return nil
	}
	rules, err := readRules(o.Gate)
	if err == nil {
		o.GateRules, err = rules.Text()
	}
	return err
}

func readRules(path string) (*gate.Rules, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.Usagef("the rules cannot be read: %v", err)
	}
	return gate.Parse(path, data)
}

func (a *app) judgeRules(ctx context.Context, path, dir, file, baseline string) (v *gate.Verdict, err error) {
	run, rows, err := a.openRows(ctx, path, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, run.Close()) }()
	var rules *gate.Rules
	if file != "" {
		if rules, err = readRules(file); err != nil {
			return nil, err
		}
	}
	rules, sealed, err := gate.Unseal(run.Setting("gate_rules"), rules)
	if err != nil {
		return nil, err
	}
	var base []report.Row
	if baseline != "" {
		other, list, err := a.openRows(ctx, baseline, "")
		if err != nil {
			return nil, err
		}
		if base = list; other.Close() != nil {
			return nil, diag.Usagef("%s cannot be closed", baseline)
		}
	}
	v, err = gate.Judge(rules, rows, base)
	if v != nil {
		v.Sealed = sealed
	}
	return v, err
}

// openRows opens a run and grades its episodes.
func (a *app) openRows(ctx context.Context, path, dir string) (*runs.Run, []report.Row, error) {
	run, err := runs.Open(ctx, path, dir)
	if err != nil {
		return nil, nil, err
	}
	rows, err := run.Rows(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, run.Close())
	}
	a.warnUnfinished(run, rows)
	return run, rows, nil
}

func (a *app) printGate(v *gate.Verdict, junit, markdown string) error {
	text, err := v.JUnit()
	if err != nil {
		return err
	}
	if err := errors.Join(writeText(junit, text, os.O_TRUNC), writeText(markdown, v.Markdown(), os.O_TRUNC),
		writeText(a.Getenv("GITHUB_STEP_SUMMARY"), v.Markdown(), os.O_APPEND)); err != nil {
		return err
	}
	if a.Getenv("GITHUB_ACTIONS") == "true" {
		a.printf("%s", v.Annotations())
	}
	if a.asJSON {
		err = a.printJSON(v)
	} else {
		a.printf("%s", v.Text(a.width()))
	}
	code := map[string]int{gate.Block: diag.ExitFailed, gate.Inconclusive: diag.ExitInconclusive}[v.Decision]
	if err == nil && code != diag.ExitOK {
		err = &diag.Error{Exit: code, Message: "the gate says " + v.Decision}
	}
	return err
}

// writeText writes a file, or adds to it; an empty path writes nothing.
func writeText(path, text string, mode int) error {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o644)
	if err != nil {
		return diag.Usagef("%v", err)
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
