package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentgraph/agentgraph/engine/content"
	"github.com/agentgraph/agentgraph/model"
)

// Opening is the start of a conversation.
type Opening struct {
	// Values are the given values and the values of the system fields.
	Values content.Values
	// Welcome is the agent's first message, or nil if the contact begins.
	Welcome  *string
	warnings []string
}

// Begin returns the start of a conversation with the agent at a time, with the given values. An agent without a welcome
// message begins with the opener, unless that is empty. An UNPROCESSABLE error names mandatory fields without a value.
func Begin(agent *model.Agent, opener string, given content.Values, at time.Time) (*Opening, error) {
	o := &Opening{Values: content.Values{}, warnings: []string{}}
	maps.Copy(o.Values, given)
	if err := o.fill(agent.Fields, at); err != nil {
		return nil, err
	}
	if _, err := o.render("the prompt", agent.Prompt); err != nil {
		return nil, err
	}
	template, where := agent.WelcomeMessage(), "the welcome message"
	if template == nil && opener != "" {
		template, where = &opener, "the opener of the knowledge base chat"
	}
	if template != nil {
		welcome, err := o.render(where, *template)
		if err != nil {
			return nil, err
		}
		o.Welcome = &welcome
	}
	return o, nil
}

// fill sets the system fields, and checks for missing values.
func (o *Opening) fill(fields []model.AgentField, at time.Time) error {
	if missing := FillFields(o.Values, fields, at); len(missing) > 0 {
		var faults model.Fields
		for _, name := range missing {
			faults.Add("dataBag."+name, "is mandatory for this agent")
		}
		return &model.Error{
			Code: model.Unprocessable, Fields: faults,
			Message: "the data bag must have values for the agent's mandatory fields: " + strings.Join(missing, ", "),
		}
	}
	return nil
}

// unknownValues returns the names of values that are no field of the agent.
func (o *Opening) unknownValues(agent *model.Agent) []string {
	isField := func(name string) bool {
		return slices.ContainsFunc(agent.Fields, func(f model.AgentField) bool { return f.Name == name })
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(o.Values)), isField)
}

// checkValues adds warnings about values that are no field of the agent or of a delegate.
func (o *Opening) checkValues(agent *model.Agent, delegates []*Delegate) {
	warnings := []string{}
	for _, name := range o.unknownValues(agent) {
		if !slices.ContainsFunc(delegates, func(d *Delegate) bool { return d.hasField(name) }) {
			warnings = append(warnings, fmt.Sprintf("the data bag has the value %q, which is not a field of the agent. "+
				"The value is kept, but check its name", name))
		}
	}
	o.warnings = append(warnings, o.warnings...)
}

// FillFields sets the system fields that have no value, and returns the names of mandatory fields without a value.
func FillFields(values content.Values, fields []model.AgentField, at time.Time) []string {
	var missing []string
	for _, field := range fields {
		switch value, _ := values.Text(field.Name); {
		case strings.TrimSpace(value) != "":
		case field.IsSystem:
			values[field.Name] = fictional(field.Name, at)
		case field.IsMandatory:
			missing = append(missing, field.Name)
		}
	}
	return missing
}

func (o *Opening) render(where, text string) (string, error) {
	rendered, unknown, err := content.Render(text, o.Values)
	o.warnings = append(o.warnings, content.Unfilled(where, unknown)...)
	return rendered, err
}

// fictional returns the value of a field that the platform fills in real conversations. Day and time are real. Numbers
// and domains are reserved for fiction.
func fictional(field string, at time.Time) string {
	name := strings.ToLower(field)
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(name, part) })
	}
	switch {
	case has("firstname", "first_name"):
		return "Alex"
	case has("lastname", "last_name", "surname"):
		return "Example"
	case has("mail"):
		return "alex.example@example.com"
	case has("phone", "mobile", "number"):
		return "+12025550143"
	case has("name"):
		return "Alex Example"
	case has("date", "today"):
		return at.Format(time.DateOnly)
	case has("time", "hour"):
		return at.Format("15:04")
	case has("caller", "tel"):
		return "+12025550143"
	}
	return "simulated " + field
}
