package model

import (
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/task"
)

func TestPriceLookup(t *testing.T) {
	p, err := ParsePrices("p.yaml", []byte(`
# USD per million tokens
prices:
  - prefix: openai/
    input: 1
    output: 2
  - {prefix: openai/big-, input: 10, output: 20.5, cached: 0.25}
  - model: openai/big-one
    input: 0
    output: 100
`))
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]Price{
		"openai/small":     {1, 2, 1},
		"openai/big-two":   {10, 20.5, 0.25},
		"openai/big-one":   {0, 100, 0},
		"openai/big-one-x": {10, 20.5, 0.25},
	} {
		if got, ok := p.Lookup(spec); !ok || got != want {
			t.Errorf("%s: %+v %v", spec, got, ok)
		}
	}
	if _, ok := p.Lookup("anthropic/big-one"); ok {
		t.Error("a price for a model of another provider")
	}
	if _, ok := (*Prices)(nil).Lookup("openai/small"); ok {
		t.Error("a price without a table")
	}
	usage := task.Usage{InputTokens: 3e5, CachedTokens: 1e5, OutputTokens: 1e4}
	cost := Price{Input: 10, Output: 100, Cached: 1}.Cost(usage)
	if cost != 2+0.1+1 {
		t.Errorf("cost %v", cost)
	}
}

func TestPriceTableErrors(t *testing.T) {
	const head = "prices:\n  - model: openai/a\n    input: 1\n"
	for text, want := range map[string]string{
		"":                                   "p.yaml: the price table is empty",
		"# nothing\n":                        "the price table is empty",
		"- 1":                                "p.yaml:1:1: the price table must be a mapping",
		"price: []":                          `did you mean "prices"`,
		"prices: 3":                          "must be a list",
		"prices: [3]":                        "p.yaml:1:10: a price must be a mapping",
		head + "    outptu: 1":               `p.yaml:4:5: unknown field "outptu"`,
		head + "    output: -1":              "p.yaml:4:13: field \"output\" is negative",
		head + "    output: 012":             "begins with a zero",
		head + "    output: 0x10":            "must be a number",
		head + "    output: .inf":            "must be a number",
		head + "    output: 1_0":             "must be a number",
		head + "    output: \"1\"":           "must be a number",
		head + "    output: ~":               "must be a number",
		head:                                 `field "output" is missing`,
		head + "    output: 1\n    input: 1": "p.yaml:5:5",
		head + "    output: 1\n    prefix: openai/a":                       "set either model or prefix",
		"prices:\n  - input: 1":                                            "set either model or prefix",
		"prices:\n  - {model: 3, input: 1, output: 1}":                     "must be text",
		"prices:\n  - {model: opnai/x, input: 1, output: 1}":               "unknown model provider",
		head + "    output: 1\n  - {model: openai/a, input: 1, output: 1}": "two prices",
		"prices: []\n---\nprices: []":                                      "one YAML document",
		"prices: [":                                                        "not YAML",
		"prices: &a []\nprices: *a":                                        "p.yaml",
	} {
		_, err := ParsePrices("p.yaml", []byte(text))
		if err == nil || diag.ExitCode(err) != diag.ExitUsage || !strings.Contains(diag.Render(err), want) {
			t.Errorf("%q: %s", text, diag.Render(err))
		}
	}
	_, err := ParsePrices("p.yaml", []byte("prices:\n  - {model: openai/a, input: -1, output: x}\n  - {model: openai/b}"))
	if n := strings.Count(err.Error(), "p.yaml:"); n != 4 {
		t.Errorf("%d errors were reported, want 4:\n%v", n, err)
	}
}

func FuzzPrices(f *testing.F) {
	f.Add([]byte(dearTable))
	f.Add([]byte("prices: [{model: openai/a, input: 1, output: 0.5, cached: .1}]"))
	f.Add([]byte("prices:\n- model: 'openai/a'\n  input: 012\n  output: 1e3"))
	f.Add([]byte("a: &x [*x]\n<<: *x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ParsePrices("p.yaml", data)
		if err != nil {
			if diag.ExitCode(err) != diag.ExitUsage || !strings.Contains(err.Error(), "p.yaml") {
				t.Errorf("an error without its place or code: %v", err)
			}
			return
		}
		for spec, price := range p.exact {
			if got, ok := p.Lookup(spec); !ok || got != price {
				t.Errorf("%s is not found", spec)
			}
		}
		for _, e := range p.prefixes {
			got, ok := p.Lookup(e.prefix)
			if _, exact := p.exact[e.prefix]; !ok || !exact && got != e.price {
				t.Errorf("%s is not found", e.prefix)
			}
			if !(e.price.Input >= 0 && e.price.Output >= 0 && e.price.Cached >= 0) {
				t.Errorf("%s costs %+v", e.prefix, e.price)
			}
		}
	})
}
