package selftest

import (
	"context"
	"fmt"

	"github.com/seatrial/seatrial/internal/certify/shortcut"
)

// disclosureChecks are about what an instance reveals before the first call.
var disclosureChecks = []Check{
	{
		Name: "views", Claim: "Nothing before the first call tells a fault from its harmless variants.",
		Method: "first views, with and without hints, that differ between a fault, its look-alike, mirror and control",
		Target: Target{AtMost, 0}, Unit: UnitShare, measure: measureViews,
	},
	{
		Name: "replicas", Claim: "Tools that faults add do not name the right tool.",
		Method: "strict forms and second sources that resemble a tool of the plan, as a multiple of chance",
		Target: Target{AtMost, 2}, Unit: "times chance", measure: measureReplicas,
	},
	{
		Name: "one-call", Claim: "An added tool does not give the answer away.",
		Method: "faults solved by one call of an added tool, with the request's values filled in by their form",
		Target: Target{AtMost, 0.05}, Unit: UnitShare, measure: measureOneCall,
	},
	{
		Name: "always-strict", Claim: "Strict forms must not be trusted blindly.",
		Method: "faults and mirrors solved by the plan with the strict form of every tool",
		Target: Target{AtMost, 0.5}, Unit: UnitShare, measure: measureAlwaysStrict,
	},
	{
		Name: "tool-count", Claim: "The number of tools does not reveal that the right ones are missing.",
		Method: "balanced accuracy of the best threshold on the number of tools",
		Target: Target{AtMost, 0.5}, Unit: UnitShare, measure: measureListings(2, func(l []shortcut.Listing) float64 {
			return shortcut.Threshold(l, func(l *shortcut.Listing) int { return l.Tools })
		}),
	},
	{
		Name: "tool-words", Claim: "The words of the tools do not reveal that the right ones are missing.",
		Method: "balanced accuracy of naive Bayes on names and descriptions, trained on half of the databases, tried on " +
			"others",
		Target: Target{AtMost, 0.6}, Unit: UnitShare, measure: measureListings(fewListings, shortcut.Words),
	},
}

func meter(t *Trial) *shortcut.Meter { return &shortcut.Meter{Suite: t.Suite, Stage: t.Stage} }

func measureViews(ctx context.Context, t *Trial) (Figure, error) {
	compared, differing, err := meter(t).Views(ctx)
	f := ShareOf(len(differing), compared)
	if len(differing) > 0 {
		f.Note = "first " + differing[0]
	}
	return f, err
}

func measureReplicas(ctx context.Context, t *Trial) (Figure, error) {
	found, chance, err := meter(t).Replicas(ctx)
	if err != nil || chance.N == 0 {
		return Figure{}, err
	}
	return Figure{
		Value: found.Rate() / chance.Rate(), Of: int(found.Of),
		Note: fmt.Sprintf("%.1f %% of them, by chance %.1f %%", 100*found.Rate(), 100*chance.Rate()),
	}, nil
}

func measureOneCall(ctx context.Context, t *Trial) (Figure, error) {
	found, _, err := meter(t).OneCall(ctx, false)
	if err != nil {
		return Figure{}, err
	}
	fitting, _, err := meter(t).OneCall(ctx, true)
	f := ShareOf(int(found.N), int(found.Of))
	f.Note = fmt.Sprintf("%.1f %% if only tools are drawn whose arguments the values fill", 100*fitting.Rate())
	return f, err
}

func measureAlwaysStrict(ctx context.Context, t *Trial) (Figure, error) {
	s, err := meter(t).AlwaysStrict(ctx)
	return ShareOf(int(s.N), int(s.Of)), err
}

// fewListings is the least number of listings that a classifier is trained and tried on.
const fewListings = 60

// measureListings measures how well something tells hopeless listings from others, if there are enough.
func measureListings(
	least int, accuracy func([]shortcut.Listing) float64,
) func(context.Context, *Trial) (Figure, error) {
	return func(ctx context.Context, t *Trial) (Figure, error) {
		list, err := meter(t).Listings(ctx)
		if err != nil || len(list) < least {
			return Figure{}, err
		}
		return Figure{Value: accuracy(list), Of: len(list)}, nil
	}
}
