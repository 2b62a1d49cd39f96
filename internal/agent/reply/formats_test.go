package reply

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/seatrial/seatrial/internal/agent/agenttest"
	"github.com/seatrial/seatrial/internal/agent/model"
)

// writtenCall is a call to render: two arguments, a text and a number.
type writtenCall struct {
	tool, city string
	year       int
}

func (c *writtenCall) json() string { return fmt.Sprintf(`{"city": %q, "year": %d}`, c.city, c.year) }

// formatWriters render a call in each row of [formats], in the variants that its models write. They are written by hand
// from the formats' documentation, independently of the readers.
var formatWriters = map[string][]func(*writtenCall) string{
	"tool-call-tags": {
		func(c *writtenCall) string {
			return fmt.Sprintf("<tool_call>\n{\"name\": %q, \"arguments\": %s}\n</tool_call>\n", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<tool_call>%s\n<arg_key>city</arg_key>\n<arg_value>%s</arg_value>\n<arg_key>year</arg_key>\n"+
				"<arg_value>%d</arg_value>\n</tool_call>", c.tool, c.city, c.year)
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<minimax:tool_call>\n<invoke name=%q>\n<parameter name=\"city\">%s</parameter>\n"+
				"<parameter name=\"year\">%d</parameter>\n</invoke>\n</minimax:tool_call>\n", c.tool, c.city, c.year)
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<longcat_tool_call>{\"name\": %q, \"arguments\": %s}</longcat_tool_call>", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<function_calls>%s(city=%q, year=%d)</function_calls>", c.tool, c.city, c.year)
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<tool_call>%s city=%q year=%d</tool_call>", c.tool, c.city, c.year)
		},
	},
	"function-tags": {
		func(c *writtenCall) string {
			return fmt.Sprintf("<function=%s>\n<parameter=city>\n%s\n</parameter>\n<parameter=year>\n%d\n</parameter>\n</function>\n",
				c.tool, c.city, c.year)
		},
		func(c *writtenCall) string { return fmt.Sprintf("<function=%s>%s</function>", c.tool, c.json()) },
		func(c *writtenCall) string {
			return fmt.Sprintf("<xai:function_call name=%q>\n<parameter name=\"city\">%s</parameter>\n"+
				"<parameter name=\"year\">%d</parameter>\n</xai:function_call>", c.tool, c.city, c.year)
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<steptml:invoke name=%q>\n<steptml:parameter name=\"city\">%s</steptml:parameter>"+
				"<steptml:parameter name=\"year\">%d</steptml:parameter>\n</steptml:invoke>", c.tool, c.city, c.year)
		},
	},
	"mistral": {
		func(c *writtenCall) string { return fmt.Sprintf("[TOOL_CALLS]%s[ARGS]%s", c.tool, c.json()) },
		func(c *writtenCall) string {
			return fmt.Sprintf("[TOOL_CALLS]%s[CALL_ID]a1b2c3[ARGS]%s", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("[TOOL_CALLS] [{\"name\": %q, \"arguments\": %s}]", c.tool, c.json())
		},
	},
	"deepseek": {
		func(c *writtenCall) string {
			return fmt.Sprintf("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>%s\n```json\n%s\n```<｜tool▁call▁end｜>"+
				"<｜tool▁calls▁end｜>", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>%s<｜tool▁sep｜>%s<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
				c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<｜DSML｜function_calls>\n<｜DSML｜invoke name=%q>\n"+
				"<｜DSML｜parameter name=\"city\" string=\"true\">%s</｜DSML｜parameter>\n"+
				"<｜DSML｜parameter name=\"year\" string=\"false\">%d</｜DSML｜parameter>\n</｜DSML｜invoke>\n"+
				"</｜DSML｜function_calls>", c.tool, c.city, c.year)
		},
	},
	"kimi": {func(c *writtenCall) string {
		return fmt.Sprintf("<|tool_calls_section_begin|><|tool_call_begin|>functions.%s:0<|tool_call_argument_begin|>%s"+
			"<|tool_call_end|><|tool_calls_section_end|>", c.tool, c.json())
	}},
	"gemma": {
		func(c *writtenCall) string {
			return fmt.Sprintf(`<|tool_call>call:%s{city:<|"|>%s<|"|>,year:%d}<tool_call|>`, c.tool, c.city, c.year)
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<start_function_call>call:%s{city:<escape>%s<escape>,year:%d}<end_function_call>",
				c.tool, c.city, c.year)
		},
	},
	"llama": {
		func(c *writtenCall) string {
			return fmt.Sprintf("<|python_tag|>{\"name\": %q, \"parameters\": %s}<|eom_id|>", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<|python_start|>[%s(city=%q, year=%d)]<|python_end|>", c.tool, c.city, c.year)
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<|tool_call_start|>[%s(city=%q, year=%d)]<|tool_call_end|>", c.tool, c.city, c.year)
		},
	},
	"cohere": {
		func(c *writtenCall) string {
			return fmt.Sprintf("<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": %q, \"parameters\": %s}]<|END_ACTION|>",
				c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<|action_start|><|plugin|>{\"name\": %q, \"parameters\": %s}<|action_end|>", c.tool, c.json())
		},
	},
	"functionary": {
		func(c *writtenCall) string { return fmt.Sprintf(">>>%s\n%s", c.tool, c.json()) },
		func(c *writtenCall) string {
			return fmt.Sprintf("<|from|>assistant\n<|recipient|>%s\n<|content|>%s", c.tool, c.json())
		},
	},
	"announced": {
		func(c *writtenCall) string {
			return fmt.Sprintf("functools[{\"name\": %q, \"arguments\": %s}]", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("function call<|role_sep|>\n{\"name\": %q, \"arguments\": %s}", c.tool, c.json())
		},
	},
	"harmony": {
		func(c *writtenCall) string {
			return fmt.Sprintf("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.%s "+
				"<|constrain|>json<|message|>%s<|call|>", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<|start|>assistant to=functions.%s<|channel|>commentary json<|message|>%s", c.tool, c.json())
		},
	},
	"other-token": {
		func(c *writtenCall) string {
			return fmt.Sprintf("<|tool_call|>[{\"name\": %q, \"arguments\": %s}]<|/tool_call|>", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<|brand_new_function_begin|>%s<|between|>%s<|brand_new_function_end|>", c.tool, c.json())
		},
		func(c *writtenCall) string {
			return fmt.Sprintf("<|tools_prefix|>[{%q: %s}]<|tools_suffix|>", c.tool, c.json())
		},
	},
}

// isPartOf reports whether each argument of call has its full value.
func (c *writtenCall) isPartOf(call *Call, all bool) bool {
	var got map[string]any
	if json.Unmarshal(call.Arguments, &got) != nil || call.Tool != c.tool {
		return false
	}
	want := map[string]any{"city": c.city, "year": float64(c.year)}
	if all {
		return reflect.DeepEqual(got, want)
	}
	for name, v := range got {
		if want[name] != v {
			return false
		}
	}
	return true
}

// TestFormatsReadBack renders calls in each format and reads them back. It also cuts them at every byte: no call may
// have half a value, and a reply known to be cut makes no call unless the call is complete.
func TestFormatsReadBack(t *testing.T) {
	r := NewReader(agenttest.Toolkit(t, agenttest.Tools))
	one := &writtenCall{"function_1", "Bergen on \"sea\" <b>", 1999}
	for _, f := range formats {
		if f.models == "" || f.source == "" || len(formatWriters[f.name]) == 0 {
			t.Errorf("format %s needs models, a source and a writer", f.name)
		}
		for i, write := range formatWriters[f.name] {
			name := fmt.Sprintf("%s %d", f.name, i)
			if strings.Contains(write(one), "\"Bergen on \"") {
				one.city = "Bergen"
			}
			text := write(one)
			for _, reply := range []string{text, "I will look.\n" + text, "<think>Hm.</think>" + text} {
				got := r.Read(&model.Message{Content: reply}, nil)
				if len(got.Calls) != 1 || !one.isPartOf(&got.Calls[0], true) {
					t.Errorf("%s: %q is read as %+v", name, reply, got)
				}
			}
			for cut := 1; cut < len(text); cut++ {
				got := r.Read(&model.Message{Content: text[:cut]}, nil)
				for j := range got.Calls {
					if !one.isPartOf(&got.Calls[j], false) {
						t.Errorf("%s: %q has a half value: %s", name, text[:cut], got.Calls[j].Arguments)
					}
				}
				reply := &model.Reply{Message: model.Message{Content: text[:cut]}, Finish: model.FinishLength}
				got = r.ReadReply(reply, &reply.Message, nil)
				for j := range got.Calls {
					if !one.isPartOf(&got.Calls[j], true) {
						t.Errorf("%s: %q, cut at its length, makes a half call: %s", name, text[:cut], got.Calls[j].Arguments)
					}
				}
			}
			one.city = "Bergen on \"sea\" <b>"
		}
	}
}

// TestUnknownFormatsAreNamed checks that a mark of calls, or a tool's name before brackets, is named if no call can be
// read.
func TestUnknownFormatsAreNamed(t *testing.T) {
	r := NewReader(agenttest.Toolkit(t, agenttest.Tools))
	for _, text := range []string{
		"<|act|>function_1 Bergen 1999<|done|>",
		"<｜go｜>get everything<｜went｜>",
		"I use function_1(Bergen, the year 1999) for that.",
		"I use function_1 {Bergen} for that.",
		"function_1\n{Bergen}",
		"<tool_call>all of it, please</tool_call>",
		"<function_calls>ask for all</function_calls>",
		"[TOOL_CALLS] everything",
		"<think>I call get_all() <tool_call>{\"name\": \"get_all\", \"arguments\": {}}</tool_call>",
	} {
		got := r.Read(&model.Message{Content: text}, nil)
		if len(got.Calls) > 0 || len(got.Unparsed) == 0 || !IsAttempt(got.Unparsed[0].Reason) {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
	for _, text := range []string{"It is 5 < 7 | 3.", "The answer is {\"city\": \"Bergen\"}.", "Done.<|im_end|>",
		"function_1 is down."} {
		if got := r.Read(&model.Message{Content: text}, nil); len(got.Calls)+len(got.Unparsed) > 0 || got.Prose == "" {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
