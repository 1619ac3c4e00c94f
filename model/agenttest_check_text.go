package model

import (
	"fmt"
	"strings"
)

// Description describes the expectation in words.
func (c *TestCheck) Description() string { return c.Expect.String() }

// String describes the expectation in words.
func (e *TestExpectation) String() string {
	switch {
	case e.Called != nil:
		return e.Called.String()
	case e.NeverCalled != nil:
		return "never calls " + e.NeverCalled.String()
	case e.Says != nil:
		return e.Says.sentence("says")
	case e.NeverSays != nil:
		return e.NeverSays.sentence("never says")
	case e.EndedBy != nil && *e.EndedBy == ConversationEnderLimit:
		return "nobody ends the conversation"
	case e.EndedBy != nil:
		return fmt.Sprintf("the %s ends the conversation", strings.ToLower(string(*e.EndedBy)))
	case e.Tag != nil:
		return "gets the tag " + Quote(*e.Tag)
	case e.Extracts != nil && e.Extracts.Equals != nil:
		return "extracts " + e.Extracts.Name + " = " + Quote(*e.Extracts.Equals)
	case e.Extracts != nil && e.Extracts.Matches != nil:
		return fmt.Sprintf("extracts %s like /%s/", e.Extracts.Name, *e.Extracts.Matches)
	case e.TurnsAtMost != nil:
		return fmt.Sprintf("turns: at most %d", *e.TurnsAtMost)
	case e.DurationAtMost != nil:
		return fmt.Sprintf("the agent takes at most %v s", *e.DurationAtMost)
	case e.FirstTokenAtMost != nil:
		return fmt.Sprintf("each answer begins within %v s", *e.FirstTokenAtMost)
	case e.CreditsAtMost != nil:
		return fmt.Sprintf("costs at most %v credits", *e.CreditsAtMost)
	case e.ResultJSON != nil && e.ResultJSON.TechnicalName != nil:
		return fmt.Sprintf("a result of %s matches the schema", *e.ResultJSON.TechnicalName)
	}
	return "the agent's last message is JSON that matches the schema"
}

// String describes the expected calls in words.
func (c *CalledExpectation) String() string {
	text := "calls " + c.NeverCalledExpectation.String()
	if c.Succeeded {
		text = "successfully " + text
	}
	switch {
	case c.Max != nil && *c.Max == 1 && c.Min == 1:
		text += ", once"
	case c.Max != nil && *c.Max == c.Min:
		text += fmt.Sprintf(", %d times", c.Min)
	case c.Max != nil:
		text += fmt.Sprintf(", %d to %d times", c.Min, *c.Max)
	case c.Min > 1:
		text += fmt.Sprintf(", at least %d times", c.Min)
	}
	if c.Before != nil {
		text += ", before " + *c.Before
	}
	return text
}

// String describes the matching calls in words.
func (c *NeverCalledExpectation) String() string {
	var text string
	switch {
	case c.TechnicalName != nil:
		text = *c.TechnicalName
	case c.Kind != nil:
		text = map[ToolCallKind]string{
			ToolCallKindTool: "a tool", ToolCallKindSubAgent: "a sub-agent", ToolCallKindCallTransfer: "the transfer",
			ToolCallKindRetrieval: "the knowledge base",
		}[*c.Kind]
	}
	for i, condition := range c.Where {
		text += map[bool]string{true: " with ", false: " and "}[i == 0] + condition.String()
	}
	return text
}

// String describes the condition in words.
func (c MockCondition) String() string {
	var all []string
	if c.Present != nil {
		all = append(all, map[bool]string{true: c.Argument, false: "no " + c.Argument}[*c.Present])
	}
	if c.Equals != nil {
		all = append(all, c.Argument+" = "+*c.Equals)
	}
	if c.Matches != nil {
		all = append(all, fmt.Sprintf("%s like /%s/", c.Argument, *c.Matches))
	}
	return strings.Join(all, " and ")
}

func (s *SaidExpectation) sentence(verb string) string {
	text := verb + " "
	if s.Role == MessageRoleUser {
		text = "the contact " + text
	}
	if s.Text != nil {
		text += Quote(*s.Text)
	}
	if s.Matches != nil {
		text += "/" + *s.Matches + "/"
	}
	switch {
	case s.Turn == nil:
	case *s.Turn == 0:
		text += " in the welcome message"
	case *s.Turn == -1:
		text += " in the last turn"
	case *s.Turn < 0:
		text += fmt.Sprintf(" in the last turn but %d", -*s.Turn-1)
	default:
		text += fmt.Sprintf(" in turn %d", *s.Turn)
	}
	return text
}
