package engine

import (
	"context"
	"slices"
	"strconv"

	"github.com/agentgraph/agentgraph/engine/llm"
)

// delegate lets a sub-agent answer a request in a conversation of its own and returns its answer.
// Nobody hears what it says meanwhile; what it calls is announced and recorded.
func (c *conversation) delegate(ctx context.Context, call *call, emit func(event)) (string, error) {
	sub := call.target.subAgent
	if slices.Contains(c.path, sub.DelegateAgentID) {
		return "", refusal("the agent behind it already waits for this very answer, so asking it would never end")
	}
	if len(c.path) > c.limits.depth {
		return "", refusal("delegations can be at most " + strconv.Itoa(c.limits.depth) + " deep")
	}
	s, err := c.effects.open(ctx, sub)
	if err != nil {
		return "", err
	}
	inner, err := c.conversation(s, delegated(c.mocking), delegateInstruction)
	if err != nil {
		return "", err
	}
	request, _ := call.arguments.text("request")
	inner.path = append(slices.Clone(c.path), s.agent.ID)
	inner.delegation = &call.record.ID
	inner.req.Messages = []llm.Message{{Role: llm.RoleUser, Text: request}}
	reply, err := inner.reply(ctx, func(e event) bool {
		if e.text == "" {
			emit(e)
		}
		return true
	})
	if err != nil {
		return "", err
	}
	return reply.text, nil
}
