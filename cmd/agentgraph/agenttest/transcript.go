package agenttest

import (
	"fmt"
	"io"

	"github.com/agentgraph/agentgraph/cmd/agentgraph/client"
)

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
