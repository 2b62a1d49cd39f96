package out

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/condition/fault"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
)

// WrappedUnit is out.wrapped-unit. The unit fits the meaning of the column's name. A column whose name implies no unit
// is not changed, because no API would say "kg" of a count.
var WrappedUnit = writes(fault.Kind{
	Name: "out.wrapped-unit", Summary: "numbers are written with a unit",
	Survival: fault.Survival{
		Visible: "the payload: USD 42.18", By: "extracting the number", Parameters: "tool; column; field; with: the unit",
		Lookalike: "a unit beside plain numbers",
	},
}, "Numbers come with a unit before them, as text.", writing{
	suits: func(column string) bool { return unitsOf(column) != nil },
	draw: func(p *fault.Placement, column string) string {
		return p.Pick("unit", unitsOf(column)...)
	},
	setting: fault.Setting{Name: "with", Form: fault.FormText, Says: "The unit, USD by default."},
	without: "USD",
	missing: fault.ReasonNoUnit,
	write: func(f *form, _ string, v task.Value) (task.Value, bool) {
		return f.With + " " + string(task.AppendValue(nil, v)), fault.IsNumber(v)
	},
	double:  func(f *form) fault.Field { return fault.Nested("unit", fault.String(f.Field, f.With)) },
	happens: "The numbers of ",
	comes:   " may come as text with a unit before them.",
	undo:    "Take the number alone, as it is, and leave the unit away.",
})

// columnUnits are units by the words of a column's name, in the singular.
var columnUnits = map[string][]string{
	"price": money, "cost": money, "salary": money, "budget": money, "revenue": money, "fee": money, "income": money,
	"sale": money, "sales": money, "earning": money, "earnings": money, "money": money, "payment": money, "balance": money,
	"wage": money,
	"tax":  money, "profit": money, "expense": money, "spending": money, "gdp": money,
	"gnp": money, "charge": money, "deposit": money, "debt": money, "loan": money, "fare": money, "rent": money,
	"usd": {"USD"}, "eur": {"EUR"}, "dollar": {"USD"}, "euro": {"EUR"},
	"weight": {"kg"}, "mass": {"kg"}, "kg": {"kg"}, "gram": {"g"}, "lb": {"lb"},
	"distance": {"km"}, "mileage": {"km"}, "km": {"km"}, "mile": {"mi"},
	"height": {"m"}, "altitude": {"m"}, "elevation": {"m"}, "length": {"m"}, "depth": {"m"}, "width": {"m"}, "cm": {"cm"},
	"mm": {"mm"}, "meter": {"m"}, "metre": {"m"}, "feet": {"ft"}, "foot": {"ft"}, "inch": {"in"},
	"duration": {"min"}, "minute": {"min"}, "runtime": {"min"}, "hour": {"h"}, "millisecond": {"ms"}, "ms": {"ms"},
	"temperature": {"°C"}, "percent": {"%"}, "percentage": {"%"}, "pct": {"%"},
}

var money = []string{"USD", "EUR"}

// unitless are words of names whose numbers have no unit, whatever their other words are.
var unitless = []string{
	"id", "count", "number", "num", "no", "rank", "code", "index", "year", "date", "share", "ratio", "level", "category",
	"type", "million", "billion", "thousand", "per",
}

// unitsOf lists the units that fit the name of a column, nil if the name implies no unit or several.
func unitsOf(column string) []string {
	if strings.ContainsAny(column, "*/+") {
		return nil // a computed number may have another unit
	}
	var units []string
	for _, word := range english.NameWords(column) {
		singular := english.SingularWord(word)
		if slices.Contains(unitless, word) || slices.Contains(unitless, singular) {
			return nil
		}
		found := columnUnits[singular]
		if found == nil {
			found = columnUnits[word]
		}
		if found != nil && units != nil && !slices.Equal(found, units) {
			return nil
		}
		if found != nil {
			units = found
		}
	}
	return units
}
