package cli

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/spf13/cobra"
)

func (a *app) faultsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "faults [KIND ...]",
		Short: "List the faults: what each does, what an agent sees of it, and how to survive it",
		Long: "Lists the kinds of faults by hazard, or describes some of them in detail. Faults that are injected " +
			"together apply\n" +
			"in the order of the list. `seatrial build --fault KIND` injects one into tasks.",
		RunE: func(_ *cobra.Command, kinds []string) error {
			var known []string
			var shown []faultInfo
			for _, info := range condition.Catalogue() {
				if info.Kind != condition.KindEnvironment {
					continue
				}
				known = append(known, info.Name)
				if len(kinds) == 0 || slices.Contains(kinds, info.Name) {
					shown = append(shown, newFaultInfo(&info))
				}
			}
			for _, kind := range kinds {
				if !slices.Contains(known, kind) {
					return diag.Unknown("fault", kind, known)
				}
			}
			switch {
			case a.asJSON:
				return a.printJSON(shown)
			case len(kinds) > 0:
				a.printFaultDetails(shown)
			default:
				a.printFaults(shown)
			}
			return nil
		},
	}
}

// faultInfo is what `faults --json` prints about a kind.
type faultInfo struct {
	Kind       string   `json:"kind"`
	Hazard     string   `json:"hazard"`
	Summary    string   `json:"summary"`
	Visible    string   `json:"visible"`
	SurvivedBy string   `json:"survived_by"`
	Hopeless   bool     `json:"hopeless,omitempty"`
	Variants   []string `json:"variants"`
	Lookalike  string   `json:"lookalike,omitempty"`
	Mirror     string   `json:"mirror,omitempty"`
	Companions string   `json:"companions,omitempty"`
	Parameters string   `json:"parameters"`
	Source     string   `json:"source"`
}

func newFaultInfo(info *condition.Info) faultInfo {
	s := info.Survival
	f := faultInfo{
		Kind: info.Name, Hazard: s.Hazard, Summary: info.Summary, Visible: s.Visible, SurvivedBy: s.By, Hopeless: s.Hopeless,
		Lookalike: s.Lookalike, Mirror: s.Mirror, Companions: s.Companions, Parameters: s.Parameters, Source: info.Source,
	}
	for _, variant := range condition.Variants(info.Name) {
		if variant == fault.VariantFault {
			variant = condition.RoleFault
		}
		f.Variants = append(f.Variants, variant)
	}
	return f
}

// printFaults lists kinds under their hazards.
func (a *app) printFaults(list []faultInfo) {
	for i, hazard := range fault.Hazards() {
		if i > 0 {
			a.printf("\n")
		}
		a.printf("%s\n", strings.ToUpper(hazard[:1])+hazard[1:])
		for j := range list {
			if f := &list[j]; f.Hazard == hazard {
				a.printf("  %-24s %s\n  %-24s visible: %s\n  %-24s survived by: %s\n", f.Kind, f.Summary, "", f.Visible, "",
					f.SurvivedBy)
			}
		}
	}
	a.printf("\n%d kinds. `seatrial faults KIND` describes one; look-alikes, mirrors and controls are built with each.\n",
		len(list))
}

func (a *app) printFaultDetails(list []faultInfo) {
	for i := range list {
		f := &list[i]
		if i > 0 {
			a.printf("\n")
		}
		a.printf("%s: %s\n", f.Kind, f.Summary)
		for _, line := range []struct{ name, text string }{
			{"hazard", f.Hazard}, {"visible", f.Visible}, {"survived by", f.SurvivedBy}, {"look-alike", f.Lookalike},
			{"mirror", f.Mirror}, {"adds tools", f.Companions}, {"parameters", f.Parameters},
			{"variants", strings.Join(f.Variants, ", ")}, {"source", f.Source},
		} {
			if line.text != "" {
				a.printf("  %-12s %s\n", line.name, line.text)
			}
		}
	}
}
