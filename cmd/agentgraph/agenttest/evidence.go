package agenttest

import (
	"fmt"
	"io"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

type checkShown struct {
	Check    describedCheck  `json:"check"`
	Expected string          `json:"expected"`
	Passed   bool            `json:"passed"`
	Observed string          `json:"observed"`
	Evidence []evidenceShown `json:"evidence"`
}

type describedCheck struct {
	Description string `json:"description"`
	Weight      *int   `json:"weight"`
}

type criterionShown struct {
	Criterion string          `json:"criterion"`
	Expected  string          `json:"expected"`
	Weight    *int            `json:"weight"`
	Passed    bool            `json:"passed"`
	Applies   bool            `json:"applies"`
	Agreement *float64        `json:"agreement,omitempty"`
	Rationale string          `json:"rationale"`
	Evidence  []evidenceShown `json:"evidence"`
}

type evidenceShown struct {
	MessageIndex int    `json:"messageIndex"`
	Quote        string `json:"quote"`
	// Kind is Said, Called or Result. It is nil in verdicts of older versions, which did not store it.
	Kind *string `json:"kind"`
}

// place returns where in the conversation the quote occurs.
func (e evidenceShown) place() string {
	switch {
	case e.Kind != nil && *e.Kind == "Called":
		return fmt.Sprintf("tool call before message %d", e.MessageIndex)
	case e.Kind != nil && *e.Kind == "Result":
		return fmt.Sprintf("tool result before message %d", e.MessageIndex)
	}
	return fmt.Sprintf("message %d", e.MessageIndex)
}

// writeMessages writes a conversation, each message with its index. The calls for an answer precede it.
func writeMessages(text io.Writer, messages []messageShown, calls []callShown) {
	for i, message := range messages {
		for _, call := range calls {
			if call.MessageSequence == i-1 {
				_, _ = fmt.Fprintf(text, "      %s\n", call)
			}
		}
		who := "contact"
		if message.Role == "assistant" {
			who = "agent"
		}
		_, _ = fmt.Fprintf(text, "[%d] %s: %s\n", i, who, client.Printable(message.Text))
	}
	// The calls of a failed turn have no answer after them.
	for _, call := range calls {
		if call.MessageSequence >= len(messages)-1 {
			_, _ = fmt.Fprintf(text, "      %s\n", call)
		}
	}
}

func (c callShown) String() string {
	outcome := "nothing"
	switch {
	case c.Error != nil:
		outcome = "error: " + *c.Error
	case c.Result != nil:
		outcome = *c.Result
	}
	mocked := ""
	if c.Mocked {
		mocked = " (mocked)"
	}
	return client.Printable(fmt.Sprintf("%s %s%s → %s", c.TechnicalName, c.Arguments, mocked, outcome))
}
