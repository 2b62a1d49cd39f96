package protocol

import (
	"github.com/seatrial/seatrial/internal/agent/model"
	"github.com/seatrial/seatrial/internal/task"
)

// judgedExample is an explanation with its correct assessment.
type judgedExample struct {
	view        *task.View
	explanation string
	right       bool
}

// judgedExamples precede each explanation that a judge assesses: two right and two wrong ones (Incomplete Conditions,
// supplementary material, has four-shot examples of both classes). The wrong ones err as models do there: one asks for
// what was said although the tool is missing, one misses a tool although a detail is.
var judgedExamples = []judgedExample{
	{
		judgedView("Please book berth 7 for the Petrel tonight.",
			specification("list_berths", "Lists the berths of a quay with their depths.", "quay", "The quay.")),
		"The only tool lists berths. There is no tool that books one.", true,
	},
	{
		judgedView("Send the invoice to one of our customers.",
			specification("send_invoice", "Sends an invoice to a customer.", "customer_number", "The customer's number.")),
		"There is no tool for sending invoices.", false,
	},
	{
		judgedView("What is the water level at a certain gauge?",
			specification("water_level", "Gives the water level at a gauge.", "gauge", "The gauge's name."),
			specification("tide_table", "Gives the tides of a day.", "date", "The day.")),
		"The request does not say at which gauge, and the tool for the water level needs its name.", true,
	},
	{
		judgedView("Delete the reservation R-204.",
			specification("find_reservation", "Finds a reservation by its number.", "number", "The reservation's number.")),
		"The number of the reservation is missing, so that nothing can be looked up.", false,
	},
}

func judgedView(request string, tools ...*task.Tool) *task.View {
	return &task.View{Messages: []task.Message{{Role: "user", Content: request}}, Tools: tools}
}

// specification describes a tool with one required text argument.
func specification(name, description, argument, meaning string) *task.Tool {
	return &task.Tool{Name: name, Description: description, Parameters: &task.Schema{
		Types: []string{"object"}, Required: []string{argument}, Properties: []task.Property{
			{Name: argument, Schema: &task.Schema{Types: []string{"string"}, Description: meaning}},
		},
	}}
}

// judgedMessages writes the examples as a conversation in which the judge has answered.
func judgedMessages(specs *Specs) ([]model.Message, error) {
	var messages []model.Message
	for i := range judgedExamples {
		e := &judgedExamples[i]
		asked, err := judgeQuestion(e.view, specs, e.explanation)
		if err != nil {
			return nil, err
		}
		verdict := wordWrong
		if e.right {
			verdict = wordCorrect
		}
		messages = append(messages, model.Message{Role: model.RoleUser, Content: asked},
			model.Message{Role: model.RoleAssistant, Content: verdict})
	}
	return messages, nil
}
