package toolsets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/judge/callcheck"
)

// versioned is the prefix of a category's name in the leaderboard's files.
var versioned = regexp.MustCompile(`^BFCL_v\d+_`)

// leaderboard loads the questions of the Berkeley Function Calling Leaderboard: a file for each category, with the
// possible answers in a file of the same name in their own folder.
func (l *loader) leaderboard() error {
	names, err := l.files("BFCL_v*.json")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, _, err := l.read(name)
		if err != nil {
			return err
		}
		if strings.HasPrefix(versioned.ReplaceAllString(stem(name), ""), multiTurn) {
			if err := l.severalTurns(name, data); err != nil {
				return err
			}
			continue
		}
		answers, _, err := l.read(path.Join("possible_answer", path.Base(name)))
		if err != nil {
			return err
		}
		l.category(name, versioned.ReplaceAllString(stem(name), ""), data, answers)
	}
	return nil
}

// multiTurn begins the categories whose questions name classes of tools that are described elsewhere.
const (
	multiTurn     = "multi_turn"
	multiTurnDocs = "multi_turn_func_doc"
)

// severalTurns rejects the questions of a file of dialogues: what is right depends on what the tools return. The file
// that describes their tools must exist all the same, so that a copy that lacks a part is noticed.
func (l *loader) severalTurns(name string, data []byte) error {
	if docs, err := fs.Glob(l.tree, multiTurnDocs+"/*.json"); err != nil || len(docs) == 0 {
		return diag.Usagef("there is no %s/*.json, which describes the tools of %s", multiTurnDocs, name).At(l.dir, 0, 0).
			WithHint("put the leaderboard's folder %s beside %s, or remove that file", multiTurnDocs, name)
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var q struct {
			ID    string            `json:"id"`
			Turns []json.RawMessage `json:"question"`
		}
		at := diag.Position{File: name, Line: number, Column: 1}
		if err := json.Unmarshal(line, &q); err != nil || q.ID == "" {
			l.reject(fmt.Sprintf("%s:%d", stem(name), number), ReasonRow, at, "the line is not a question with an id")
		} else {
			l.reject(q.ID, ReasonTurns, at, fmt.Sprintf("the question has %d turns", len(q.Turns)))
		}
	}
	return nil
}

// category loads one file with its answers.
func (l *loader) category(name, category string, data, answerData []byte) {
	questions, found := callcheck.ReadQuestions(name, data)
	l.unread(category, data, lineNumbers(questions, func(q *callcheck.Question) diag.Position { return q.Position }),
		found)
	answerName := path.Join("possible_answer", path.Base(name))
	entries, badAnswers := callcheck.ReadAnswers(answerName, answerData)
	answers := make(map[string]*callcheck.Answers, len(entries))
	for i := range entries {
		answers[entries[i].ID] = &entries[i]
	}
	comparison := callcheck.CategoryOf(category)
	for i := range questions {
		l.entry(category, comparison, &questions[i], answers[questions[i].ID], badAnswers)
	}
}

func (l *loader) entry(
	category string, comparison callcheck.Category, read *callcheck.Question, answers *callcheck.Answers,
	bad []diag.Diagnosis,
) {
	if len(read.Turns) != 1 {
		l.reject(read.ID, ReasonTurns, read.Position, fmt.Sprintf("the question has %d turns", len(read.Turns)))
		return
	}
	q := Question{ID: read.ID, Category: category, Messages: read.Turns[0], Position: read.Position}
	for _, f := range read.Functions {
		q.Tools = append(q.Tools, toolOf(f, string(f.Original)))
	}
	var err error
	switch {
	case len(q.Tools) == 0: // which add rejects
	case comparison == callcheck.Irrelevance:
		err = q.expect(comparison, read.Functions, nil, "")
	case comparison == callcheck.Relevance:
		q.feasible()
	case answers == nil:
		message := "no possible answer has the id of the question"
		if len(bad) > 0 {
			message += "; of those that cannot be read the first is: " + bad[0].String()
		}
		l.reject(q.ID, ReasonNoAnswers, q.Position, message)
		return
	default:
		err = q.expect(comparison, read.Functions, answers.Answers, groundTruth(answers.Original))
	}
	if err != nil {
		l.reject(q.ID, ReasonAnswers, q.Position, err.Error())
		return
	}
	l.add(q)
}

// groundTruth cuts the list of possible answers out of a line of them, byte for byte.
func groundTruth(line []byte) string {
	var entry struct {
		Truth json.RawMessage `json:"ground_truth"`
	}
	if err := json.Unmarshal(line, &entry); err != nil {
		return "" // a line that was read is JSON
	}
	return string(entry.Truth)
}

func lineNumbers[T any](list []T, at func(*T) diag.Position) map[int]bool {
	lines := make(map[int]bool, len(list))
	for i := range list {
		lines[at(&list[i]).Line] = true
	}
	return lines
}

// unread rejects the lines of a file that are not among those read, each for the first thing that is wrong with it.
func (l *loader) unread(category string, data []byte, read map[int]bool, found []diag.Diagnosis) {
	first := map[int]diag.Diagnosis{}
	for _, d := range found {
		if _, known := first[d.Line]; !known {
			first[d.Line] = d
		}
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 || read[number] {
			continue
		}
		d := first[number]
		text := d.Message
		if d.Hint != "" {
			text += " (" + d.Hint + ")"
		}
		l.reject(fmt.Sprintf("%s:%d", category, number), ReasonRow, d.Position, strings.TrimSpace(text))
	}
}
