package protocol

import (
	"encoding/json"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// Asked returns what the model was sent since the last call of Asked: instructions, specifications and messages,
// without its own replies.
func (c *Conversation) Asked() []task.Message {
	var list []task.Message
	if c.reported == 0 && c.request.System != "" {
		list = append(list, task.Message{Role: model.RoleSystem, Content: c.request.System})
	}
	if len(c.request.Tools) != c.offered {
		c.offered = len(c.request.Tools)
		if text, err := json.Marshal(c.request.Tools); err == nil { // a request that was sent could be encoded
			list = append(list, task.Message{Role: model.RoleTools, Content: string(text)})
		}
	}
	for ; c.reported < len(c.request.Messages); c.reported++ {
		if m := &c.request.Messages[c.reported]; m.Role != model.RoleAssistant {
			list = append(list, task.Message{Role: m.Role, Content: m.Content})
		}
	}
	return list
}
