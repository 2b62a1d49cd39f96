// Package rules reads faults files, which say which kinds of faults strike which calls. Its kinds are those of the
// catalogue that need no knowledge of the data, and a few that only the proxy has. It must never know how messages
// travel.
package rules

import (
	"slices"

	"github.com/seatrial/seatrial/internal/condition"
	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/condition/fault/exec"
)

// Kinds that only the proxy has. No environment has a counterpart.
var (
	ToolMissing = &fault.Kind{Name: "call.tool-missing", Proxy: &fault.Proxy{
		Class: fault.ClassListing, Says: "The listing omits the tool, and calls to it are refused as unknown.",
	}}
	ToolRenamed = &fault.Kind{Name: "spec.tool-renamed", Proxy: &fault.Proxy{
		Class: fault.ClassSpecification, Settings: []fault.Setting{fault.SetNewName, fault.SetShown, fault.SetNotify},
		Says: "The tool has a new name, and the old one is unknown.",
	}}
	Description = &fault.Kind{Name: "spec.description", Proxy: &fault.Proxy{
		Class: fault.ClassListing, Settings: []fault.Setting{
			{Name: "description", Form: fault.FormText, Required: true, Says: "The new description."},
		},
		Says: "The listing describes the tool in other words.",
	}}
	Null = &fault.Kind{Name: "out.null", Proxy: &fault.Proxy{Class: fault.ClassResult, Says: "The result is null."}}
)

// kinds lists the kinds that a faults file can name: those of the catalogue, in its order, then the proxy's own.
var kinds = append(slices.DeleteFunc(condition.FaultKinds(), func(k *fault.Kind) bool { return k.Proxy == nil }),
	ToolMissing, ToolRenamed, Description, Null)

// Catalogue returns the kinds that a faults file can name.
func Catalogue() []*fault.Kind { return slices.Clone(kinds) }

// Kinds returns the names of the kinds that a faults file can name.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.Name
	}
	return names
}

func findKind(name string) *fault.Kind {
	if at := slices.Index(Kinds(), name); at >= 0 {
		return kinds[at]
	}
	return nil
}

// Variants lists the values of `variant`.
func Variants(k *fault.Kind) []string {
	switch {
	case k.Harmless:
		return []string{fault.VariantLookalike}
	case !k.Proxy.Alone && k.Lookalike != "":
		return []string{condition.RoleFault, fault.VariantLookalike}
	default:
		return []string{condition.RoleFault}
	}
}

// timed reports whether `times` bounds the strikes of the kind.
func timed(k *fault.Kind) bool {
	switch k.Proxy.Class {
	case fault.ClassSpecification, fault.ClassListing:
		return false
	default:
		return k != exec.FirstTried
	}
}
