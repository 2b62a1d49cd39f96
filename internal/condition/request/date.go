package request

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// date is a day.
type date struct{ year, month, day int }

var (
	isoDate    = regexp.MustCompile(`^([0-9]{4})-([0-9]{2})-([0-9]{2})$`)
	monthNames = []string{
		"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
		"December",
	}
	monthText = `(Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)`
	// Each form has the groups that order names: y, m (digits or a name) and d.
	dateForms = []struct {
		text  *regexp.Regexp
		order string
	}{
		{regexp.MustCompile(`(?i)\b` + monthText + ` +([0-9]{1,2})(?:st|nd|rd|th)?,? +([0-9]{4})\b`), "mdy"},
		{regexp.MustCompile(`(?i)\b([0-9]{1,2})(?:st|nd|rd|th)? +(?:of +)?` + monthText + `,? +([0-9]{4})\b`), "dmy"},
		{regexp.MustCompile(`\b([0-9]{4})[/.]([0-9]{1,2})[/.]([0-9]{1,2})\b`), "ymd"},
		{regexp.MustCompile(`\b([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})\b`), "ymd"},
		{regexp.MustCompile(`\b([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\b`), "mdy"},
		{regexp.MustCompile(`\b([0-9]{1,2})/([0-9]{1,2})/([0-9]{4})\b`), "dmy"},
		{regexp.MustCompile(`\b([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})\b`), "dmy"},
	}
)

// readDate reads a day as databases write it: 2021-03-07.
func readDate(text string) (date, bool) {
	m := isoDate.FindStringSubmatch(text)
	if m == nil {
		return date{}, false
	}
	d := date{atoi(m[1]), atoi(m[2]), atoi(m[3])}
	return d, d.valid()
}

func (d date) valid() bool {
	t := time.Date(d.year, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	return d.year > 0 && t.Year() == d.year && int(t.Month()) == d.month && t.Day() == d.day
}

// atoi reads digits that an expression has matched.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// monthOf reads the name of a month or its beginning, 0 for anything else.
func monthOf(s string) int {
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	for i, name := range monthNames {
		if name = strings.ToLower(name); s == name || s == name[:3] || s == "sept" && i == 8 {
			return i + 1
		}
	}
	return 0
}

// dated is a day that a text gives.
type dated struct {
	start, end int
	date       date
}

// dates finds the days of a text. What can be read in two orders is given twice.
func dates(text string) []dated {
	var list []dated
	for _, form := range dateForms {
		for _, at := range form.text.FindAllStringSubmatchIndex(text, -1) {
			var d date
			for i, part := range form.order {
				s := text[at[2*i+2]:at[2*i+3]]
				switch part {
				case 'y':
					d.year = atoi(s)
				case 'd':
					d.day = atoi(s)
				case 'm':
					if d.month = monthOf(s); d.month == 0 {
						d.month = atoi(s)
					}
				}
			}
			if d.valid() {
				list = append(list, dated{at[0], at[1], d})
			}
		}
	}
	return list
}

// long writes a day as 7 March 2021.
func (d date) long() string { return fmt.Sprintf("%d %s %d", d.day, monthNames[d.month-1], d.year) }

// american writes a day as March 7, 2021.
func (d date) american() string {
	return fmt.Sprintf("%s %d, %d", monthNames[d.month-1], d.day, d.year)
}

// slashed writes a day as 2021/03/07.
func (d date) slashed() string { return fmt.Sprintf("%04d/%02d/%02d", d.year, d.month, d.day) }
