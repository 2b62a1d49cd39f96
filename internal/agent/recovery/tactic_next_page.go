package recovery

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
	"github.com/seatrial/seatrial/internal/task/english"
)

var nextPageTactic = &tactic{
	TacticInfo: TacticInfo{"next-page",
		"the result has a cursor: asks for page after page, and joins them"},
	complete: func(s *sign) (remedy, bool) {
		cursor := s.f.cursor
		if cursor == nil || !s.f.table || !s.p.readsRows(s.j) {
			return remedy{}, false
		}
		tool, argument := s.p.pager(s.f.cursorName)
		if tool == "" {
			return remedy{}, false
		}
		p, f := s.p, s.f
		return remedy{ask: &question{
			tool: tool, arguments: map[string]any{argument: cursor},
			heard: func(o *task.Observation) (remedy, bool) {
				page, ok := p.findIn(o.Content, f.doc)
				if !ok || !page.table || page.cursor == cursor {
					return remedy{}, false
				}
				return remedy{}, f.append(page)
			},
		}}, true
	},
}

// readCursor finds the cursor next to the rows.
func (f *finding) readCursor() {
	for _, m := range f.beside("cursor", "page_token", "continuation", "next_page") {
		switch v := m.Value.(type) {
		case string:
			if v != "" {
				f.cursor, f.cursorName = v, m.Name
				return
			}
		case int64:
			f.cursor, f.cursorName = v, m.Name
			return
		}
	}
}

// pager finds the tool that takes a cursor, and the argument that it takes it as: the only required one, with a name of
// words of the cursor's field. It prefers a tool that speaks of pages or cursors.
func (p *Policy) pager(field string) (tool, argument string) {
	words, spoken := english.NameWords(field), false
	for _, t := range p.view.Tools {
		if t.Parameters == nil || len(t.Parameters.Required) != 1 {
			continue
		}
		only := t.Parameters.Required[0]
		if slices.ContainsFunc(english.NameWords(only), func(w string) bool { return !slices.Contains(words, w) }) {
			continue
		}
		about := strings.ToLower(t.Name + " " + t.Description)
		speaks := strings.Contains(about, "page") || strings.Contains(about, "cursor")
		if tool == "" || speaks && !spoken {
			tool, argument, spoken = t.Name, only, speaks
		}
	}
	return tool, argument
}
