package report

import (
	"slices"
	"strconv"
)

// csvNames are the columns of the CSV form that values of named tables go into, where they have another name there.
var csvNames = map[string]string{
	"rate_ci95_low": "ci95_low", "rate_ci95_high": "ci95_high", "rate_ci95_method": "ci95_method",
	"paired_difference_ci95_low": "paired_low", "paired_difference_ci95_high": "paired_high",
	"paired_difference_ci95_method": "paired_method",
}

// csvAspect is the column that says by what faulted episodes are grouped.
const csvAspect = "by"

// csvLines gives a line for each element of the lists, and the columns that they need beside those of every report.
func (r *Robustness) csvLines() (lines []map[string]string, columns []string) {
	columns = []string{csvAspect}
	add := func(name string, t Table, summary func(i int) *Summary) {
		keys := t.keys()
		for i, record := range t.Records {
			l := map[string]string{"table": name}
			if s := summary(i); s != nil {
				s.csvFields(l)
			}
			for _, key := range keys {
				column := key
				if other, renamed := csvNames[key]; renamed {
					column = other
				}
				if !slices.Contains(csvHeader, column) && !slices.Contains(columns, column) {
					columns = append(columns, column)
				}
				l[column] = csvText(record[key])
			}
			lines = append(lines, l)
		}
	}
	none := func(int) *Summary { return nil }
	add("faults", faultedTable("", r.Faults, ByHazard, ByKind, ByWorkflow, ByBackup),
		func(i int) *Summary { return &r.Faults[i].Summary })
	for i := range r.Faults {
		lines[i][csvAspect] = r.Faults[i].By
	}
	reactions := reactionTable("", r.Faults)
	add("reactions", reactions, none)
	for i := range r.Faults {
		for column, text := range lines[len(r.Faults)+i] {
			if lines[i][column] == "" {
				lines[i][column] = text
			}
		}
	}
	lines = lines[:len(r.Faults)]
	add("harmless", harmlessTable("", r.Harmless, ByHazard, ByKind),
		func(i int) *Summary { return &r.Harmless[i].Summary })
	add("hopeless", hopelessTable("", r.Hopeless), func(i int) *Summary { return &r.Hopeless[i].Summary })
	add("hints", hintTable("", r.Hints), none)
	add("volume", volumeTable("", r.Volume), none)
	add("tactics", tacticTable("", r.Tactics), none)
	return lines, columns
}

// csvText writes a value of a record, unrounded.
func csvText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case float64:
		return exact(&v)
	default:
		return ""
	}
}
