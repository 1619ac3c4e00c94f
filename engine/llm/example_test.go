package llm_test

import (
	"context"
	"fmt"

	"github.com/agentgraph/agentgraph/engine/llm"
	"github.com/agentgraph/agentgraph/engine/llm/offline"
)

// A model streams its answer, and Collect puts it together. Any model will do. This one needs no network.
func Example() {
	var model llm.Model = offline.New()
	answer, err := llm.Collect(model.Chat(context.Background(), llm.Request{
		System:   "You are the receptionist of a clinic. Our opening hours are Monday to Friday, 8 to 18.",
		Messages: []llm.Message{{Role: llm.RoleUser, Text: "What are your opening hours?"}},
	}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Text)
	// Output: No language model is configured, so I answer only from this agent's instructions, documents and tools. My instructions say: “Our opening hours are Monday to Friday, 8 to 18.” Is there anything else I can do for you?
}
