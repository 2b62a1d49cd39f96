package rest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/seatrial/seatrial/internal/sql/schema/schematest"
	"github.com/seatrial/seatrial/internal/sql/sqlast"
	"github.com/seatrial/seatrial/internal/task"
)

// script is a writer that gives, for the endpoint that a prompt names, one reply after the other. It notes what it was
// asked.
type script struct {
	replies map[string][]string // by derived name; the last is repeated
	fail    string              // derived name at which it fails

	mu    sync.Mutex
	asked map[string][]string // prompts by derived name
}

func (s *script) Write(_ context.Context, prompt string) (string, error) {
	_, rest, _ := strings.Cut(prompt, `"name":"`)
	for strings.HasPrefix(rest, "...") || rest == "" {
		_, rest, _ = strings.Cut(rest, `"name":"`)
	}
	name, _, _ := strings.Cut(rest, `"`)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil {
		s.asked = map[string][]string{}
	}
	if name == s.fail {
		return "", errors.New("no answer")
	}
	at := len(s.asked[name])
	s.asked[name] = append(s.asked[name], prompt)
	replies := s.replies[name]
	if len(replies) == 0 {
		return "I would rather not.", nil
	}
	return replies[min(at, len(replies)-1)], nil
}

func (s *script) calls() int {
	n := 0
	for _, list := range s.asked {
		n += len(list)
	}
	return n
}

// writtenLibrary names four endpoints.
func writtenLibrary(t *testing.T) (*Library, []*Draft) {
	t.Helper()
	db := schematest.Parse(t, "music", "singer(id INTEGER, name TEXT, age INTEGER, country TEXT)")
	library := NewLibrary()
	var drafts []*Draft
	for _, sql := range []string{
		"SELECT name FROM singer WHERE country = 'New Zealand' AND age > 41",
		"SELECT name FROM singer WHERE country = 'Chile' AND age > 42",
		"SELECT count(*) FROM singer WHERE country = '+'",
		"SELECT max(age) FROM singer",
		"SELECT id FROM singer WHERE name = 'Zoë'",
	} {
		q, err := sqlast.Parse(sql, db)
		if err != nil {
			t.Fatal(err)
		}
		d := Compile(q)
		library.Add(d)
		drafts = append(drafts, d)
	}
	library.Name()
	return library, drafts
}

const (
	byCountryAndAge = "get_singer_names_by_age_and_country"
	countByCountry  = "count_singers_by_country"
	highestAge      = "get_highest_singer_age"
	idsByName       = "get_singer_ids_by_name"
)

var good = map[string]string{
	byCountryAndAge: `{"name": "list_singers_of_country_above_age", "summary": "Lists the names of a country's singers above an age.",
		"parameters": {"age_above": "Age in years that singers must exceed.", "country": "Country that singers must be from."}}`,
	countByCountry: `{"name": "count_country_singers", "summary": "Counts the singers of a country.", "parameters": {"country": "Country of the singers."}}`,
	highestAge:     `{"name": "get_oldest_age", "summary": "Gives the age of the oldest singer", "parameters": {}}`,
	idsByName:      `{"name": "find_singer_ids", "summary": "Finds the ids of singers of a name.", "parameters": {"name": "Name in full."}}`,
}

