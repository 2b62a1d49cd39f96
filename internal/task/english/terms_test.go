package english

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"function_987":                         "function 987",
		"getHTTPStatus_2":                      "get http status 2",
		"getSchoolsByCity":                     "get school by city",
		"Names of the employees' dogs":         "name of the employee dog",
		"bus status glass is us gas":           "bus status glass is us gas",
		"categories, queries; houses? series!": "category query house sery",
		"T1.age >= 19.6":                       "t 1 age 19 6",
		"/v1/hr_1/employees":                   "v 1 hr 1 employee",
		"Éclairs à l'orange":                   "éclair à l orange",
		"東京の station3":                         "東 京 の station 3",
		"ABC":                                  "abc",
		"aB":                                   "a b",
		"\xff\xfe x":                           "x",
	} {
		if got := strings.Join(Terms(text), " "); got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

// FuzzTerms: words contain letters, marks or digits alone, are in lower case, occur in the text, and are terms of
// themselves.
func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"getHTTPStatus_2", "Names of the employees' dogs", "東京の station3", "\xff\xfe x",
		"İSTANBUL's ǅ", "aǅb", "x\u0301s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list := Terms(text)
		lower := strings.ToLower(text)
		for _, w := range list {
			if w == "" || !utf8.ValidString(w) {
				t.Fatalf("%q gives %q", text, w)
			}
			for _, r := range w {
				if classOf(r) == classNone || unicode.ToLower(r) != r {
					t.Fatalf("%q gives %q with %q in it", text, w, r)
				}
			}
			if utf8.ValidString(text) && !strings.Contains(lower, strings.TrimSuffix(w, "y")) {
				t.Fatalf("%q returns %q, which is not in it", text, w)
			}
		}
		letters := strings.ContainsFunc(text, func(r rune) bool { return r != utf8.RuneError && classOf(r) != classNone })
		if letters != (len(list) > 0) {
			t.Fatalf("%q gives %v", text, list)
		}
		if again := Terms(strings.Join(list, " ")); len(again) < len(list) {
			t.Fatalf("%q gives %v, and that %v", text, list, again)
		}
		if !slices.Equal(list, Terms(text+" ")) {
			t.Fatalf("%q and a blank give other words", text)
		}
	})
}
