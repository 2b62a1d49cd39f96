package condition

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/seatrial/seatrial/internal/task"
)

// toolPage is the companion of out.truncated.
const toolPage = "next_page"

// truncated is out.truncated: the first page alone is handed over, with a cursor for the next.
type truncated struct {
	target
	Size int `json:"size"` // of a page, in rows
}

const fieldCursor = "next_cursor"

func (f *truncated) place(p *placement) *Refusal {
	s, refused := p.choose(func(s *site) string {
		switch {
		case !s.delivers():
			return reasonNoRows
		case s.rows < 2:
			return reasonFewRows
		default:
			return ""
		}
	})
	if refused != nil {
		return refused
	}
	f.Tool = s.tool.Name
	f.Size = (s.rows + 1) / 2
	if s.rows > 8 && p.draw("size").IntN(2) == 0 {
		f.Size = (s.rows + 3) / 4
	}
	return nil
}

func (f *truncated) inBounds() bool { return f.Size > 0 }

func (f *truncated) make(in FaultInput, m *made) error {
	m.pager(in, f)
	switch f.Variant {
	case VariantLookalike:
		m.step(&remark{target: &f.target, fields: []Field{{"page", number(1)}, {fieldCursor, json.RawMessage("null")}}})
	case VariantFault:
		m.step(f)
	}
	return nil
}

// pager adds the companion, once, and tells it of one more tool whose results are divided.
func (m *made) pager(in FaultInput, f *truncated) {
	if m.companion(companionTool(in, toolPage, "Gives the next page of a result that was too long for one.",
		[2]string{"cursor", "The cursor that stood beside the page before."})) {
		m.step(&pager{name: f.name, divides: map[string]*truncated{}})
	}
	for _, s := range m.steps {
		if all, ok := s.(*pager); ok {
			all.divides[f.Tool] = f
		}
	}
}

// Divide is that of [PageStep].
func (f *truncated) Divide(c *Call, whole Payload) (Payload, *Decision) {
	if !f.hits(c) {
		return whole, nil
	}
	if len(whole.Result.Rows) <= f.Size {
		return whole, &Decision{}
	}
	return f.page(c.Label, whole, 0), applied(Field{"delivered", number(f.Size)},
		Field{"of", number(len(whole.Result.Rows))})
}

// page gives a page, from 0, of the result of a call.
func (f *truncated) page(label string, whole Payload, n int) Payload {
	from := n * f.Size
	to := min(from+f.Size, len(whole.Result.Rows))
	cursor := json.RawMessage("null")
	if to < len(whole.Result.Rows) {
		cursor = jsonText(label + "/" + strconv.Itoa(n+1))
	}
	return whole.withRows(whole.Result.Rows[from:to:to]).with("page", number(n+1)).with(fieldCursor, cursor)
}

// pager answers calls to the companion: a cursor names the call whose result was divided, and a page.
type pager struct {
	name    string
	divides map[string]*truncated // by tool; fixed before the first call
}

// Name is that of the condition.
func (s *pager) Name() string { return s.name }

// Serves is that of [Companion].
func (*pager) Serves(tool string) bool { return tool == toolPage }

// Answer is that of [Companion].
func (s *pager) Answer(c *Call, whole func(string) (string, Payload, bool)) (Payload, *task.ToolError, *Decision) {
	values, mistake := companionArguments(c, "cursor")
	if mistake != nil {
		return Payload{}, mistake, nil
	}
	label, page, _ := strings.Cut(values[0], "/")
	n, err := strconv.Atoi(page)
	tool, p, ok := whole(label)
	f := s.divides[tool]
	if err != nil || !ok || f == nil || n < 1 || n > len(p.Result.Rows) || n*f.Size >= len(p.Result.Rows) {
		return Payload{}, &task.ToolError{
			Code: task.CodeBadArguments, Message: "There is no page under the cursor " + string(jsonText(values[0])) + ".",
		}, nil
	}
	return f.page(label, p, n), nil, applied(Field{"page", number(n + 1)})
}
