package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/agent/protocol"
	"github.com/seatrial/seatrial/internal/diag"
	"github.com/seatrial/seatrial/internal/task"
	"github.com/spf13/cobra"
)

// maxReplyLine bounds a line of replies, in bytes.
const maxReplyLine = 64 << 20

func (a *app) readCommand() *cobra.Command {
	name := ""
	var known []string
	for _, p := range protocol.List() {
		known = append(known, p.Name)
	}
	cmd := &cobra.Command{
		Use:   "read [FILE]",
		Short: "Show how a protocol reads replies of models",
		Long: "Reads replies as a protocol would, and prints what each means. No model is asked and nothing is called.\n\n" +
			"Input: JSON Lines, from FILE or standard input, a reply a line with these fields; others are ignored.\n\n" +
			"  id      any text, repeated in the output\n" +
			"  text    the reply\n" +
			"  tools   the tools on offer: {name, description, parameters}, parameters as JSON Schema\n" +
			"  native  native calls: {id, name, arguments}, arguments as text or as an object\n" +
			"  finish  why the reply ended; \"length\" means that it was cut\n\n" +
			"Output: JSON Lines in the same order.\n\n" +
			"  id        as in the input\n" +
			"  calls     the calls: {tool, arguments}\n" +
			"  answer    the answer, as JSON\n" +
			"  judge     true if the reply says that the request can be met, false if it says that it cannot\n" +
			"  decline   the reason of a reply that declines\n" +
			"  code      the block of Python to run; solution is true if it leaves the answer\n" +
			"  unread    parts that were not read or not acted on: {reason, text}\n\n" +
			"Protocols: " + strings.Join(known, ", ") + ".",
		Example: `  echo '{"id": "1", "text": "[TOOL_CALLS]get_time[ARGS]{\"city\": \"Oslo\"}", "tools": [{"name": "get_time"}]}' |` +
			"\n    seatrial read --protocol tools",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if name == "" {
				return diag.Usagef("--protocol is missing").WithHint("--protocol tools")
			}
			in, file := a.In, "standard input"
			if len(args) == 1 && args[0] != "-" {
				opened, err := os.Open(args[0])
				if err != nil {
					return diag.Usagef("%v", err).WithHint("seatrial read --help")
				}
				defer func() { _ = opened.Close() }()
				in, file = opened, args[0]
			}
			lines, err := readReplies(in, file, name)
			if err != nil {
				return err
			}
			for _, line := range lines {
				a.printf("%s\n", line)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&name, "protocol", "", "the protocol that reads the replies")
	return cmd
}

// replyLine is a line of the input of `read`.
type replyLine struct {
	ID    json.RawMessage `json:"id"`
	Text  string          `json:"text"`
	Tools []struct {
		Name        string       `json:"name"`
		Description string       `json:"description"`
		Parameters  *task.Schema `json:"parameters"`
	} `json:"tools"`
	Native []struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"native"`
	Finish string `json:"finish"`
}

// readReplies reads every line before it returns any, so that bad input prints nothing else.
func readReplies(in io.Reader, file, name string) ([][]byte, error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxReplyLine)
	var out [][]byte
	number := 0
	fault := func(err error) error {
		e := &diag.Error{Exit: diag.ExitUsage, Message: "this is not a reply", Cause: err,
			Hint: "a JSON object a line; seatrial read --help"}
		e.Position = diag.Position{File: file, Line: number}
		return e
	}
	for lines.Scan() {
		number++
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		var line replyLine
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fault(err)
		}
		read, err := protocol.Interpret(name, line.reply(), line.tools())
		if err != nil {
			return nil, err
		}
		text, err := task.Marshal(struct {
			ID json.RawMessage `json:"id,omitempty"`
			*protocol.Interpretation
		}{line.ID, read})
		if err != nil {
			return nil, fault(err)
		}
		out = append(out, text)
	}
	number++
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fault(errors.New("the line is too long"))
	} else if err != nil {
		return nil, fault(err)
	}
	return out, nil
}

func (l *replyLine) reply() *model.Reply {
	m := model.Message{Role: model.RoleAssistant, Content: l.Text}
	for _, call := range l.Native {
		arguments := string(call.Arguments)
		var text string
		if json.Unmarshal(call.Arguments, &text) == nil {
			arguments = text
		}
		m.ToolCalls = append(m.ToolCalls, model.ToolCall{ID: call.ID, Name: call.Name, Arguments: arguments})
	}
	return &model.Reply{Message: m, Finish: l.Finish}
}

func (l *replyLine) tools() []*task.Tool {
	list := make([]*task.Tool, len(l.Tools))
	for i, t := range l.Tools {
		list[i] = &task.Tool{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
		if t.Parameters == nil {
			list[i].Parameters = &task.Schema{Types: []string{"object"}}
		}
	}
	return list
}