func rewrite(t *testing.T, l *Library, r Rewrite) ([]*task.Tool, []Written) {
	t.Helper()
	tools, written, err := l.Rewrite(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	checkEndpoints(t, tools)
	return tools, written
}

func TestRewrite(t *testing.T) {
	library, drafts := writtenLibrary(t)
	held := drafts[0].Direct[0].Function.Tool
	replies := map[string][]string{}
	for name, text := range good {
		replies[name] = []string{text}
	}
	writer := &script{replies: replies}
	tools, written := rewrite(t, library, Rewrite{Writer: writer, Name: "test/good", Workers: 3})
	if len(written) != 4 || writer.calls() != 4 {
		t.Fatalf("%d records, %d calls: %+v", len(written), writer.calls(), written)
	}
	for _, w := range written {
		if !w.Accepted || w.Attempts != 1 || w.Complaint != "" || w.Writer != "test/good" || w.Key == "" {
			t.Errorf("%+v", w)
		}
	}
	if held.Name != "list_singers_of_country_above_age" || held.Path != "/v1/music/list_singers_of_country_above_age" {
		t.Errorf("the tool is called %s at %s", held.Name, held.Path)
	}
	if !strings.HasPrefix(held.Description,
		"Lists the names of a country's singers above an age. Returns names of singers where country is `country`") {
		t.Errorf("described as %s", held.Description)
	}
	if got := held.Parameters.Property("country").Description; got != "Country that singers must be from." {
		t.Errorf("country is described as %s", got)
	}
	for _, d := range drafts[:2] {
		if got := d.Plans()[0].Calls[0].Tool; got != held.Name {
			t.Errorf("the plan calls %s", got)
		}
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("the tools stand as %v", names)
	}
	for _, prompts := range writer.asked {
		for _, secret := range []string{"Zealand", "Chile", "Zoë", "41", "42"} {
			if strings.Contains(prompts[0], secret) {
				t.Errorf("the prompt tells %s: %s", secret, prompts[0])
			}
		}
	}
	// What was written is a cache: a writer that only fails is not asked.
	again, _ := writtenLibrary(t)
	second, rewritten := rewrite(t, again, Rewrite{Writer: &script{fail: byCountryAndAge}, Name: "test/good",
		Cache: written})
	if fmt.Sprint(rewritten) != fmt.Sprint(written) || marshal(t, second) != marshal(t, tools) {
		t.Errorf("from the cache:\n%v\nwritten:\n%v", rewritten, written)
	}
	// Another writer's cache is no cache.
	other, _ := writtenLibrary(t)
	unused := &script{}
	if _, list := rewrite(t, other, Rewrite{Writer: unused, Name: "test/other",
		Cache: written}); unused.calls() != 4*writerAttempts || list[0].Accepted {
		t.Errorf("%d calls, %+v", unused.calls(), list[0])
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := task.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRewriteRefuses lets a writer lie about one endpoint in every way, three times.
func TestRewriteRefuses(t *testing.T) {
	reply := func(name, summary, age, country string) string {
		return fmt.Sprintf(`{"name": %q, "summary": %q, "parameters": {"age_above": %q, "country": %q}}`, name, summary, age,
			country)
	}
	const fine = "A fine text."
	for name, test := range map[string]struct{ reply, complaint string }{
		"prose":             {"Sure! Here is the text:\n" + good[byCountryAndAge], complainForm},
		"prose behind":      {good[byCountryAndAge] + "\nI hope this helps.", complainForm},
		"fence":             {"```json\n" + good[byCountryAndAge] + "\n```", complainForm},
		"two objects":       {good[byCountryAndAge] + good[byCountryAndAge], complainForm},
		"nothing":           {"", complainForm},
		"list":              {"[" + good[byCountryAndAge] + "]", complainForm},
		"no name":           {`{"summary": "x", "parameters": {"age_above": "x", "country": "x"}}`, complainForm},
		"no parameters":     {`{"name": "list_them", "summary": "x"}`, complainForm},
		"another field":     {`{"name": "list_them", "summary": "x", "parameters": {"age_above": "x", "country": "x"}, "path": "/"}`, complainForm},
		"number":            {`{"name": 3, "summary": "x", "parameters": {"age_above": "x", "country": "x"}}`, complainForm},
		"missing parameter": {`{"name": "list_them", "summary": "x", "parameters": {"country": "x"}}`, complainParameters},
		"wrong parameter": {`{"name": "list_them", "summary": "x", "parameters": {"age": "x", "country": "x"}}`,
			complainParameters},
		"more parameters":   {`{"name": "list_them", "summary": "x", "parameters": {"age_above": "x", "country": "x", "limit": "x"}}`, complainParameters},
		"capitals":          {reply("listThem", fine, fine, fine), complainName},
		"spaces":            {reply("list them", fine, fine, fine), complainName},
		"digit first":       {reply("1_list", fine, fine, fine), complainName},
		"long name":         {reply("list_"+strings.Repeat("x", 60), fine, fine, fine), complainName},
		"empty name":        {reply("", fine, fine, fine), complainName},
		"other's name":      {reply(countByCountry, fine, fine, fine), complainTaken},
		"other's path":      {reply("get_singer_count_by_country", fine, fine, fine), complainTaken},
		"empty summary":     {reply("list_them", " ", fine, fine), complainSummary},
		"long summary":      {reply("list_them", strings.Repeat("x", 201), fine, fine), complainSummary},
		"two sentences":     {reply("list_them", "One. Two.", fine, fine), complainSummary},
		"two lines":         {reply("list_them", "One\ntwo", fine, fine), complainSummary},
		"empty description": {reply("list_them", fine, "", fine), complainDescription},
		"long description":  {reply("list_them", fine, strings.Repeat("x", 401), fine), complainDescription},
		"literal":           {reply("list_them", "Lists singers of New Zealand.", fine, fine), complainLeak},
		"other literal":     {reply("list_them", "Lists singers.", fine, "Country, for example CHILE."), complainLeak},
		"part of a literal": {reply("list_them", "Lists singers.", fine, "Country such as Zealand."), complainLeak},
		"literal in a name": {reply("list_singers_from_chile", fine, fine, fine), complainLeak},
		"number's value":    {reply("list_them", fine, "Age, 41 by default.", fine), complainLeak},
		"answer":            {reply("list_them", "Lists singers such as Ana Ortiz.", fine, fine), complainLeak},
		"answer's number":   {reply("list_them", "Lists all 17 of them.", fine, fine), complainLeak},
	} {
		t.Run(name, func(t *testing.T) {
			library, drafts := writtenLibrary(t)
			before := marshal(t, drafts[0].Direct[0].Function.Tool)
			writer := &script{replies: map[string][]string{byCountryAndAge: {test.reply}}}
			answers := map[string][]task.Value{byCountryAndAge: {"Ana Ortiz", int64(17), nil}}
			_, written := rewrite(t, library, Rewrite{Writer: writer, Name: "test/bad", Answers: answers})
			w := written[3] // in the order of derived names
			if w.Complaint != test.complaint || w.Accepted || w.Attempts != writerAttempts || w.Name != "" || w.Summary != "" ||
				w.Parameters != nil {
				t.Errorf("%+v", w)
			}
			asked := writer.asked[byCountryAndAge]
			if len(asked) != writerAttempts || strings.Contains(asked[0], "refused") || !strings.Contains(asked[1],
				test.complaint) {
				t.Errorf("%d prompts, the second %s", len(asked), asked[1][len(asked[1])-200:])
			}
			if after := marshal(t, drafts[0].Direct[0].Function.Tool); after != before {
				t.Errorf("%s became %s", before, after)
			}
		})
	}
}

// TestRewriteTakesTheSecondReply refuses a first reply and takes the next.
func TestRewriteTakesTheSecondReply(t *testing.T) {
	library, drafts := writtenLibrary(t)
	writer := &script{replies: map[string][]string{
		byCountryAndAge: {"hm", good[byCountryAndAge]}, countByCountry: {strings.Replace(good[countByCountry],
			"of a country.", "of '+'.", 1), good[countByCountry]},
		highestAge: {good[highestAge]}, idsByName: {strings.Replace(good[idsByName], "in full", "such as ZOË", 1), "no",
			good[idsByName]},
	}}
	_, written := rewrite(t, library, Rewrite{Writer: writer, Name: "w", Workers: 2})
	attempts := map[string]int{}
	for _, w := range written {
		if !w.Accepted {
			t.Errorf("%+v", w)
		}
		attempts[w.Name] = w.Attempts
	}
	want := map[string]int{"list_singers_of_country_above_age": 2, "count_country_singers": 2, "get_oldest_age": 1,
		"find_singer_ids": 3}
	if !maps.Equal(attempts, want) {
		t.Errorf("%v, want %v", attempts, want)
	}
	if got := drafts[2].Plans()[0].Calls[0].Tool; got != "count_country_singers" {
		t.Errorf("the plan calls %s", got)
	}
}

// TestRewriteKeepsNamesApart returns all endpoints one name: the first in order has it, at any number of workers.
func TestRewriteKeepsNamesApart(t *testing.T) {
	var first string
	for workers := range 6 {
		library, _ := writtenLibrary(t)
		replies := map[string][]string{}
		for name, text := range good {
			_, rest, _ := strings.Cut(text, `",`)
			replies[name] = []string{`{"name": "list_singers", ` + rest}
		}
		_, written := rewrite(t, library, Rewrite{Writer: &script{replies: replies}, Name: "w", Workers: workers})
		accepted := 0
		for _, w := range written {
			if w.Accepted {
				accepted++
			} else if w.Complaint != complainTaken {
				t.Errorf("%+v", w)
			}
		}
		if accepted != 1 || !written[0].Accepted {
			t.Errorf("%d endpoints are called list_singers", accepted)
		}
		if text := marshal(t, written); first == "" {
			first = text
		} else if text != first {
			t.Errorf("%d workers wrote %s, one %s", workers, text, first)
		}
	}
}

// TestRewriteForgetsStaleCache offers a cached text that would leak a literal: the writer is asked instead.
func TestRewriteForgetsStaleCache(t *testing.T) {
	library, _ := writtenLibrary(t)
	replies := map[string][]string{}
	for name, text := range good {
		replies[name] = []string{text}
	}
	_, written := rewrite(t, library, Rewrite{Writer: &script{replies: replies}, Name: "w"})
	for i := range written {
		if written[i].Name == "count_country_singers" {
			written[i].Summary = "Counts the singers of '+'."
		}
	}
	again, _ := writtenLibrary(t)
	writer := &script{replies: replies}
	_, rewritten := rewrite(t, again, Rewrite{Writer: writer, Name: "w", Cache: written})
	if writer.calls() != 1 || len(writer.asked[countByCountry]) != 1 {
		t.Errorf("asked %v", slices.Collect(maps.Keys(writer.asked)))
	}
	for _, w := range rewritten {
		if strings.Contains(w.Summary, "+") {
			t.Errorf("%+v", w)
		}
	}
}

// TestRewriteFails passes on the writer's failure with what is settled.
func TestRewriteFails(t *testing.T) {
	library, _ := writtenLibrary(t)
	before := marshal(t, library.tools)
	writer := &script{replies: map[string][]string{highestAge: {good[highestAge]}}, fail: byCountryAndAge}
	tools, written, err := library.Rewrite(t.Context(), Rewrite{Writer: writer, Name: "w", Workers: 1})
	if err == nil || !strings.Contains(err.Error(), "no answer") || !strings.Contains(err.Error(), byCountryAndAge) {
		t.Errorf("%v", err)
	}
	if marshal(t, tools) != before {
		t.Error("a writer that failed changed the tools")
	}
	if len(written) != 1 || written[0].Name != "get_oldest_age" {
		t.Errorf("settled: %+v", written)
	}
}
