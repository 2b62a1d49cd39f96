package recovery

import (
	"slices"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
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
				f.append(page)
				return remedy{}, true
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

// pager finds the tool that takes a cursor, and the argument that it takes it as.
func (p *Policy) pager(field string) (tool, argument string) {
	at := slices.IndexFunc(p.view.Tools, func(t *task.Tool) bool {
		return t.Parameters != nil && len(t.Parameters.Required) == 1 && strings.Contains(field, t.Parameters.Required[0])
	})
	if at < 0 {
		return "", ""
	}
	return p.view.Tools[at].Name, p.view.Tools[at].Parameters.Required[0]
}
